"""Random draws that are inferred from recorded queries, and the choices made in doing so."""

from dataclasses import dataclass, field

from pfbench.base.arrays import Floats, Integers

DrawLog = list[tuple[int, Integers]]
"""(step, batch) pairs; the indices of a batch are -1 until a query reveals them."""


@dataclass
class ResolvedDraws:
    """Random draws of a reference implementation, inferred from the queries of a recorded run.

    Attributes
    ----------
    batches
        Batches drawn uniformly with replacement.
    weighted
        Batches drawn with other probabilities.
    subsets
        Batches drawn without replacement.
    coins
        (step, heads) pairs.
    picks
        (step, index, m) triples: the index of the picked one of the next m points.
    chances
        The probabilities of weighted draws.
    """

    batches: DrawLog = field(default_factory=list)
    weighted: DrawLog = field(default_factory=list)
    subsets: DrawLog = field(default_factory=list)
    coins: list[tuple[int, bool]] = field(default_factory=list)
    picks: list[tuple[int, int, int]] = field(default_factory=list)
    chances: Floats | None = None


class DeferredDraw(np.ndarray):
    """Array of drawn indices that are -1 until they are inferred from a recorded query.

    Attributes
    ----------
    whole_draw
        The whole draw, of which this array may be a part.
    log
        List to which the draw is appended once it is resolved; None if it is not logged.
    step
        The step of the draw.
    """

    whole_draw: "DeferredDraw"
    log: DrawLog | None
    step: int

    def __array_finalize__(self, other: Any) -> None:
        self.whole_draw = getattr(other, "whole_draw", self)
        self.log, self.step = None, 0

    @classmethod
    def make_unresolved(cls, size: int, log: DrawLog, step: int) -> "DeferredDraw":
        """Return an array of `size` indices that are still unknown (-1)."""
        draw = np.full(size, -1, dtype=np.int64).view(cls)
        draw.whole_draw, draw.log, draw.step = draw, log, step
        return draw

    def resolve(self, values: Integers, *, is_logged: bool = True) -> None:
        """Set the indices in place, and log the draw once no index is unknown."""
        self[...] = values
        owner = self.whole_draw
        owner.log = owner.log if is_logged else None
        if owner.log is not None and owner.size and int(owner.min()) >= 0:
            owner.log.append((owner.step, np.array(owner)))
            owner.log = None


class ReplayGenerator(np.random.Generator):
    """NumPy generator whose draws `ReplayOracles` infer from the queries of a recorded run."""

    def __init__(self, replay: Any) -> None:
        super().__init__(np.random.PCG64(0))
        self._replay = replay

    def integers(  # type: ignore[override]
        self, low: int, high: int | None = None, size: Any = None, **options: Any
    ) -> Any:
        """Return the indices of a batch; if `size` is None, the index of a picked iterate."""
        low, high = (0, low) if high is None else (low, high)
        if size is None:
            return low + self._replay.pick(int(high) - int(low))
        if low != 0 or high != self._replay.n:
            raise NotImplementedError(
                "a reference implementation may call rng.integers only for batches of component "
                "indices, or for the index of one iterate"
            )
        return self._replay.draw(int(np.prod(size)), self._replay.log.batches)

    def random(self, *arguments: Any, **options: Any) -> Any:
        """Return 0 if the coin flip of the recorded run gave heads, else 1."""
        if arguments or options:
            raise NotImplementedError(
                "a reference implementation may flip only one coin at a time, by rng.random()"
            )
        return 0.0 if self._replay.coin() else 1.0

    def choice(  # type: ignore[override]
        self, a: int, size: int, replace: bool = True, p: Floats | None = None, **options: Any
    ) -> Any:
        """Return a batch drawn with or without replacement, or with the probabilities p."""
        log = self._replay.log
        if p is not None:
            log.chances = np.asarray(p)
            return self._replay.draw_now(int(size), log.weighted)
        return self._replay.draw(int(size), log.batches if replace else log.subsets)

    def multinomial(self, n: int, pvals: Any, size: Any = None) -> Any:  # type: ignore[override]
        """Return the number of occurrences of each component in a batch, shape (len(pvals),)."""
        now = self._replay.draw_now(int(n), self._replay.log.batches)
        return np.bincount(now, minlength=len(pvals))


@dataclass(frozen=True)
class ReadingDecision:
    """Choice between possible draws of a recorded run, which a later mismatch may revise.

    Attributes
    ----------
    step
        The step of the decision.
    revisable_steps
        Number of steps within which a mismatch may show that it was wrong.
    option_count, chosen
        Number of options, and index of the chosen one.
    """

    step: int
    revisable_steps: int
    option_count: int
    chosen: int

    def has_alternative(self, step: int) -> bool:
        """Return whether a mismatch at `step` may show a wrong choice, and an option is left."""
        return self.step + self.revisable_steps >= step and self.chosen + 1 < self.option_count
