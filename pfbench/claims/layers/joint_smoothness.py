"""Smoothness in a norm of several layers: it needs the second derivatives of pairs of layers.

Let L_lm = max |H_lm x_m|_* over |x_m| <= 1, where H_lm is the second derivative in the layers l
and m. In the norm max |x_l|/rho_l, L is at most the sum of rho_l rho_m L_lm. The L_ll alone give
no bound of L: f = x y has L_11 = L_22 = 0 and L = 2 rho_1 rho_2. For a convex quadratic of p
layers, L is at most p times the sum of rho_l^2 L_ll. The function that attains this bound is (x_1
+ ... + x_p)^2/2.
"""

import math
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.points import Layers, combine
from pfbench.problems.two_layer import TwoLayerNetwork
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import layer_norm_ball
from pfbench.sets.norms import NormBall
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Instance, Trial, make_instance, statistics
from pfbench.verification.instruments.normed_quadratics import LayeredQuadratic
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.statements.each_instance import Parts, check_each_instance

ROUNDING = 1e-9

# --- instances ------------------------------------------------------------------------------------


def make_positive() -> NormedProblem:
    """Return x'Hx/2 with two layers, a positive matrix H and the smoothness L = 85.25.

    The layers have two and three entries, l-infinity norms, and the radii 0.5 and 2. One point
    attains all L_lm, so L equals the sum of rho_l rho_m L_lm.
    """
    rows = [
        [1.568, 0.968, 1.051, 1.605, 1.555],
        [0.968, 1.332, 1.047, 1.884, 1.385],
        [1.051, 1.047, 1.022, 1.511, 1.360],
        [1.605, 1.884, 1.511, 3.257, 2.348],
        [1.555, 1.385, 1.360, 2.348, 2.031],
    ]
    return _make_quadratic(np.array(rows), (2, 3), "linf[radius=0.5]*linf[radius=2]")


def make_sum(p: int) -> NormedProblem:
    """Return (x_1 + ... + x_p)^2/2 with p layers of smoothness 1 each and joint smoothness p^2."""
    return _make_quadratic(np.ones((p, p)), (1,) * p, "linf")


def make_product() -> NormedProblem:
    """Return f = x y with two layers, each of smoothness 0, and with joint smoothness L = 2.

    The radii of the layers are 0.5 and 2.
    """
    return _make_quadratic(
        np.array([[0.0, 1.0], [1.0, 0.0]]), (1, 1), "linf[radius=0.5]*linf[radius=2]"
    )


def _make_quadratic(H: Floats, sizes: tuple[int, ...], norm: str) -> NormedProblem:
    """Return x'Hx/2 with a norm; the layers of x are vectors of the given sizes."""
    ends = np.cumsum(sizes)[:-1].tolist()
    blocks = np.array([[abs(part).sum() for part in np.split(row, ends, axis=1)]
                       for row in np.split(H, ends)])  # fmt: skip
    shapes = tuple((f"x{k}", (size,)) for k, size in enumerate(sizes, 1))
    quadratic = LayeredQuadratic(
        H=H, blocks=blocks, begin=Layers(np.ones(len(H)), shapes), set=WholeSpace(len(H))
    )
    return NormedProblem(quadratic, layer_norm_ball(norm, [shape for _, shape in shapes]))


SUMS = tuple(make_instance(make_sum, p=p) for p in (2, 3, 5))

# --- the joint smoothness -------------------------------------------------------------------------


