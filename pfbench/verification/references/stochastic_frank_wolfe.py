"""Plain references of the stochastic Frank-Wolfe methods of Reddi et al. 2016 (Allerton)."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.moves import frank_wolfe_moves


def sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """SFW: g_t is the mean over a fresh batch of b."""
    return frank_wolfe_moves(ask, x, s, estimates.sg(ask, rng, s))


def svfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """SVFW: SVRG's estimate, which also queries its batch at the snapshot."""
    return frank_wolfe_moves(ask, x, s, estimates.svrg_with_batch_at_snapshot(ask, rng, s))


def sagafw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """SAGAFW: SAGA's estimate."""
    return frank_wolfe_moves(ask, x, s, estimates.saga(ask, rng, s))


REFERENCES = MappingProxyType({"sfw": sfw, "svfw": svfw, "sagafw": sagafw})
