"""wang2019 theorem 2: the mean squared gradient mapping of Prox-SpiderBoost in K steps."""

from functools import partial

from pfbench.claims.wang2019.estimate import BOWL
from pfbench.claims.wang2019.mean_mapping import check_mean_mapping
from pfbench.claims.wang2019.shared import MEAN_SQUARED, SCHEDULE, noiseless_model
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic, RobustRegression
from pfbench.verification import Claim, make_instance
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.units import SQUARE, formula


def bound(L: float, Delta: float, K: int) -> float:
    """Return 20 L Delta/K, the bound of Prox-SpiderBoost's expected squared gradient mapping.

    It is for the output x_xi, and the paper prints it as O(.).

    The smaller constant 18 can be proved, too.
    """
    return 20.0 * L * Delta / K


_of_norm_3 = partial(make_instance, noiseless_model, scale=3.0)
"""Rows of norm 3: at norm 1, eta = 1 would hide a penalty that is taken without eta."""

_TESTED = {
    "robust regression": (_of_norm_3(kind=RobustRegression, n=64, d=4, weight=0.05), 640),
    "non-convex logistic": (_of_norm_3(kind=NonconvexLogistic, n=64, d=4, weight=0.05), 640),
    "least squares": (_of_norm_3(kind=LeastSquares, n=256, d=3, weight=1e-3), 320),
    "slope": (
        make_instance(ConstantSlopeProblem, n=64, g=0.1, gap=1.0, sigma=0.5, weight=0.01),
        200,
    ),
}
"""Instances by title, each with its K."""


THM2 = Claim(
    name="wang2019-thm2",
    source="wang2019 theorem 2, constant derived",
    kind="bound",
    statement="E|G_eta(x_xi)|^2 <= 20 L Delta/K (18 is provable), xi uniform, PO = K",
    algorithm="prox-spiderboost",
    assumptions=(MEAN_SQUARED, "q <= |S| + 1"),
    instances=(*(problem for problem, _ in _TESTED.values()), BOWL),
    schedule=SCHEDULE,
    expected_seconds=(4.0, 7.0),
    check=partial(check_mean_mapping, bound=bound, problems=_TESTED),
    formulas=(formula(bound, SQUARE),),
)

CLAIMS = (THM2,)