@check_each_instance({"off": ROUNDING}, statistics.combine_all)
def check_smoothness_by_vertices(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test that the smoothness of x'Hx/2 is the largest |Hx|_* over vertices of the unit ball."""
    ask = trial.open_oracles(problem)
    vertices = [problem.norm.random_vertex(trial.rng(f"{k}")) for k in range(40)]
    vertices.append(-problem.norm.lo(np.ones(problem.shape)))
    measured = max(problem.norm.dual_norm(problem.gradient(x)) for x in vertices)
    deviation = abs(measured / max(ask.smoothness_in_norm(problem.norm)[0], 1e-300) - 1.0)
    return {instance.stream_key: statistics.decide_deviations({"off": deviation}, ROUNDING)}


# --- steps of all layers by their own constants ---------------------------------------------------


@check_each_instance({"off": ROUNDING}, statistics.combine_all)
def check_value_growth_by_layer_steps(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test that f is multiplied by (p - 1)^2 if all p layers step by their own layer's smoothness.

    Layer l makes a step |grad_l f|/L_ll.
    """
    ask = trial.open_oracles(problem)
    x, p = problem.start(), len(problem.norm.balls)
    v = Layers(ask.lo(ask.gradient(x)), x.shapes)
    lengths = {
        name: float(abs(g).sum()) for name, g in Layers(ask.gradient(x), x.shapes).layers.items()
    }
    ratio = problem.value(combine(x, x + v, lengths)) / problem.value(x)
    return {
        instance.stream_key: statistics.decide_exact(
            abs(ratio - (p - 1) ** 2) <= ROUNDING,
            f"f is multiplied by {ratio:.6g}, not by {(p - 1) ** 2}.",
            {"factor": ratio},
        )
    }


# --- no layer has a smoothness of its own ---------------------------------------------------------


def make_network(W_2: float) -> TwoLayerNetwork:
    """Return the loss (W_2 tanh(W_1) - 0.2)^2/2 of two scalar weights; W_1 starts at 0.3."""
    return TwoLayerNetwork(
        features=np.ones((1, 1)),
        targets=np.full((1, 1), 0.2),
        hidden=1,
        set=WholeSpace(2),
        begin=np.array([0.3, W_2]),
    )


@check_each_instance({"off": ROUNDING}, statistics.combine_all)
def check_dependence_on_other_layers(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test the stated dependence of the derivative in W_1 on W_2, at two values of W_2.

    As the two derivatives differ, no constant of the first layer alone bounds the change.
    """
    W_2 = instance.parameters["W_2"]
    ask = trial.open_oracles(problem)
    u = math.tanh(0.3)
    expected = (W_2 * u - 0.2) * W_2 * (1.0 - u * u)
    slope = float(ask.gradient(problem.start())[0])
    deviation = abs(slope - expected)
    return {instance.stream_key: statistics.decide_deviations({"off": deviation}, ROUNDING)}


# --- a network of two layers ----------------------------------------------------------------------


def make_wide(norm: str) -> NormedProblem:
    """Return a two-layer network's loss: 40 data rows, 4 inputs, 3 hidden units, |W_2| <= 1.5."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((40, 4)) / 2.0
    targets = np.tanh(features @ rng.standard_normal((4, 1)))
    return _network(features, targets, 3, 1.5, norm)


def make_narrow(norm: str) -> NormedProblem:
    """Return a two-layer network's loss on |W_2| <= 0.01, with one weight in each layer.

    The only row has the target 1000. The residual of this row is so large that the mixed second
    derivative in both layers is nearly all of L.
    """
    return _network(np.ones((1, 1)), np.full((1, 1), 1000.0), 1, 0.01, norm)


def _network(
    features: Floats, targets: Floats, hidden: int, domain: float, norm: str
) -> NormedProblem:
    shapes = (hidden, features.shape[1]), (targets.shape[1], hidden)
    d = sum(map(math.prod, shapes))
    network = TwoLayerNetwork(
        features=features,
        targets=targets,
        hidden=hidden,
        set=WholeSpace(d),
        begin=np.zeros(d),
        domain=domain,
    )
    return NormedProblem(network, layer_norm_ball(norm, shapes))


NETWORKS = (
    *(
        make_instance(make_wide, norm=norm)
        for norm in ("spectral", "spectral*linf[radius=0.5]", "sum(spectral)", "l2(spectral)")
    ),
    make_instance(make_narrow, norm="spectral"),
)


@check_each_instance()
def check_network(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test |grad f(x) - grad f(y)|_* <= L |x - y| for networks, at pairs with a large ratio."""
    ask = trial.open_oracles(problem)
    L = ask.smoothness_in_norm(problem.norm)[0]
    rng, ratios = trial.rng(instance.stream_key), []
    shapes, R = problem.inner.blocks, problem.inner.domain
    for _ in range(trial.choose_by_effort(20, 100)):
        first, second = (rng.standard_normal(shape) * rng.exponential() for shape in shapes)
        second *= R * rng.uniform() / max(float(np.linalg.norm(second, 2)), 1e-300)
        x = np.concatenate([(first * rng.uniform()).ravel(), second.ravel()])
        direction = rng.standard_normal(problem.shape)
        for _ in range(4):
            y = x + 1e-4 * min(1.0, R) * direction / problem.norm.norm(direction)
            change = ask.gradient(y) - ask.gradient(x)
            ratios.append(problem.norm.dual_norm(change) / problem.norm.norm(y - x) / L)
            direction = -problem.norm.lo(change)
    return {instance.label: statistics.decide_inequality(ratios, 1e-4)}


# --- the claims -----------------------------------------------------------------------------------

JOINT = Claim(
    name="layers-joint-smoothness",
    source="pfbench",
    kind="identity",
    statement=(
        "in the norm max |x_l|/rho_l, L is at most the sum of rho_l rho_m L_lm, with equality for "
        "quadratics whose L_lm are attained at one point; the L_ll alone bound nothing"
    ),
    check=check_smoothness_by_vertices,
    instances=(make_instance(make_positive), *SUMS, make_instance(make_product)),
    schedule="none: a statement about f",
    expected_seconds=(0.1, 0.1),
)

OWN_STEPS = Claim(
    name="layers-own-steps",
    source="pfbench",
    kind="identity",
    statement=(
        "steps of |grad_l f|/L_ll in all layers at once multiply (x_1 + ... + x_p)^2/2 by (p - 1)^2"
    ),
    check=check_value_growth_by_layer_steps,
    instances=SUMS,
    schedule="none: a statement about a step",
    expected_seconds=(0.1, 0.1),
)

COUPLED = Claim(
    name="layers-coupled",
    source="pfbench",
    kind="identity",
    statement=(
        "the derivative of (W_2 tanh W_1 - 0.2)^2/2 in W_1 = 0.3 is 0.0025 at W_2 = 0.7 and 0.459 "
        "at W_2 = 1.7: no multiple of the difference of W_1, which is 0, bounds its difference"
    ),
    check=check_dependence_on_other_layers,
    instances=tuple(make_instance(make_network, W_2=W_2) for W_2 in (0.7, 1.7)),
    schedule="none: a statement about f",
    expected_seconds=(0.1, 0.1),
)

NETWORK = Claim(
    name="layers-network",
    source="pfbench",
    kind="bound",
    statement=(
        "a network of two layers has |grad f(x) - grad f(y)|_* <= L |x - y| in a norm of its "
        "layers, L the mean of (rho_2 sqrt h + R rho_1 |a|)^2 + (R sqrt h + |b|)(2 rho_1 rho_2 |a| "
        "+ c R rho_1^2 |a|^2), c = 4/(3 sqrt 3), on |W_2| <= R"
    ),
    check=check_network,
    instances=NETWORKS,
    schedule="none: a statement about f",
    expected_seconds=(1.0, 6.0),
)


# --- planted faults -------------------------------------------------------------------------------


class FaultySmoothnessWithoutLayerPairs(OverriddenOracles):
    """Faulty smoothness that ignores the second derivatives of pairs of different layers."""

    def smoothness_in_norm(self, norm: Any) -> tuple[float, str]:
        """Return a smoothness that ignores second derivatives of pairs of different layers."""
        problem = self._original.inner
        if isinstance(problem, LayeredQuadratic):
            rho = np.array([ball.radius for ball in norm.balls])
            return float(rho**2 @ np.diag(problem.blocks)), "the L_ll alone"
        a, b = (np.linalg.norm(rows, axis=1) for rows in (problem.features, problem.targets))
        R, h = problem.domain, problem.hidden
        curved = 4.0 / (3.0 * math.sqrt(3.0)) * R * a**2 * (R * math.sqrt(h) + b)
        return float((h + (R * a) ** 2 + curved).mean()), "the L_ll alone"


class FaultySmoothnessCountingPairsOnce(OverriddenOracles):
    """Faulty smoothness that counts each pair of different layers once, not twice."""

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str]:
        """Return the smoothness with each pair of different layers counted once."""
        total = self._original.smoothness_in_norm(norm)[0]
        return (
            total + FaultySmoothnessWithoutLayerPairs(self._original).smoothness_in_norm(norm)[0]
        ) / 2.0, ""
