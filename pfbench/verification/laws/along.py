"""What is seen of a run on the way: the first iteration that is not the source's, and all draws.

Each estimate is computed again from the components that were asked, and compared as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pfbench.base.arrays import Floats, Integers, largest
from pfbench.verification.instruments.overheard import Asked
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.counts import STRAYED, between, wrong
from pfbench.verification.laws.estimates import ROUNDING, UNTOLD
from pfbench.verification.laws.method import Formed, Method, Place, Setting, Told
from pfbench.verification.laws.steps import apart
from pfbench.verification.subject import Untestable

_BENT = 2e-5
"""A hundred roundings of a point, in parts of `ROUNDING`."""

_STILL = 1e-4
"""A move that is compared like none: of steps shorter than that rounding is too large a part."""


@dataclass
class Along:
    """What is seen of a run on the way: the first wrong, and all draws.

    Attributes
    ----------
    batches, iterations
        The draws with replacement, and the iteration of each.
    coins, picks
        Coins that were told, and which of the points the run went on from; the iteration of each.
    points
        Among how many that was drawn.
    deviation, ratio
        The largest so far.
    more
        Where an inner loop first went on longer than it must; empty if nowhere.
    short
        Whether the run is so short that a step is compared relative to its length.
    evened
        What is to be said of draws by chances of their own; empty if they are uniform.
    """

    problem: Waves
    method: Method
    where: Setting
    batches: list[Integers] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    coins: list[tuple[int, bool]] = field(default_factory=list)
    picks: list[tuple[int, int]] = field(default_factory=list)
    points: int = 0
    deviation: float = 0.0
    ratio: float = 0.0
    more: str = ""
    short: bool = False
    evened: str = ""
    _heads: int = 0
    _spared: int = 0
    _sfo: int = 0
    _least: float = 0.0
    _most: float = 0.0

    def __post_init__(self) -> None:
        # Which components of a batch came twice is not told where each is asked once.
        self._again = np.random.default_rng(1)
        # Gradients below 1 are compared relative to those of the components, at the start.
        self._most = float(np.abs(self.problem.components(self.problem.start())).max())
        self._least = min(1.0, self._most)

    def first_wrong(
        self, told: Sequence[Told], asked: Sequence[tuple[tuple[Asked, ...], bool]]
    ) -> tuple[int, str] | None:
        """Return the first iteration that is not the source's, and what is wrong with it."""
        places = self.method.referee(self.problem, self.where.parameters, told)
        left: tuple[Asked, ...] = ()
        table: _Stored | None = None
        for t, (one, place, (now, filled)) in enumerate(zip(told, places, asked, strict=False)):
            formed, calls = place.formed, (*left, *now)
            here = _queries_of(calls, formed)
            again = _asked_again(here, formed)
            here = [call for call in here if id(call) not in again]
            used: Sequence[Asked] = ()
            elsewhere = 0.0 if one.at is None else apart(one.at, formed.at)
            self.deviation = max(self.deviation, elsewhere)
            if elsewhere > ROUNDING:
                found = f"its estimate is formed at a point that is off by {elsewhere:.3g}"
            elif formed.bounded:
                found, used = self._of_batch(t, one, formed, here)
            elif formed.refresh > 0.0:
                raise Untestable(UNTOLD)
            else:
                table = table or self._table(formed)
                found, used = self._of_table(t, one, formed, here, table, filled), here
            found = found or self._step(one, place) or self._count(t, told)
            found = found or self._inner(t, one, place)
            if found:
                return t, found
            if place.pick is not None:
                pick, self.points = place.pick
                self.picks.append((t, pick))
            self._sfo = one.counts.sfo
            done = again | set(map(id, used)) | _other_halves(calls, used, formed)
            left = tuple(call for call in now if id(call) not in done)
        return None

    def choices(self) -> Iterator[tuple[str, Sequence[tuple[int, int]], Sequence[float]]]:
        """Yield what is wrong with choices unless they have their chances, and these."""
        if self.coins:
            p = self.where.parameters["refresh"]
            yield "its coin falls heads with another chance", self.coins, (1.0 - p, p)
        if self.picks:
            even = (1.0 / self.points,) * self.points
            yield "it goes on from points that are not drawn uniformly", self.picks, even

    # --- estimates ------------------------------------------------------------------------------

    def _of_batch(
        self, t: int, one: Told, formed: Formed, here: Sequence[Asked]
    ) -> tuple[str, Sequence[Asked]]:
        """Return what is wrong with an estimate from one batch, and the queries that it uses."""
        drawn = np.concatenate([np.empty(0, np.int64), *(call.indices for call in here)])
        size, fell = formed.batch, False
        if formed.refresh > 0.0:
            fell = self._in_full(one, len(drawn)) if one.coin is None else one.coin
            self.coins.append((t, fell))
        self._heads += fell
        if size is None or fell:
            used = here if size is None else _first_of(here, size)
            return self._compared(one, formed, [_in_full(self.problem, formed)]), used
        readings = [_first_of(here, size)]  # what is asked beyond may be the next batch
        readings += [[call] for call in here if len(call.indices) == size]
        readings = [used for used in readings if sum(len(call.indices) for call in used) == size]
        if not readings and _cancels(formed):
            still = [replace(formed, refresh=0.0).mean(self.problem)]
            return self._compared(one, formed, still), ()
        if not readings:
            due = f"where its batch is due, not {size}"
            return f"it asks {len(drawn)} component gradients {due}", ()
        batches = [np.concatenate([call.indices for call in used]) for used in readings]
        again = [recomputed(self.problem, formed, batch) for batch in batches]
        # Where components or points are equal, several fit: the first that was asked is this one.
        fits = [apart(one.estimate, g, self._scale(formed)) <= ROUNDING for g in again]
        first = fits.index(True) if any(fits) else 0
        batch, used = batches[first], readings[first]
        if formed.replace:
            if formed.chances is not None:
                batch, self.evened = evened(batch, formed.chances, t), ", once its chance is evened"
            self._drew(t, batch)
        elif len(np.unique(batch)) < size:
            return "its batch has a component twice", used
        return self._compared(one, formed, again), used

    def _in_full(self, one: Told, asked: int) -> bool:
        """Return how a coin fell that is not told, from how many components were asked.

        The full gradient asks n, and a batch two for each component. Where these are as many, or
        the next step is asked ahead, what was asked at the point tells.
        """
        n, spent = self.problem.n, one.counts.sfo - self._sfo
        each = 2 * self.where.parameters["batch"]
        return spent == n if n != each and spent in (n, each) else asked in (0, n)

    def _of_table(
        self,
        t: int,
        one: Told,
        formed: Formed,
        here: Sequence[Asked],
        table: "_Stored",
        filled: bool,
    ) -> str:
        """Return what is wrong with one from a table; SAGA's stores another batch."""
        drawn = np.concatenate([np.empty(0, np.int64), *(call.indices for call in here)])
        size, pairs = formed.batch or self.problem.n, formed.against is None
        if t == 0 and not filled:
            drawn = drawn[self.problem.n :]  # its own table, component by component
        spared = size * (1 + pairs) - len(drawn)
        splits = [(drawn[:size], drawn[size:]), (drawn[-size:], drawn[:-size])][: 1 + pairs]
        if spared and pairs:  # what is stored once may be asked once
            splits = [one for one in splits if 0 < len(one[1]) == len(np.unique(one[1])) < size]
        if not splits or (spared and not pairs):
            return f"it asks {len(drawn)} component gradients, not {size * (1 + pairs)}"
        again = [table.estimate(formed, batch) for batch, _ in splits]
        first = int(np.argmin([np.abs(one.estimate - g).max() for g in again]))
        batch, stored = splits[first]
        self._drew(t, batch)
        if pairs:
            self._spared += spared
            self._drew(t, np.concatenate([stored, self._again.choice(stored, spared)]))
        table.renew(formed.at, stored if pairs else batch)
        return self._compared(one, formed, again)

    def _table(self, formed: Formed) -> "_Stored":
        """Return the table as it is before the first estimate from it."""
        start = self.problem.start()
        if formed.against is None or not self.batches:
            return _Stored(self.problem, self.problem.components(start))
        table = _Stored(self.problem, np.zeros((self.problem.n, *start.shape)))
        table.renew(start, self.batches[0])
        return table

    def _drew(self, t: int, batch: Integers) -> None:
        self.batches.append(batch)
        self.iterations.append(t)

    def _compared(self, one: Told, formed: Formed, again: Sequence[Floats]) -> str:
        off = min(apart(one.estimate, g, self._scale(formed)) for g in again)
        self.deviation = max(self.deviation, off)
        if off <= ROUNDING:
            return ""
        return f"its estimate is off by {off:.3g} from that of the components asked"

    def _scale(self, formed: Formed) -> float:
        # Of a point far out rounding moves a gradient, by its bend times what it moves the point.
        return max(self._least, self._most * float(np.abs(formed.at).sum()) * _BENT)

    # --- the rest -------------------------------------------------------------------------------

    def _step(self, one: Told, place: Place) -> str:
        pairs = [(one.at, place.formed.at), (one.x, place.x), (one.output, place.output)]
        off = max(apart(a, b) for a, b in pairs if a is not None and b is not None)
        if self.short:
            moved = float(np.abs(place.x - place.formed.at).max())
            off = max(off, apart(one.x, place.x) / min(1.0, moved + _STILL))
        self.deviation = max(self.deviation, off)
        if off > ROUNDING:
            return f"its step is off by {off:.3g}"
        self.ratio = largest(self.ratio, *place.ratios)
        if self.ratio > 1.0 + ROUNDING:
            return f"an inequality of its step is exceeded {self.ratio:.3g} times"
        return ""

    def _count(self, t: int, told: Sequence[Told]) -> str:
        """Return what is wrong with the counts so far; some may be of the next step."""
        s = self.where.parameters
        if "iterations" not in s:
            return ""
        following = min(t + 1, len(told) - 1, s["iterations"] - 1)
        coin = told[following].coin
        falls = {False, "refresh" in s} if coin is None and t < following else {bool(coin)}
        found = told[t].counts
        found = replace(found, sfo=found.sfo + self._spared)
        so_far, *ahead = (
            self.method.counts({**s, "iterations": done + 1, "heads": fell}, self.problem.n)
            for done, fell in ((t, self._heads), *((following, self._heads + f) for f in falls))
        )
        spans = (span for most in ahead for span in zip(so_far, most, strict=True))
        if any(between(found, *span) for span in spans):
            return ""
        return wrong(found, so_far[0]).rstrip(".")

    def _inner(self, t: int, one: Told, place: Place) -> str:
        """Return what is wrong with an inner loop; one that goes on for longer is noted."""
        if place.minimisations is not None and one.made > place.minimisations:
            words = f"step {t} makes {one.made} LO, not {place.minimisations}"
            self.more = self.more or words
        # Of gradients of any size rounding may decide a vertex.
        return STRAYED if place.strays and not self.short else ""


