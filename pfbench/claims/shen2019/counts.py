"""Algorithm 1 and table 1 of shen2019: what T iterations cost, to the unit."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from pfbench.algorithms.nfwu import NFWUSVRG
from pfbench.base.counts import Counts
from pfbench.base.protocols import Asked, Point, State
from pfbench.claims.shen2019.estimators import CURVATURE_AIDED, METHODS
from pfbench.claims.shen2019.problems import drawn, log_cosh, recovery
from pfbench.verification import Claim, Evidence, Mutant, Trial, Unfit, instance
from pfbench.verification.statistics import Decision, all_of, equal


def exact_counts(estimator: str, *, n: int, S: int, p: int, T: int) -> Counts:
    """Return the exact counts of T iterations; component Hessians are kept for an epoch."""
    if estimator == "sg":
        return Counts(sfo=S * T, lo=T)
    epochs = -(-T // p)
    between = T - epochs
    sfo = n * epochs + 2 * S * between
    if estimator not in CURVATURE_AIDED:
        return Counts(fo=epochs, sfo=sfo, lo=T)
    return Counts(fo=epochs, sfo=sfo, sso=n * epochs, hvp=(n + S) * between, lo=T)


SIZES = ((37, 13, 101), (5, 7, 40), (1, 1, 3))
"""S, p and T: the last epoch is cut short, neither S nor p divides n; and the smallest."""

FAMILIES = (instance(log_cosh, n=41, d=5), instance(recovery, rows=9, columns=8))


def _told(counts: Counts) -> dict[str, float]:
    """Return the counts but FO: a full gradient may be asked as a batch of all components."""
    return {kind: number for kind, number in counts.as_dict().items() if kind != "fo"}


def count(trial: Trial, *, estimator: str) -> Evidence:
    """Compare all counts but FO with the formula."""
    parts: dict[str, Decision] = {}
    claimed: dict[str, float] = {}
    for family in FAMILIES:
        problem = drawn(trial, family)
        for S, p, T in SIZES:
            algorithm = trial.make(batch=S, period=p, iterations=T, step=1e-3)
            try:
                run = trial.run(problem, algorithm, seed=trial.seeds(1)[0])
            except Unfit:
                if not parts:
                    raise
                continue  # it is held to its counts where points are arrays
            expected = _told(exact_counts(estimator, n=problem.n, S=S, p=p, T=T))
            name = f"{problem.name} S={S} p={p} T={T}"
            parts[name] = equal(expected, _told(run.counts))
            claimed |= {f"{name}: {kind}": number for kind, number in expected.items()}
    return Evidence(all_of(parts), claimed, len(parts))


_EPOCHS = "with E = ceil(T/p): SFO = nE + 2S(T-E), "
_STATEMENTS = {
    **dict.fromkeys(METHODS, f"{_EPOCHS}LO = T"),
    **dict.fromkeys(CURVATURE_AIDED, f"{_EPOCHS}SSO = nE, LO = T"),
    "sg": "SFO = ST, LO = T",
}

COUNT = {
    name: Claim(
        name=f"shen2019-count-{name}",
        source="shen2019 algorithm 1, table 1",
        kind="count",
        statement=f"T iterations cost {_STATEMENTS[name]}",
        check=partial(count, estimator=name),
        instances=FAMILIES,
        algorithm=method.name,
        schedule="explicit",
        takes=(0.2, 0.2),
    )
    for name, method in METHODS.items()
}


class DoubleLO(NFWUSVRG):
    """Minimises twice an iteration."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Ask once more than needed."""
        for state in super().run(ask, x, rng):
            ask.lo(state.estimate)
            yield state


CLAIMS = tuple(COUNT.values())
MUTANTS = (Mutant.of("svrg-double-lo", DoubleLO, COUNT["svrg"]),)
