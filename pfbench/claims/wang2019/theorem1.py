"""wang2019 theorem 1: the mean squared gradient of SpiderBoost after K steps of 1/(2L)."""

from functools import partial

from pfbench.algorithms.proximal import ProximalMethod, ProxSpiderBoost, SpiderBoost
from pfbench.claims.wang2019.estimate import BOWL
from pfbench.claims.wang2019.mean_mapping import check_mean_mapping
from pfbench.claims.wang2019.shared import MEAN_SQUARED, SCHEDULE, chain, noiseless_model
from pfbench.estimators import SPIDERG
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic, RobustRegression
from pfbench.verification import Claim, Mutant, make_instance
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.units import SQUARE, formula


def bound(L: float, Delta: float, K: int) -> float:
    """Return 4 L Delta/K, the bound of E|grad f(x_xi)|^2; the paper prints O(.)."""
    return 4.0 * L * Delta / K


_TESTED = {
    "robust regression": (make_instance(noiseless_model, kind=RobustRegression, n=64, d=4), 640),
    "non-convex logistic": (make_instance(noiseless_model, kind=NonconvexLogistic, n=64, d=4), 640),
    "least squares": (make_instance(noiseless_model, kind=LeastSquares, n=256, d=3), 320),
    "slope": (make_instance(ConstantSlopeProblem, n=64, g=0.1, gap=1.0, sigma=0.5), 200),
    "chain": (make_instance(chain, n=16, links=3), 600),
}
"""Instances by title, each with its K."""


THM1 = Claim(
    name="wang2019-thm1",
    source="wang2019 theorem 1, constant derived",
    kind="bound",
    statement="E|grad f(x_xi)|^2 <= 4 L Delta/K, xi uniform",
    algorithm="spiderboost",
    assumptions=(MEAN_SQUARED, "q <= |S| + 1"),
    instances=(*(problem for problem, _ in _TESTED.values()), BOWL),
    schedule=SCHEDULE,
    expected_seconds=(6.0, 10.0),
    check=partial(check_mean_mapping, bound=bound, problems=_TESTED),
    formulas=(formula(bound, SQUARE),),
)

# --- planted faults -------------------------------------------------------------------------------

CLAIMS = (THM1,)

_output = partial(Mutant.from_edits, SpiderBoost, ProximalMethod)
_schedule = partial(Mutant.from_edits, SpiderBoost, ProxSpiderBoost)
_estimate = partial(Mutant.from_edits, SpiderBoost, SPIDERG)

MUTANTS = (
    _estimate(
        "spiderboost-never-refreshed",
        "Takes its full gradient once and never again.",
        {"next(iterations) % self.period == 0": "next(iterations) == 0"},
        THM1,
    ),
    _estimate(
        "spiderboost-divided-by-n",
        "Divides the summed difference by n instead of S.",
        {"= change(": "= self.batch / ask.n * change("},
        THM1,
    ),
    _estimate(
        "spiderboost-wrong-sign", "Subtracts the difference.", {"= change(": "= -change("}, THM1
    ),
    _estimate(
        "spiderboost-from-snapshot",
        "Adds the difference to the snapshot, instead of to x_{k-1}, to v_{k-1}.",
        {"previous) + g": "previous) + g\n                return g"},
        THM1,
    ),
    _estimate(
        "spiderboost-two-back",
        "Takes the difference to x_{k-2}.",
        {
            "g = self.reference_gradient(ask, x, rng)": "g, previous = self.reference_gradient(ask, x, rng), []",  # noqa: E501
            "x, previous)": "x, previous[-2:][0])",
            "previous = x": "previous = [*previous, x]",
        },
        THM1,
    ),
    _estimate(
        "spiderboost-forgets",
        "Leaves v_{k-1} out of the recursion.",
        {"previous) + g": "previous)"},
        THM1,
    ),
    _estimate(
        "spiderboost-one-index",
        "Draws one index and repeats it.",
        {"self.draw(ask, rng)": "np.repeat(rng.integers(ask.n, size=1), self.batch)"},
        THM1,
    ),
    _estimate(
        "spiderboost-batch-again",
        "Uses its first batch in every iteration.",
        {
            "partial(self._mean_difference, ask, rng)": "partial(ask.difference, self.draw(ask, rng))"  # noqa: E501
        },
        THM1,
    ),
    _estimate(
        "spiderboost-reference-before",
        "Takes the reference gradient at the previous point.",
        {"(ask, x, rng)": "(ask, x if previous is None else previous, rng)"},
        THM1,
    ),
    _output("spiderboost-last", "Returns the last iterate.", {'"uniform",': '"last",'}, THM1),
    _schedule("spiderboost-long-step", "Moves by 4/L.", {"step=1.0": "step=8.0"}, THM1),
    _schedule(
        "spiderboost-short-run",
        "Stops after a quarter of its iterations.",
        {"epsilon**2)),": "epsilon**2 / 4.0)),"},
        THM1,
    ),
    _schedule(
        "spiderboost-long-epoch",
        "Takes a full gradient every n iterations instead of sqrt n, and S = 1.",
        {"batch=round_up(root)": "batch=1", "period=round_down(root)": "period=constants.n"},
        THM1,
    ),
)