class _Stored:
    """The table of SAGA and ZeroSARAH as their sources have it."""

    def __init__(self, problem: Waves, table: Floats) -> None:
        self._problem, self._table = problem, table
        self._mean = table.mean(axis=0)

    def estimate(self, formed: Formed, batch: Integers) -> Floats:
        """Return known + w y + the mean of g_i(at) - (1 - w) g_i(against) - w y_i over a batch.

        w is the weight of the table, 1 of SAGA; y the mean of all y_i.
        """
        w = 1.0 if formed.against is None else 1.0 - formed.kept
        d = self._problem.components(formed.at, batch) - w * self._table[batch]
        if formed.against is not None:
            d = d - formed.kept * self._problem.components(formed.against, batch)
        return np.asarray(formed.known + w * self._mean + d.mean(axis=0))

    def renew(self, x: Floats, batch: Integers) -> None:
        """Store the gradient of each distinct component of a batch at x."""
        distinct = np.unique(batch)
        now = self._problem.components(x, distinct)
        self._mean = self._mean + (now - self._table[distinct]).sum(axis=0) / len(self._table)
        self._table[distinct] = now


def recomputed(problem: Waves, formed: Formed, batch: Integers) -> Floats:
    """Return the estimate of a batch that was drawn."""
    weights = np.full(len(batch), 1.0 / len(batch))
    if formed.chances is not None:
        weights = weights / (problem.n * formed.chances[batch])
    d = weights @ problem.components(formed.at, batch)
    if formed.against is not None:
        d = d - formed.kept * (weights @ problem.components(formed.against, batch))
        if formed.hessians is not None:
            H = problem.hessian(formed.hessians)
            between = formed.at, formed.against
            d = d + H.product(*between) - H.batch(batch, *between)
    return np.asarray(formed.known + formed.weight * d)


