"""Steps of all layers at once: the decrease of f, on quadratics and on a network.

For x^+ = x - eta O with |O| <= hi and <N, O> >= lo |N|_* in a norm of the layers, and e = N - grad
f(x),

    f(x^+) <= f(x) - eta lo |grad f(x)|_* + eta (lo + hi) |e|_* + L eta^2 hi^2/2.

Here N is a method's estimate, and lo and hi are the numbers for which the norm's minimiser at N
satisfies these inequalities. On the network L holds where |W_2| <= R, and R is the spectral norm
of the first W_2 plus that of all steps, so that no run leaves this domain.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from pfbench.points import Layers
from pfbench.problems.catalogue import problem as make_problem
from pfbench.problems.two_layer import TwoLayerNetwork
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import layer_norm_ball
from pfbench.sets.matrix_balls import max_spectral_norm
from pfbench.sets.norms import NormProduct
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Trial, make_instance
from pfbench.verification.instruments.normed_quadratics import LayeredQuadratic
from pfbench.verification.statements.each_instance import check_ratios
from pfbench.verification.units import NUMBER, VALUE, formula

STEP, HORIZON = 0.02, 80

NORM = "spectral[lmo={lmo}]*linf[radius=0.5]"


def make_square(lmo: str) -> NormedProblem:
    """Return the problem <U, x>^2/2 for a fixed U with two layers; the start has <U, x> = 5.

    The layers of U are a (2, 3) identity and a (3, 1) matrix of ones. The exact minimiser is along
    U, so that every step attains the bound.
    """
    layers = Layers.from_arrays({"W1": np.eye(2, 3), "W2": np.ones((3, 1))})
    u = layers.vector
    duals = np.array([2.0, 3.0])
    square = LayeredQuadratic(
        H=np.outer(u, u), blocks=np.outer(duals, duals), begin=layers, set=WholeSpace(len(u))
    )
    shapes = [shape for _, shape in layers.shapes]
    return NormedProblem(square, layer_norm_ball(NORM.format(lmo=lmo), shapes))


def make_network(norm: str) -> NormedProblem:
    """Return a two-layer network's loss: 40 data rows, 5 inputs, 4 hidden units and 3 outputs."""
    return cast(NormedProblem, make_problem("two-layer-network", set="none", norm=norm))


def smoothness_bound_along_run(problem: NormedProblem) -> float:
    """Return a smoothness constant that holds along a run of `HORIZON` steps of length `STEP`."""
    if isinstance(problem.inner, LayeredQuadratic):
        bound = problem.inner.smoothness_in_norm(problem.norm)
        assert bound is not None
        return bound[0]
    network, norm = cast(TwoLayerNetwork, problem.inner), cast(NormProduct, problem.norm)
    R = float(np.linalg.norm(network.start()["W2"], 2))
    R += 1.3 * HORIZON * STEP * max_spectral_norm(norm.balls[1])
    return network.layerwise_smoothness_bound(norm, R)


def descent_excess(L: float, eta: float, lower: float, upper: float, error: float) -> float:
    """Return a bound of f(y) - f(x) + eta * lower * |grad f(x)|_* for a step of size eta to y.

    It is eta (lower + upper) error + L eta^2 upper^2/2, where `error` is |e|_*.
    """
    return eta * (lower + upper) * error + L * (eta * upper) ** 2 / 2.0


def descent_excess_ratios(
    trial: Trial, problem: NormedProblem, *, parameters: dict[str, Any]
) -> Iterator[float]:
    """Yield for each step the left side of the descent inequality, divided by `descent_excess`."""
    ball, L = problem.norm, smoothness_bound_along_run(problem)
    batch = 1 if problem.n == 1 else 4
    algorithm = trial.make(iterations=HORIZON, step=STEP, batch=batch, **parameters)
    for x, step in trial.follow_with_previous_point(problem, algorithm):
        g, estimate = np.asarray(problem.gradient(x)), np.asarray(step.estimate)
        lower, upper = ball.lmo_quality(estimate)
        bound = descent_excess(L, STEP, lower, upper, ball.dual_norm(estimate - g))
        change = problem.value(step.state.x) - problem.value(x)
        yield (change + STEP * lower * ball.dual_norm(g)) / bound


def _claim(name: str, norms: tuple[str, ...], **parameters: Any) -> Claim:
    return Claim(
        name=f"layers-descent-{name}",
        source="pfbench",
        kind="bound",
        statement=(
            "in a norm of layers f(x^+) <= f(x) - eta lo |grad f(x)|_* + eta (lo + hi) |N - grad "
            "f(x)|_* + L eta^2 hi^2/2, N the estimate, lo and hi those of the minimiser at N"
        ),
        check=partial(check_ratios, measure=partial(descent_excess_ratios, parameters=parameters)),
        instances=(
            make_instance(make_square, lmo="exact"),
            make_instance(make_square, lmo="quintic"),
            *(make_instance(make_network, norm=norm) for norm in norms),
        ),
        algorithm=name,
        assumptions=("|grad f(x) - grad f(y)|_* <= L |x - y|",),
        schedule="explicit",
        expected_seconds=(0.5, 0.5),
        formulas=(
            formula(descent_excess, VALUE, eta=(0, 1), lower=NUMBER, upper=NUMBER, error=(1, -1)),
        ),
    )


_MIXED = tuple(f"{kind}({NORM.format(lmo='quintic')})" for kind in ("max", "sum", "l2"))

MUON = _claim("muon", ("spectral", "spectral[lmo=quintic]", *_MIXED), beta=0.5)
NESTEROV = _claim("muon-nesterov", ("spectral[lmo=quintic]", *_MIXED), beta=0.5)
SCION = _claim("uscg", _MIXED, alpha=0.5)
SIGNS = _claim("signum", ("linf", *_MIXED), beta=0.5)
