"""wang2019 theorem 1: the mean squared gradient of SpiderBoost after K steps of size 1/(2L)."""

from functools import partial

from pfbench.claims.wang2019.estimate import BOWL
from pfbench.claims.wang2019.mean_mapping import check_mean_mapping
from pfbench.claims.wang2019.shared import MEAN_SQUARED, SCHEDULE, chain, noiseless_model
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic, RobustRegression
from pfbench.verification import Claim, make_instance
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.units import SQUARE, formula


def bound(L: float, Delta: float, K: int) -> float:
    """Return 4 L Delta/K, the bound of SpiderBoost's expected squared gradient at the output.

    The paper prints it as O(.).
    """
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

CLAIMS = (THM1,)