def evened(batch: Integers, chances: Floats, seed: int) -> Integers:
    """Return indices that are uniform, and independent, if those drawn have their chances.

    Each component has a part of [0, 1) as long as its chance: a uniform point of the part of what
    was drawn is uniform in the whole, of which component k has the k-th n-th part here.
    """
    ends = np.cumsum(chances)
    points = ends[batch] - np.random.default_rng(seed).random(len(batch)) * chances[batch]
    n = len(chances)
    return np.asarray(np.clip((points / ends[-1] * n).astype(np.int64), 0, n - 1))


def _in_full(problem: Waves, formed: Formed) -> Floats:
    """Return the estimate from all components."""
    if formed.refresh > 0.0:
        return problem.gradient(formed.at)
    return formed.mean(problem)


def near(a: Floats, b: Floats) -> bool:
    """Return whether two points are one, up to rounding."""
    return a.shape == b.shape and apart(a, b) <= ROUNDING


def _first_of(calls: Sequence[Asked], size: int | None) -> Sequence[Asked]:
    """Return the calls that make a batch; what is asked at the same point beyond may be the next.

    So it is where a method stands still, and asks its next batch before it yields.
    """
    if size is None:
        return calls
    before = np.cumsum([0, *(len(call.indices) for call in calls)])
    return [call for call, asked in zip(calls, before, strict=False) if asked < size]


