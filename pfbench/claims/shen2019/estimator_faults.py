"""Faults in the estimators of shen2019 that several of its claims must catch."""

from functools import partial

from pfbench.algorithms.nfwu import NFWUCASPIDERG, NFWUSPIDERG, NFWUSVRG
from pfbench.claims.shen2019.error_laws import LAW
from pfbench.claims.shen2019.recovery_claims import ONE_NUMBER
from pfbench.claims.shen2019.table1_counts import COUNT
from pfbench.claims.shen2019.unbiased import UNBIASED
from pfbench.estimators import CASPIDERG, SPIDERG, SVRG
from pfbench.verification import Mutant

_spiderg = partial(Mutant.from_edits, NFWUSPIDERG, SPIDERG)
_svrg = partial(Mutant.from_edits, NFWUSVRG, SVRG)
_caspiderg = partial(Mutant.from_edits, NFWUCASPIDERG, CASPIDERG)

MUTANTS = (
    _spiderg(
        "spiderg-never-refreshed",
        "Takes its full gradient once and never again.",
        {"next(iterations) % self.period": "next(iterations)"},
        LAW["spiderg"],
        COUNT["spiderg"],
    ),
    _svrg(
        "svrg-snapshot-never-refreshed",
        "Never refreshes the first snapshot.",
        {"next(iterations) % self.period": "next(iterations)"},
        LAW["svrg"],
        COUNT["svrg"],
    ),
    _spiderg(
        "spiderg-epoch-off-by-one",
        "Refreshes every p + 1 iterations.",
        {"% self.period": "% (self.period + 1)"},
        COUNT["spiderg"],
        LAW["spiderg"],
    ),
    _spiderg(
        "spiderg-root-batch",
        "Draws sqrt(S) indices instead of S.",
        {"self.draw(ask, rng)": "rng.integers(ask.n, size=int(self.batch**0.5))"},
        COUNT["spiderg"],
        LAW["spiderg"],
    ),
    _svrg(
        "svrg-not-divided",
        "Sums the sampled differences without dividing by S.",
        {"ask.difference(": "self.batch * ask.difference("},
        UNBIASED["svrg"],
        LAW["svrg"],
    ),
    _spiderg(
        "spiderg-wrong-point",
        "Takes SPIDERG's difference to the snapshot, not to the previous point.",
        {"previous) + g": "previous) + g\n                return g", "= x\n": "= keep(x)\n"},
        UNBIASED["spiderg"],
        LAW["spiderg"],
    ),
    _caspiderg(
        "caspiderg-fresh-hessians",
        "Evaluates component Hessians at every point instead of once an epoch.",
        {"previous = x\n": "previous = x\n            ask.hessian(x)\n"},
        COUNT["caspiderg"],
        ONE_NUMBER,
    ),
)
