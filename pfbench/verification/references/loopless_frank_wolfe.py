"""Plain references of Frank-Wolfe along SPIDER, PAGE, L-SVRG, ZeroSARAH and STORM estimates."""

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.moves import frank_wolfe_moves


def spider_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """SPIDER-FW (Yurtsever et al. 2019), with sampling=importance Lan 2020, section 7.4."""
    uniform = s.sampling == "uniform"
    estimate = estimates.spider if uniform else estimates.spider_by_smoothness
    return frank_wolfe_moves(ask, x, s, estimate(ask, rng, s))


def page_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Frank-Wolfe along PAGE."""
    return frank_wolfe_moves(ask, x, s, estimates.page(ask, rng, s))


def lsvrg_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Frank-Wolfe along L-SVRG."""
    return frank_wolfe_moves(ask, x, s, estimates.lsvrg(ask, rng, s))


def zerosarah_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Frank-Wolfe along ZeroSARAH with a full table."""
    return frank_wolfe_moves(ask, x, s, estimates.zerosarah(ask, rng, s))


def storm_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Frank-Wolfe along STORM."""
    return frank_wolfe_moves(ask, x, s, estimates.storm(ask, rng, s, lambda t: s.alpha))


def _falling_step_sizes(s: Any, delay: float = 2.0) -> Callable[[int], float]:
    """Return the function gamma_t = 2/(t + delay), or the constant step if one is given."""
    return lambda t: s.step or 2.0 / (t + delay)


def one_sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """1-SFW (Zhang et al. 2020): STORM with alpha_t = 1/(t+1)."""
    d = estimates.storm(ask, rng, s, lambda t: s.alpha or 1.0 / (t + 1))
    return frank_wolfe_moves(ask, x, s, d, _falling_step_sizes(s))


def momentum_sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Stochastic conditional gradient (Mokhtari et al. 2020): alpha_t = (t+1)^(-2/3)."""
    d = estimates.heavy_ball(ask, rng, s, lambda t: s.alpha or (t + 1.0) ** (-2 / 3))
    return frank_wolfe_moves(ask, x, s, d, _falling_step_sizes(s))


def page_fw_convex(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Frank-Wolfe along PAGE with gamma_t = 2/(t + s)."""
    return frank_wolfe_moves(
        ask, x, s, estimates.page(ask, rng, s), _falling_step_sizes(s, s.delay)
    )


def spider_fw_convex(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """SPIDER-FW for convex f (Yurtsever et al. 2019): epochs and batches double."""
    return frank_wolfe_moves(
        ask, x, s, estimates.doubling_spider(ask, rng, s), _falling_step_sizes(s)
    )


REFERENCES = MappingProxyType(
    {
        "spider-fw": spider_fw,
        "page-fw": page_fw,
        "lsvrg-fw": lsvrg_fw,
        "zerosarah-fw": zerosarah_fw,
        "storm-fw": storm_fw,
        "one-sfw": one_sfw,
        "momentum-sfw": momentum_sfw,
        "page-fw-convex": page_fw_convex,
        "spider-fw-convex": spider_fw_convex,
    }
)
