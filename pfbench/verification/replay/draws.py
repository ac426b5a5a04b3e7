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
    stored
        (step, components, draw) triples of batches for the table that a method keeps itself, where
        it queries no component twice; `draw` stays unknown unless another query reveals it.
    chances
        The probabilities of weighted draws.
    """

    batches: DrawLog = field(default_factory=list)
    weighted: DrawLog = field(default_factory=list)
    subsets: DrawLog = field(default_factory=list)
    coins: list[tuple[int, bool]] = field(default_factory=list)
    picks: list[tuple[int, int, int]] = field(default_factory=list)
    stored: list[tuple[int, Integers, Integers]] = field(default_factory=list)
    chances: Floats | None = None

    @property
    def has_table_repeats_queried_once(self) -> bool:
        """Whether a batch for a table had repeated components, which were queried once."""
        return any(len(batch) < len(draw) and draw.min() < 0 for _, batch, draw in self.stored)

    @property
    def table_batches(self) -> DrawLog:
        """Batches for a table that no other query reveals, without their repeated components."""
        return [(step, batch) for step, batch, draw in self.stored if draw.min() < 0]

    @property
    def all_uniform_batches(self) -> DrawLog:
        """Batches drawn uniformly, with those for a table last in their step."""
        batches = [*self.list_batches("batches"), *self.table_batches]
        return sorted(batches, key=lambda draw: draw[0])

    def list_batches(self, kind: str) -> DrawLog:
        """Return the batches of one kind that the queries of the run reveal completely."""
        draws: DrawLog = getattr(self, kind)
        return [(step, batch) for step, batch in draws if batch.size and batch.min() >= 0]


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
