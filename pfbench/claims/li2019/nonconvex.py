"""li2019 section 4, theorem 1 for non-convex f: tested by runs, as its proof (G.1) is broken."""

import math
from collections.abc import Callable

import numpy as np

from pfbench.algorithms.sliding import CGS
from pfbench.claims.li2019 import shared_runs
from pfbench.runs.loop.steps import steps
from pfbench.verification import Claim, Evidence, Floats, Trial, make_instance, statistics
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios, stream
from pfbench.verification.instruments.quadratics import KnownQuadratic, make_restricted_quadratic
from pfbench.verification.units import VALUE, formula

# --- the instances --------------------------------------------------------------------------------


def nonconvex_quadratic(rng: np.random.Generator, kappa: float, d: int = 256) -> KnownQuadratic:
    """Return a non-convex quadratic on the l1 ball of R^d with restricted condition number kappa.

    The problem is from `make_restricted_quadratic`, with one direction of negative curvature and a
    minimiser with one nonzero entry. So L = max(1, excess) and sigma_hat = 1 - 8 (1 + excess)/d.
    """
    share = 8.0 / d
    excess = kappa * (1.0 - share) / (1.0 + kappa * share)
    return make_restricted_quadratic(rng, d, 1, 1, excess=excess)


_CURVED_DOWN = (
    make_instance(make_restricted_quadratic, d=256, support=1, blind=1, excess=8.0),
    make_instance(make_restricted_quadratic, d=256, support=2, blind=4, excess=1.5),
    make_instance(make_restricted_quadratic, d=256, support=3, blind=4, excess=0.5),
)
_CONDITIONED = make_instance(nonconvex_quadratic, kappa=500.0)

# --- the check ------------------------------------------------------------------------------------


def check_gap_halving_and_call_growth(trial: Trial) -> Evidence:
    """Test that each restart halves the gap, and how the counts of LO and of full gradients grow.

    The linear minimisations must grow at most as 1/epsilon. The full gradients until a target must
    grow at most as the square root of L/sigma_hat.
    """
    T, count = trial.choose_by_effort(9, 10), trial.choose_by_effort(6, 20)
    halved: dict[str, statistics.Decision] = {}
    kappas = trial.choose_by_effort(np.geomspace(5.0, 500.0, 4), np.geomspace(5.0, 1000.0, 8))

    def row(seed: int) -> tuple[Floats, list[float]]:
        """Return the linear minimisations for each t, and the full gradients for each L/sigma_hat.

        The linear minimisations are counted on the last problem family.
        """
        rng, lo = np.random.default_rng(seed), np.zeros(T)
        for family in _CURVED_DOWN:
            problem, p = family(rng), family.parameters
            name = f"s={p['support']}, {p['blind']} directions of curvature {-p['excess']:g}"
            halved[f"{name}, {seed}"] = shared_runs.decide_halving(trial, problem, T)
        for t, _, step in shared_runs.follow_inner_iterations(trial, problem, T):
            if t <= T:
                lo[t - 1] = step.counts().lo
        return lo[1:], [
            _full_gradients_to_halvings(trial, _CONDITIONED(rng, kappa=kappa), 6)
            for kappa in kappas
        ]

    rows = statistics.SeedRows(row, trial.seeds(statistics.MOST_SEEDS, "problems"))
    growing = statistics.make_fit_function(
        2.0 ** np.arange(2, T + 1), lambda k: [lo for lo, _ in rows(k)]
    )
    conditioned = statistics.make_fit_function(kappas, lambda k: [fo for _, fo in rows(k)])
    exponents = {
        "LO against 1/epsilon": statistics.decide_exponent(growing, 1.0, seeds=count),
        "FO against L/sigma_hat": statistics.decide_exponent(conditioned, 0.5, seeds=count),
    }
    parts = {"halving": shared_runs.combine_with_largest_ratio(halved), **exponents}
    claimed = {"halving: ratio": 1.0, "LO against 1/epsilon: slope": 1.0}
    claimed["FO against L/sigma_hat: slope"] = 0.5
    runs = len(halved) + len(rows.computed) * len(kappas)
    return Evidence(statistics.combine_all(parts), claimed, runs)


