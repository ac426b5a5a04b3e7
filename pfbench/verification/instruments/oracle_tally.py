"""Listeners between the ledger and what answers: what was counted must be what was asked."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.sample import Sample
from pfbench.oracles.ledger import FO, FV, HVP, LO, PO, SFO, SSO
from pfbench.verification.instruments.overrides import OverriddenOracles

_MOST = 10**7
"""Components that are told apart at most."""

Cost = Callable[..., tuple[tuple[int, int], ...]]
"""What a call with given arguments costs: pairs of a count and an amount."""


class _CountingOracles(OverriddenOracles):
    """What answers, of which some calls are counted before they are made, as the ledger does."""

    def __init__(self, reference: Any, costs: Mapping[str, Cost], charged: list[int]) -> None:
        super().__init__(reference)
        self.charged = charged
        for verb, cost in costs.items():
            if hasattr(reference, verb):  # what it lacks, this lacks
                setattr(self, verb, self._wrap_counted(verb, getattr(reference, verb), cost))

    def _wrap_counted(self, verb: str, call: Callable[..., Any], cost: Cost) -> Callable[..., Any]:
        note, spent = self._note, self.charged

        def count_and_call(*arguments: Any) -> Any:
            note(verb, *arguments)
            for kind, amount in cost(*arguments):
                spent[kind] += amount
            return call(*arguments)

        return count_and_call

    def _note(self, verb: str, *arguments: Any) -> None:
        """Note what is asked; here nothing."""


class OracleTally(_CountingOracles):
    """A backend that counts what reaches it, verb by verb, and passes it on unchanged.

    It keeps no ledger of the run's: a method that asks beside its oracles, or writes to the counts,
    is found where the two differ.

    Attributes
    ----------
    spent
        What has reached the backend so far, in the order of `COUNTED`.
    calls
        The verbs that have reached it.
    """

    def __init__(self, backend: Any) -> None:
        n, spent = backend.n, [0] * len(COUNTED)
        self.calls = set[str]()
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
        super().__init__(backend, costs, spent)
        of_hessians: dict[str, Cost] = {
            "product": lambda x, y: ((HVP, n),),
            "batch": lambda sample, x, y: ((HVP, len(sample)),),
        }
        of_tables: dict[str, Cost] = dict.fromkeys(
            ("difference", "replace"), lambda sample, x: ((SFO, len(sample)),)
        )
        for verb, parts in (("hessian", of_hessians), ("table", of_tables)):
            if hasattr(backend, verb):
                setattr(self, verb, _count_calls_of_answers(getattr(self, verb), parts, spent))

    def _note(self, verb: str, *arguments: Any) -> None:
        self.calls.add(verb)


class ComponentTally(OracleTally):
    """A tally that tells apart which components were asked."""

    def __init__(self, backend: Any) -> None:
        self._distinct = np.zeros(backend.n if backend.n <= _MOST else 0, dtype=bool)
        super().__init__(backend)

    @property
    def components(self) -> int:
        """How many distinct components were asked; 0 where n is above ten millions."""
        size = self.charged[FO] > 0 and self._distinct.size
        return int(self._distinct.size if size else self._distinct.sum())

    def _note(self, verb: str, *arguments: Any) -> None:
        super()._note(verb)
        if verb == "table":
            self._distinct.fill(True)
        elif verb in ("batch", "difference") and self._distinct.size:
            sample = arguments[0]
            self._distinct[sample.indices if isinstance(sample, Sample) else sample] = True


class TalliedProblem(OverriddenOracles):
    """A problem whose backend is witnessed; `tally` is that of the run opened last."""

    tally: ComponentTally

    def open(self, rng: np.random.Generator) -> Any:
        """Return the problem's backend behind a witness."""
        self.tally = ComponentTally(self._original.open(rng))
        return self.tally


def _count_calls_of_answers(
    call: Callable[..., Any], costs: Mapping[str, Cost], charged: list[int]
) -> Callable[..., Any]:
    """Return the call, of whose answer the calls are counted, too."""
    return lambda x: _CountingOracles(call(x), costs, charged)