def _other_halves(calls: Sequence[Asked], used: Sequence[Asked], formed: Formed) -> set[int]:
    """Return which calls ask at the point before what was used; a run may come back to that point.

    Calls are told by their identity.
    """
    names = {call.indices.tobytes() for call in used}
    if formed.against is None:
        return set()
    alone = [one for one in calls if len(one.points) == 1 and one.indices.tobytes() in names]
    return set(map(id, _asked_near(alone, formed.against)))


def _queries_of(calls: Sequence[Asked], formed: Formed) -> list[Asked]:
    """Return the queries of an estimate: at its point, or between its points in either order."""
    singles = [call for call in calls if len(call.points) == 1]
    pairs = [call for call in calls if len(call.points) > 1]
    due = set(map(id, _asked_near(singles, formed.at)))
    if formed.against is not None:
        for x, y in ((formed.at, formed.against), (formed.against, formed.at)):
            due |= {id(call) for call in _asked_near(pairs, x) if near(call.points[1], y)}
    return [call for call in calls if id(call) in due]


def _asked_near(calls: Sequence[Asked], x: Floats) -> list[Asked]:
    """Return the calls that ask at a point; each point among them is compared once."""
    found = dict[bytes, bool]()
    for call in calls:
        key = call.points[0].tobytes()
        if key not in found:
            found[key] = near(call.points[0], x)
    return [call for call in calls if found[call.points[0].tobytes()]]


def _asked_again(here: Sequence[Asked], formed: Formed) -> set[int]:
    """Return which calls ask, at the point before, what another one asks at this point.

    Where a method stands still both points are one, and a batch of which the two means are asked
    one by one was drawn once all the same. Calls are told by their identity.
    """
    if not _stands(formed) or sum(len(call.indices) for call in here) == formed.batch:
        return set()
    first, again = set[bytes](), set[int]()
    for call in here:
        key = call.indices.tobytes()
        if len(call.points) > 1:
            continue
        if key in first:
            first.remove(key)
            again.add(id(call))
        else:
            first.add(key)
    return again


def _stands(formed: Formed) -> bool:
    return formed.against is not None and near(formed.at, formed.against)


def _cancels(formed: Formed) -> bool:
    """Return whether a difference is 0 whatever is drawn, so that it may be left out."""
    return formed.kept == 1.0 and _stands(formed)