def _full_gradients_to_halvings(trial: Trial, problem: KnownQuadratic, halvings: int) -> float:
    """Count full gradients until the gap is at most 2^-halvings times its bound at the start.

    The result is infinite if the run ends before.
    """
    target = problem.value(problem.start()) * 2.0**-halvings
    for _, _, step in shared_runs.follow_inner_iterations(trial, problem, halvings):
        if problem.value(step.state.x) <= target:
            return float(step.counts().sfo / problem.n)
    return math.inf


NONCONVEX = Claim(
    name="li2019-nonconvex",
    source="li2019 section 4, theorem for non-convex f",
    kind="bound",
    statement="f(theta_t) - f(theta_hat) <= delta0 2^-t for non-convex f as well",
    algorithm="cgs",
    assumptions=(shared_runs.STRONG,),
    instances=(*_CURVED_DOWN, _CONDITIONED),
    schedule="theory",
    disputed=(
        "the proof (appendix G.1) reuses (45), which needs convexity between z_k and y_{k-1}, "
        "where restricted strong convexity controls only differences to theta_hat"
    ),
    expected_seconds=(0.8, 20.0),
    check=check_gap_halving_and_call_growth,
    formulas=(formula(shared_runs.compute_halved_gap_bound, VALUE),),
)

# --- errata ---------------------------------------------------------------------------------------


def examine_reversed_inequality(
    effort: str, seed: int, *, sign: float = 1.0
) -> ExaminationEvidence:
    """Examine (69) of li2019, an upper bound of min f - f(theta) that should be a lower bound.

    Restricted strong convexity bounds f(theta_hat) - f(theta) from below instead. The inequality
    is evaluated at theta_hat and at random points, on a problem with eps_stat > 0. Each ratio is 1
    plus the largest excess of one side over the other, in units of sigma_hat eps_stat^2. With
    `sign` = 1 the inequality is (69) as printed.
    """
    rng = stream(seed, "(69)")
    problem = shared_runs.make_biased_minimiser_problem(64, 1, 0.5)
    unit = problem.sigma_hat * shared_runs.statistical_error_squared_if_biased(64, 1, 0.5)
    x = np.array([problem.minimiser, *(_random_l1_ball_point(problem, rng) for _ in range(50))])
    u = problem.minimiser - x
    rise = np.array([problem.value(item) for item in x])
    linear = np.array([problem.gradient(item) @ v for item, v in zip(x, u, strict=True)])
    flat = u @ problem.gradient(problem.minimiser)
    square = 0.5 * problem.sigma_hat * np.sum(u**2, axis=1)

    def ratio(excess: Floats) -> float:
        return 1.0 + float(excess.max()) / unit

    excess = -rise - linear - square + unit
    return compare_ratios(ratio(sign * excess), ratio(-excess)).with_ratios_under_other_readings(
        {
            "the gradient at theta_hat": ratio(-rise - flat - square + unit),
            "sigma_hat eps_stat^2 added": ratio(-rise - linear - square - unit),
            "both last signs turned": ratio(-rise - linear + square - unit),
            "the other difference": ratio(rise - linear - square + unit),
        }
    )


def _random_l1_ball_point(problem: KnownQuadratic, rng: np.random.Generator) -> Floats:
    """Return a random point of the l1 ball: a random convex combination of four vertices."""
    vertices = [problem.set.random_vertex(rng) for _ in range(4)]
    return np.asarray(rng.dirichlet(np.ones(4)) @ np.array(vertices))


def _strong_convexity_slack(problem: KnownQuadratic, x: Floats) -> float:
    """Return the slack in the inequality of strong convexity between x and the minimiser.

    It is f(theta_hat) - f(x) - <grad f(x), theta_hat - x> - (sigma_hat/2)|x - theta_hat|^2,
    negative if the inequality is violated.
    """
    u = problem.minimiser - x
    square = 0.5 * problem.sigma_hat * float(u @ u)
    return -problem.value(x) - float(problem.gradient(x) @ u) - square


