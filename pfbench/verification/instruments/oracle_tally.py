"""Counters between the ledger and the backend, which check that the ledger counts every query."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.sample import Sample
from pfbench.oracles.ledger import FO, FV, HVP, LLO, LO, PO, SFO, SSO
from pfbench.runs.loop.steps import ObservedBackend
from pfbench.verification.instruments.overrides import OverriddenOracles

_MOST = 10**7
"""Largest n for which distinct components are counted."""

CALL_COSTS: Mapping[str, Callable[[int, int], tuple[tuple[int, int], ...]]] = {
    "gradient": lambda n, size: ((SFO, n), (FO, 1)),
    "table": lambda n, size: ((SFO, n),),
    "batch": lambda n, size: ((SFO, size),),
    "table.difference": lambda n, size: ((SFO, size),),
    "table.replace": lambda n, size: ((SFO, size),),
    "difference": lambda n, size: ((SFO, 2 * size),),
    "lo": lambda n, size: ((LO, 1),),
    "prox": lambda n, size: ((PO, 1),),
    "local_lo": lambda n, size: ((LLO, 1),),
    "value": lambda n, size: ((FV, n),),
    "hessian": lambda n, size: ((SSO, n),),
    "hessian.product": lambda n, size: ((HVP, n),),
    "hessian.batch": lambda n, size: ((HVP, size),),
}
"""For each verb, a function of n and the sample size that returns (count, amount) pairs."""


def sample_of_call(verb: str, arguments: Sequence[Any]) -> Any:
    """Return the sample of indices among the arguments of an oracle call; None if it has none."""
    if verb in ("batch", "difference"):
        return arguments[0]
    # The point of the Hessians, or of the table, is the first argument.
    return arguments[1] if "." in verb and verb != "hessian.product" else None


class ComponentTally(ObservedBackend):
    """Backend that counts the queries that reach it, and passes them on unchanged.

    The tally is independent of the run's ledger. The two differ if a method bypasses its oracles
    or changes its counts.

    Attributes
    ----------
    charged
        Counts of the queries so far, in the order of `COUNTED`.
    calls
        The verbs queried so far.
    """

    def __init__(self, backend: Any) -> None:
        super().__init__(backend, self._count)
        n = backend.n or 0  # a sampler has no components
        self._distinct = np.zeros(n if n <= _MOST else 0, dtype=bool)
        self.charged, self.calls = [0] * len(COUNTED), set[str]()

    def _count(self, verb: str, arguments: tuple[Any, ...], answer: Any) -> None:
        sample = sample_of_call(verb, arguments)
        for kind, amount in CALL_COSTS[verb](self.n, 0 if sample is None else len(sample)):
            self.charged[kind] += amount
        if "." not in verb:
            self.calls.add(verb)
        if verb == "table":
            self._distinct.fill(True)
        elif verb in ("batch", "difference") and self._distinct.size:
            self._distinct[sample.indices if isinstance(sample, Sample) else sample] = True

    @property
    def distinct_components(self) -> int:
        """Number of distinct components queried; 0 if n exceeds ten million."""
        size = self.charged[FO] > 0 and self._distinct.size
        return int(self._distinct.size if size else self._distinct.sum())


class TalliedProblem(OverriddenOracles):
    """Problem whose oracle calls are tallied; `tally` is the tally of the latest run."""

    tally: ComponentTally

    def open(self, rng: np.random.Generator) -> Any:
        """Return the problem's backend, wrapped by a tally."""
        self.tally = ComponentTally(self._original.open(rng))
        return self.tally
