"""The claims of Wang, Ji, Zhou, Liang, Tarokh 2019 (THEORY section 7).

Notation: K iterations, q = |S| = sqrt n, eta = 1/(2L), G the gradient mapping, Delta the gap.
"""

from pfbench.theory.claim import Claim

_MEAN_SQUARED = "L >= max(L_f, L_ms)"
_CHAIN = "the finite-sum chain (it binds)"
_ROBUST = "robust and non-convex logistic regression"
_SLOPE = "a long slope (it binds)"

_TABLE = {
    "prox-gd": "n eps^-2 SFO, eps^-2 PO",
    "prox-sgd": "eps^-4 SFO, eps^-2 PO",
    "prox-svrg": "n + n^(2/3) eps^-2 SFO, eps^-2 PO",
    "prox-saga": "n + n^(2/3) eps^-2 SFO, eps^-2 PO",
    "prox-svrg-plus": "n + n^(2/3) eps^-2 SFO, eps^-2 PO; online eps^-10/3 SFO",
    "natasha15": "eps^-3 + eps^-10/3 SFO, eps^-10/3 PO",
    "prox-spiderboost": "n + n^(1/2) eps^-2 SFO, eps^-2 PO",
    "prox-spiderboost-online": "eps^-2 + eps^-3 SFO, eps^-2 PO",
}

CLAIMS = (
    Claim(
        name="wang2019-thm1",
        source="wang2019 theorem 1, constant derived",
        kind="bound",
        statement="E|grad f(x_xi)|^2 <= 4 L Delta/K, xi uniform",
        algorithm="spiderboost",
        assumptions=(_MEAN_SQUARED, "q <= |S| + 1"),
        family=_ROBUST + ", least squares; " + _SLOPE + "; the finite-sum chain",
        schedule="q = |S| = sqrt n, eta = 1/(2L)",
    ),
    Claim(
        name="wang2019-thm2",
        source="wang2019 theorem 2, constant derived",
        kind="bound",
        statement="E|G_eta(x_xi)|^2 <= 20 L Delta/K (18 is provable), xi uniform, PO = K",
        algorithm="prox-spiderboost",
        assumptions=(_MEAN_SQUARED, "q <= |S| + 1"),
        family=_ROBUST + ", least squares, " + _SLOPE + ", each with an l1 penalty",
        schedule="q = |S| = sqrt n, eta = 1/(2L)",
    ),
    Claim(
        name="wang2019-thm3",
        source="wang2019 theorem 3",
        kind="rate",
        statement="with momentum: E|G| <= eps after O(n + n^(1/2) eps^-2) SFO and O(eps^-2) PO",
        algorithm="prox-spiderboost-m",
        assumptions=(_MEAN_SQUARED,),
        family="robust regression with an l1 penalty; " + _SLOPE + "; " + _CHAIN,
        schedule="beta = 1/(8L), lambda_k = (1 + alpha_{k+1}) beta",
    ),
    *(
        Claim(
            name=f"wang2019-table1-{name}",
            source="wang2019 table 1",
            kind="rate",
            statement=f"E|G| <= eps after {words}, in order",
            algorithm=name.removesuffix("-online"),
            assumptions=(_MEAN_SQUARED,),
            family=(
                f"{_SLOPE}; of finite sums also robust regression with an l1 penalty"
                + (f"; {_CHAIN}" if name == "prox-spiderboost" else "")
            ),
            schedule="theory; on robust regression also the best of three steps",
        )
        for name, words in _TABLE.items()
    ),
    Claim(
        name="wang2019-step",
        source="wang2019 section 3",
        kind="separation",
        statement="at step 1/(2L) SpiderBoost converges where SPIDER stalls at its step's accuracy",
        algorithm="spiderboost",
        assumptions=(_MEAN_SQUARED,),
        family="robust and log-cosh regression",
        schedule="SpiderBoost 1/(2L); SPIDER option 2 to its eps, option 1 (steps eps/L) below it",
    ),
)