def _convexity_violation(problem: KnownQuadratic, z: Floats, y: Floats) -> float:
    """Return f(z) + <grad f(z), y - z> - f(y), which is positive where convexity is violated."""
    return problem.value(z) + float(problem.gradient(z) @ (y - z)) - problem.value(y)


def examine_missing_convexity(
    effort: str, seed: int, *, towards_minimiser: bool = False
) -> ExaminationEvidence:
    """Examine (45) of li2019, the inequality of convexity between z and y, for a non-convex f.

    (45) is f(z) + <grad f(z), y - z> <= f(y). The proof uses it for z = z_k and y = y_{k-1}. The
    test function has negative curvature along a direction w. So (45) fails between feasible points
    z and y = z + w. For y = theta_hat it holds, even with (sigma_hat/2)|z - theta_hat|^2 added.
    Each ratio is 1 plus the violation divided by |y - z|^2, or by delta0 along a run of conditional
    gradient sliding.
    """
    rng = stream(seed, "G.1")
    problem = make_restricted_quadratic(rng, 64, 1, 1, excess=1.0)
    at_zero = problem.gradient(np.zeros(64))
    hessian = np.array([problem.gradient(e) - at_zero for e in np.eye(64)])
    w = np.linalg.eigh(hessian)[1][:, 0]
    w *= 0.5 / float(np.abs(w).sum())
    between, towards = -math.inf, -math.inf
    for _ in range(20):
        z = 0.5 * _random_l1_ball_point(problem, rng)
        y = problem.minimiser if towards_minimiser else z + w
        between = max(between, _convexity_violation(problem, z, y) / float((y - z) @ (y - z)))
        towards = max(
            towards,
            -_strong_convexity_slack(problem, z) / float(np.sum((problem.minimiser - z) ** 2)),
        )
    evidence = compare_ratios(1.0 + between, 1.0 + towards, **{"sigma_hat": problem.sigma_hat})
    return evidence.with_ratios_under_other_readings(
        {"at the points of CGS": 1.0 + _max_convexity_violation_of_cgs(problem, rng)}
    )


def _max_convexity_violation_of_cgs(problem: KnownQuadratic, rng: np.random.Generator) -> float:
    """Return the largest violation of convexity in a run of CGS, relative to the initial gap.

    The run makes six restarts of conditional gradient sliding.
    """
    constants = problem.constants(problem.start())
    algorithm = CGS.theory(constants.delta / 64.0, constants)
    y, falls = problem.start(), list[float]()
    for state in steps(problem, algorithm, streams={"oracles": rng, "algorithm": rng}).states:
        falls.append(_convexity_violation(problem, state.at, y))
        y = np.array(state.x)
    return max(falls) / constants.delta


def examine_stray_factor(
    effort: str, seed: int, *, last_factor: Callable[[float], float] = lambda L: L
) -> ExaminationEvidence:
    """Examine (74) of li2019, whose right side has a factor L too many: L delta0/2^t.

    (74) is 64 L delta0/(N (N+1) 2^t sigma_hat) <= L delta0/2^t. Here N = ceil(8 sqrt(L/sigma_hat)).
    The factor L on the left is right, but the factor L on the right is not: (74) fails for L below
    64 kappa/(N (N+1)). `last_factor` is the factor on the right as a function of L.
    """
    rng = stream(seed, "(74)")
    L = 10.0 ** rng.uniform(-4.0, 4.0, size=200)
    kappa = 10.0 ** rng.uniform(0.0, 4.0, size=200)

    def max_ratio(L: Floats, N: Floats) -> float:
        """Return the largest ratio of (74)'s left side to its right side, over several L and N."""
        return float(
            np.max(64.0 * kappa / (N * (N + 1.0)) / np.array([last_factor(item) for item in L]))
        )

    N = np.array([shared_runs.inner_iteration_count(k, 1.0) for k in kappa], dtype=np.float64)
    corrected = float(np.max(64.0 * kappa / (N * (N + 1.0))))
    return compare_ratios(max_ratio(L, N), corrected).with_ratios_under_other_readings(
        {
            "N not rounded": max_ratio(L, 8.0 * np.sqrt(kappa)),
            "L at least 1": max_ratio(np.maximum(L, 1.0), N),
        }
    )
