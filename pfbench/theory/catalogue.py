"""Every claim by its name."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.base.names import unknown
from pfbench.theory import lacoste2016, li2019, qu2018, shen2019, wang2019
from pfbench.theory.claim import Claim

PAPERS: Mapping[str, str] = MappingProxyType(
    {
        "shen2019": "Shen, Fang, Zhao, Huang, Qian: Complexities in Projection-Free Stochastic "
        "Non-convex Minimization, AISTATS 2019",
        "qu2018": "Qu, Li, Xu: Non-convex Conditional Gradient Sliding, ICML 2018",
        "li2019": "Li, Qu, Xu: Projection-Free Algorithms in Statistical Estimation, 2018",
        "wang2019": "Wang, Ji, Zhou, Liang, Tarokh: SpiderBoost and Momentum, NeurIPS 2019",
        "lacoste2016": "Lacoste-Julien: Convergence Rate of Frank-Wolfe for Non-Convex "
        "Objectives, 2016",
    }
)
"""The papers by their keys."""

CLAIMS: Mapping[str, Claim] = MappingProxyType(
    {
        claim.name: claim
        for paper in (shen2019, qu2018, li2019, wang2019, lacoste2016)
        for claim in paper.CLAIMS
    }
)
"""Every claim by its name, in the order of the papers."""


def claim(name: str) -> Claim:
    """Return a claim by its name.

    Raises
    ------
    InputError
        If the name is unknown (the nearest is suggested).
    """
    if name not in CLAIMS:
        raise unknown("claim", name, CLAIMS)
    return CLAIMS[name]
