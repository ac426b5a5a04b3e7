"""Whether a run at the size of use is its source's, at each iteration.

No expectation is needed: a listener hears which indices were asked, so that each estimate is
computed again from them at the points that were due, and compared as it is. What shows late, rarely
or only with many components shows there, and the iteration is named.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.errors import PfbenchError
from pfbench.base.protocols import Algorithm
from pfbench.base.state import State
from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.instances import instance
from pfbench.verification.instruments.overheard import Asked, Overheard
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.counts import MORE_WORK, PATH, STRAYED, between, beyond, wrong
from pfbench.verification.laws.estimates import ROUNDING, UNTOLD
from pfbench.verification.laws.indices import suspected, suspected_choices
from pfbench.verification.laws.late_outputs import late_output
from pfbench.verification.laws.method import (
    Formed,
    Method,
    Parameters,
    Place,
    Setting,
    Told,
    Wanted,
    check_length,
    runnable,
    told_of,
)
from pfbench.verification.laws.steps import apart
from pfbench.verification.seen import Seen
from pfbench.verification.statistics import Decision, all_of
from pfbench.verification.subject import Broken, Subject, Untestable
from pfbench.verification.trial import Trial

_CLAIMED = {"relative deviation": 0.0, "ratio": 1.0}

_DRAWN = {
    "batch": (0.5, 1.5),
    "period": (0.6, 1.6),
    "snapshot": (0.6, 1.6),
    "iterations": (1.0, 1.3),
}
"""By which factors sizes are drawn."""

_DOUBTFUL = 1e-3
"""A p-value below this, and above the level, decides nothing; it is shared by all runs."""


def runs_as_its_source(trial: Trial, *, method: Method) -> Evidence:
    """Compare a run at the size of use with the source, iteration by iteration; stop at the first.

    Held to the source are each step given its estimate, each estimate given the indices that were
    asked, the counts so far, where inner loops stop, and how indices are drawn. Sizes and start are
    those of `Trial.at_seed`. Short runs at values that are extreme and legal come first.
    """
    parts: dict[str, Decision] = {}
    if method.extreme:
        extremes = at_extremes(trial, method)
        if extremes.verdict == "violated":
            return Evidence(all_of({"extremes": extremes}), _CLAIMED, 1)
    drawn = [drawn_by(trial.at_seed, one) for one in method.sized]
    by_source = scheduled(method, drawn[0])
    for one, algorithm in runnable(trial, [*drawn, *([by_source] if by_source else [])]):
        parts[str(one)] = _decided(trial, method, one, algorithm)
        if parts[str(one)].verdict == "violated":
            break
    long = [long_by(trial.at_seed, one) for one in method.long]
    if all(one.verdict != "violated" for one in parts.values()):
        output = late_output(trial, method, long) if long else None
        parts |= {"output": output} if output else {}
    if method.extreme:
        parts["extremes"] = extremes
    return Evidence(all_of(parts), _CLAIMED, len(parts))


def same_at_size(claim: Claim, faulty: Subject, settings: Sequence[Setting]) -> bool:
    """Return whether a fault changes no state and no count of runs of the size of use."""
    right, wrong = Trial(claim), Trial(claim, faulty)
    try:
        pairs = zip(runnable(right, settings), runnable(wrong, settings), strict=True)
        for (one, made), (_, changed) in pairs:
            problem = one.problem()
            runs = (right.follow(problem, made, seed=1), wrong.follow(problem, changed, seed=1))
            for a, b in zip(*runs, strict=True):
                if not (a.counts() == b.counts() and same_state(a.state, b.state)):
                    return False
    except (Broken, Untestable, ValueError):  # the fault raises, or makes more or fewer steps
        return False
    return True


def same_state(one: State, other: State) -> bool:
    """Return whether two states are the same, bit for bit."""
    pairs = zip(one, other, strict=True)
    return all((a is None) == (b is None) and np.array_equal(a, b) for a, b in pairs)


def drawn_by(seed: int, one: Setting) -> Setting:
    """Return a setting whose sizes and start a seed draws, around those that it has; 0 leaves them.

    The horizon is no shorter; what is all components stays so; entries are even in number, as the
    blocks of some norms have two rows.
    """
    if seed == 0:
        return one
    rng, problem, given = np.random.default_rng(seed), one.problem, dict(one.parameters)
    was = problem.parameters["n"]
    n, wide = round(was * rng.uniform(0.8, 1.25)), int(problem.parameters["d"]) // 10
    d = 2 * int(rng.integers(4 * wide, 6 * wide + 1))
    for name, (low, high) in _DRAWN.items():
        factor = rng.uniform(low, high)
        if name in given:
            all_of_them = given[name] == was
            given[name] = n if all_of_them else max(1, round(given[name] * factor))
    title = re.sub(r" n=\d+ d=\d+", f" n={n} d={d}", problem.name)
    return Setting(instance(problem, n=n, d=d, begin=seed).called(title), given)


def long_by(seed: int, one: Setting) -> Setting:
    """Return a setting whose horizon and start a seed draws; the run ends with an epoch."""
    given = dict(one.parameters)
    if "iterations" in given:
        longer = 1.0 + 0.3 * np.random.default_rng(seed).random() if seed else 1.0
        T = round(given["iterations"] * longer)
        given["iterations"] = T - T % given.get("period", 1)
    return Setting(instance(one.problem, begin=seed), given)


def scheduled(method: Method, where: Setting) -> Setting | None:
    """Return a setting with the source's own schedule, for the problem of another setting.

    The accuracy is the best for which a run ends in time; None where there is no schedule, or it
    has no T, or T is at most 10 for each such accuracy.
    """
    if method.schedule is None or "iterations" not in where.parameters:
        return None
    problem, found = where.problem(), None
    for epsilon in np.geomspace(1e6, 1e-6, 49):
        try:
            printed = method.schedule(Wanted(float(epsilon), problem.bounds))
        except (ValueError, ArithmeticError):  # out of its range
            continue
        given = {k: v for k, v in where.parameters.items() if printed.get(k, v) is not None}
        numbers = {name: value for name, value in printed.items() if value is not None}
        if not all(map(math.isfinite, numbers.values())):
            continue
        whole = {k: max(1, math.ceil(v - 1e-9)) for k, v in numbers.items() if k in _WHOLE}
        given |= numbers | whole
        if (
            10 < given["iterations"] <= _LONGEST
            and "iterations" in printed
            and _ends_in_time(method, given, problem.n)
        ):
            found = given
    return None if found is None else Setting(where.problem.called("its schedule's"), found)


_WHOLE = frozenset({"iterations", "batch", "period", "snapshot", "subepochs", "restarts"})

_LONGEST = 2000

_MOST = 200_000
"""Component gradients, those of full gradients left out."""


def _ends_in_time(method: Method, given: Parameters, n: int) -> bool:
    spent = method.counts({**given, "heads": 0}, n)[0]
    # How long an inner loop goes on for is not known before: theorems' tolerances are small.
    known = spent.lo != PATH
    return known and spent.sfo - n * spent.fo <= _MOST and spent.fo <= _LONGEST


def at_extremes(trial: Trial, method: Method) -> Decision:
    """Follow short runs at extremes; each is the source's, or is refused by an error that says why.

    They say nothing of how large the problems were that were looked at.
    """
    settings = (*method.extreme, *trial.pick((), method.extreme_in_full))
    aside, deviation, refused, runs = replace(trial, seen=Seen()), 0.0, list[str](), 0
    for one, algorithm in runnable(aside, settings):
        problem, runs = Overheard(one.problem()), runs + 1
        seen = _Seen(cast(Waves, problem), method, one, short=True)
        try:
            told, asked, over = _followed(aside, problem, algorithm, method, one)
            found = seen.first_wrong(told, asked) or over
            if not found:
                check_length(method, one.parameters, problem.n, [step.counts for step in told])
        except Broken as error:
            if not isinstance(_first_cause(error), _REFUSALS):
                raise type(error)(f"{one}: {error}") from error
            refused.append(one.problem.name)
            continue
        # Of a few draws among a few components there is nothing to tell.
        many = len(seen.batches) > 0 and len(seen.batches[0]) >= _MANY_DRAWS
        drawn, p_value = suspected(seen.batches, problem.n) if many else (None, None)
        if drawn is not None and found is None:
            found = seen.iterations[drawn.batch], drawn.what
        if found is not None:
            words = f"{one}: iteration {found[0]}: {found[1]} ({trial.place})."
            return Decision("violated", words, {"relative deviation": seen.deviation}, p_value)
        deviation = max(deviation, seen.deviation)
    measured = {"relative deviation": deviation, "runs": float(runs)}
    refusals = f" It refuses {', '.join(refused)}." if refused else ""
    return Decision("holds", f"It is the source's at extremes.{refusals}", measured, None)


_BENT = 2e-5
"""A hundred roundings of a point, in parts of `ROUNDING`."""

_STILL = 1e-4
"""A move that is compared like none: of steps shorter than that rounding is too large a part."""

_MANY_DRAWS = 32
"""A batch from which on the draws of a short run are looked at."""

_REFUSALS = (PfbenchError, ValueError, NotImplementedError)
"""The errors by which a method refuses what it is given."""


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _decided(trial: Trial, method: Method, where: Setting, algorithm: Algorithm) -> Decision:
    problem = Overheard(where.problem())
    told, asked, over = _followed(trial, problem, algorithm, method, where)
    seen = _Seen(cast(Waves, problem), method, where)
    found = seen.first_wrong(told, asked) or over
    drawn, p_value = suspected(seen.batches, problem.n) if seen.batches else (None, 1.0)
    measured = {
        "relative deviation": seen.deviation,
        "ratio": seen.ratio,
        "iterations": float(len(told)),
        **({"at seed": float(trial.at_seed)} if trial.at_seed else {}),
        "draws": float(sum(map(len, seen.batches))),
    }
    if drawn is not None and (found is None or seen.iterations[drawn.batch] < found[0]):
        found = seen.iterations[drawn.batch], drawn.what + seen.evened
    for what, choices, chances in seen.choices():
        before = [step for step in choices if found is None or step[0] <= found[0]]
        if before:
            fell, of_them = suspected_choices(what, [one for _, one in before], chances)
            p_value = min(p_value, of_them)
            found = found if fell is None else (before[fell.batch][0], fell.what)
    if found is not None:
        words = f"Iteration {found[0]}: {found[1]} ({trial.place})."
        return Decision("violated", words, measured, p_value)
    try:
        check_length(method, where.parameters, problem.n, [one.counts for one in told])
    except Broken as error:
        raise type(error)(f"{where}: {error} ({trial.place})") from error
    if p_value <= _DOUBTFUL / len(method.sized):
        return Decision("inconclusive", "Its indices look dependent.", measured, p_value)
    if seen.more:
        return Decision("inconclusive", f"{MORE_WORK} ({seen.more}).", measured, p_value)
    right = "Every step, estimate, index and count is the source's."
    return Decision("holds", right, measured, p_value)


def _followed(
    trial: Trial, problem: Overheard, algorithm: Algorithm, method: Method, where: Setting
) -> tuple[list[Told], list[tuple[tuple[Asked, ...], bool]], tuple[int, str] | None]:
    """Return what a run told of each step, and what it asked of components for it.

    Last comes the iteration at which it was left, as it had cost more than a whole run, and what.
    """
    told, asked = list[Told](), list[tuple[tuple[Asked, ...], bool]]()
    s, over = where.parameters, ""
    some = [method.counts({**s, "heads": T}, problem.n) for T in (0, s.get("iterations", 0))]
    whole = [one for accepted in some for one in accepted]
    (seed,) = trial.seeds(1, "at size")
    try:
        for step in trial.follow(cast(Any, problem), algorithm, seed=seed):
            told.append(told_of(step))
            asked.append(problem.begin())
            over = beyond(told[-1].counts, whole)
            if over:
                break
    except Broken as error:
        raise type(error)(f"iteration {len(told)}: {error} ({trial.place})") from error
    if not told:
        raise Broken("it makes no step")
    return told, asked, (len(told) - 1, over) if over else None


@dataclass
class _Seen:
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
            here = [call for call in calls if near(call.points[0], formed.at)]
            again = _asked_again(here, formed)
            here = [call for call in here if id(call) not in again]
            elsewhere = 0.0 if one.at is None else apart(one.at, formed.at)
            self.deviation = max(self.deviation, elsewhere)
            if elsewhere > ROUNDING:
                found = f"its estimate is formed at a point that is off by {elsewhere:.3g}"
            elif formed.bounded:
                found = self._of_batch(t, one, formed, here)
            elif formed.refresh > 0.0:
                raise Untestable(UNTOLD)
            else:
                table = table or self._table(formed)
                found = self._of_table(t, one, formed, here, table, filled)
            found = found or self._step(one, place) or self._count(t, told)
            found = found or self._inner(t, one, place)
            if found:
                return t, found
            if place.pick is not None:
                pick, self.points = place.pick
                self.picks.append((t, pick))
            self._sfo = one.counts.sfo
            used = _first_of(here, formed.batch) if formed.bounded else here
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

    def _of_batch(self, t: int, one: Told, formed: Formed, here: Sequence[Asked]) -> str:
        """Return what is wrong with an estimate from one batch."""
        drawn = np.concatenate([np.empty(0, np.int64), *(call.indices for call in here)])
        size, fell = formed.batch, False
        if formed.refresh > 0.0:
            fell = self._in_full(one, len(drawn)) if one.coin is None else one.coin
            self.coins.append((t, fell))
        self._heads += fell
        if size is None or fell:
            return self._compared(one, formed, [_in_full(self.problem, formed)])
        batches = [drawn] if len(drawn) == size else []
        batches += [call.indices for call in here if len(call.indices) == size != len(drawn)]
        if not batches and _cancels(formed):
            return self._compared(one, formed, [replace(formed, refresh=0.0).mean(self.problem)])
        if not batches:
            return f"it asks {len(drawn)} component gradients where its batch is due, not {size}"
        again = [recomputed(self.problem, formed, batch) for batch in batches]
        batch = batches[int(np.argmin([np.abs(one.estimate - g).max() for g in again]))]
        if formed.replace:
            if formed.chances is not None:
                batch, self.evened = evened(batch, formed.chances, t), ", once its chance is evened"
            self._drew(t, batch)
        elif len(np.unique(batch)) < size:
            return "its batch has a component twice"
        return self._compared(one, formed, again)

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
        # Of a point far out rounding moves a gradient, by its bend times what it moves the point.
        far = self._most * float(np.abs(formed.at).sum()) * _BENT
        off = min(apart(one.estimate, g, max(self._least, far)) for g in again)
        self.deviation = max(self.deviation, off)
        if off <= ROUNDING:
            return ""
        return f"its estimate is off by {off:.3g} from that of the components asked"

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
        self.ratio = max([self.ratio, *place.ratios])
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
    return {
        id(call)
        for call in calls
        if formed.against is not None
        and len(call.points) == 1
        and call.indices.tobytes() in names
        and near(call.points[0], formed.against)
    }


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
