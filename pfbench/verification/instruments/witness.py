"""A witness between the ledger and what answers: what was counted must be what was asked."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.sample import Indices, Sample
from pfbench.oracles.ledger import FO, FV, HVP, LO, PO, SFO, SSO
from pfbench.verification.instruments.changed import Changed

_MOST = 10**7
"""Components that are told apart at most."""

Cost = Callable[..., tuple[tuple[int, int], ...]]
"""What a call with given arguments costs: pairs of a count and an amount."""


class Witness(Changed):
    """A backend that counts what reaches it, verb by verb, and passes it on unchanged.

    It keeps no ledger of the run's: a method that asks beside its oracles, or writes to the counts,
    is found where the two differ.

    Attributes
    ----------
    spent
        What has reached the backend so far, in the order of `COUNTED`.
    """

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.spent = spent = [0] * len(COUNTED)
        n = backend.n
        self._asked = np.zeros(n if n <= _MOST else 0, dtype=bool)
        costs: dict[str, Cost] = {
            "gradient": lambda x: ((SFO, n), (FO, 1)),
            "batch": lambda sample, x: ((SFO, len(sample)),),
            "difference": lambda sample, x, y: ((SFO, 2 * len(sample)),),
            "value": lambda x: ((FV, n),),
            "lo": lambda g: ((LO, 1),),
            "prox": lambda x, g, lam: ((PO, 1),),
            "hessian": lambda s: ((SSO, n),),
            "table": lambda x: ((SFO, n),),
        }
        noting: dict[str, Callable[..., None]] = {
            "batch": self._note,
            "difference": self._note,
            "table": lambda x: self._asked.fill(True),
        }
        for verb, cost in costs.items():
            if hasattr(backend, verb):  # what the backend lacks, the witness lacks
                note = noting.get(verb)
                setattr(self, verb, _counted(getattr(backend, verb), cost, spent, note))
        for verb, kind in (("hessian", _Hessian), ("table", _Table)):
            if hasattr(backend, verb):
                setattr(self, verb, _wrapped(getattr(self, verb), kind, spent, n))

    @property
    def components(self) -> int:
        """How many distinct components were asked; 0 where n is above ten millions."""
        every = self.spent[FO] > 0 and self._asked.size
        return int(self._asked.size if every else self._asked.sum())

    def _note(self, sample: Indices, *_: Any) -> None:
        if self._asked.size:
            self._asked[sample.indices if isinstance(sample, Sample) else sample] = True


class WitnessedProblem(Changed):
    """A problem whose backend is witnessed; `witness` is that of the run opened last."""

    witness: Witness

    def open(self, rng: np.random.Generator) -> Any:
        """Return the problem's backend behind a witness."""
        self.witness = Witness(self._right.open(rng))
        return self.witness


class _Hessian(Changed):
    """Component Hessians whose products are counted."""

    def __init__(self, right: Any, spent: list[int], n: int) -> None:
        super().__init__(right)
        self.product = _counted(right.product, lambda x, y: ((HVP, n),), spent)
        self.batch = _counted(right.batch, lambda sample, x, y: ((HVP, len(sample)),), spent)


class _Table(Changed):
    """A table whose component gradients are counted."""

    def __init__(self, right: Any, spent: list[int], n: int) -> None:
        super().__init__(right)
        for verb in ("difference", "replace"):
            cost: Cost = lambda sample, x: ((SFO, len(sample)),)  # noqa: E731
            setattr(self, verb, _counted(getattr(right, verb), cost, spent))


def _counted(
    call: Callable[..., Any], cost: Cost, spent: list[int], note: Callable[..., None] | None = None
) -> Callable[..., Any]:
    """Return the call, which counts before it is made, as the ledger does, and may note it."""

    def counted(*arguments: Any) -> Any:
        if note is not None:
            note(*arguments)
        for kind, amount in cost(*arguments):
            spent[kind] += amount
        return call(*arguments)

    return counted


def _wrapped(
    call: Callable[..., Any], kind: Callable[..., Any], spent: list[int], n: int
) -> Callable[..., Any]:
    """Return the call, whose answer is witnessed, too."""
    return lambda x: kind(call(x), spent, n)
