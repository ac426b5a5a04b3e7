"""Algorithm 1 and table 1 of shen2019: the exact counts of T iterations."""

from functools import partial
from typing import Any

from pfbench.base.constants import Constants
from pfbench.base.counts import Counts
from pfbench.claims.shen2019.epoch_estimators import CURVATURE_AIDED, METHODS, log_cosh, recovery
from pfbench.verification import Claim, make_instance
from pfbench.verification.statements.exact_counts import counts


def exact_counts(estimator: str, *, n: int, S: int, p: int, T: int) -> Counts:
    """Return the exact oracle counts of T iterations with an estimator of shen2019."""
    if estimator == "sg":
        return Counts(sfo=S * T, lo=T)
    epochs = -(-T // p)
    between = T - epochs
    sfo = n * epochs + 2 * S * between
    if estimator not in CURVATURE_AIDED:
        return Counts(fo=epochs, sfo=sfo, lo=T)
    return Counts(fo=epochs, sfo=sfo, sso=n * epochs, hvp=(n + S) * between, lo=T)


SIZES = ((37, 13, 101), (5, 7, 40), (1, 1, 3))
"""S, p and T: a truncated last epoch, sizes that do not divide n, and the smallest sizes."""

_SETTINGS = {
    f"S={S} p={p} T={T}": {"batch": S, "period": p, "iterations": T, "step": 1e-3}
    for S, p, T in SIZES
}

FAMILIES = (
    make_instance(log_cosh, n=41, d=5).with_title("log-cosh"),
    make_instance(recovery, rows=9, columns=8).with_title("robust-matrix-recovery"),
)


def compute_claimed_counts(c: Constants, a: Any, *, estimator: str) -> Counts:
    """Return the claimed oracle counts of a run, from the problem's and the method's parameters."""
    return exact_counts(estimator, n=c.n, S=a.batch, p=a.period, T=a.iterations)


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
        statement=f"T iterations cost {_STATEMENTS[name]}",
        check=counts(partial(compute_claimed_counts, estimator=name), parameters=_SETTINGS),
        instances=FAMILIES,
        algorithm=method.name,
        expected_seconds=(0.2, 0.2),
    )
    for name, method in METHODS.items()
}
