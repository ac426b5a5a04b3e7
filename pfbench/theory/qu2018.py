"""The claims of Qu, Li, Xu 2018 (THEORY section 6).

Notation: N iterations, L the smoothness, ell the lower smoothness, Delta = f(x_0) - min f,
G_lambda the gradient mapping, M the largest norm in C, theta* a global minimiser.
"""

from pfbench.theory.claim import Claim

_INNER = (
    "|x - c|^2/2 on a simplex with at least 6/eta vertices, c its centre, lambda = 1 (the prox is "
    "spread over a face, and inner steps are as many as the geometry allows); eta near D^2/lambda; "
    "least squares on a simplex, an l1 and an l2 ball"
)
_NONCONVEX = "random indefinite quadratics on the l1 ball, scaled so that Delta >= 10"
_FACE = "|x - c|^2/2, scaled, on the simplex"
_SLOPE = "a slope whose end the last step just reaches (it binds)"
_SMALL = "random indefinite quadratics on the l1 ball, scaled so that Delta = 0.3"

CLAIMS = (
    Claim(
        name="qu2018-condg-stop",
        source="qu2018 algorithm 2",
        kind="bound",
        statement="on return from condg max over x of <l + (u+ - u)/lambda, u+ - x> <= eta",
        algorithm="ncgs",
        family=_INNER,
        schedule="lambda = beta = 1/(2L), options I and II",
    ),
    Claim(
        name="qu2018-condg-count",
        source="qu2018 algorithm 2, Jaggi 2013 theorem 2",
        kind="bound",
        statement="one condg needs at most 1 + ceil(6 D^2/(lambda eta)) LO",
        algorithm="ncgs",
        family=_INNER,
        schedule="lambda = beta = 1/(2L), options I and II",
    ),
    Claim(
        name="qu2018-condg-distance",
        source="qu2018 (8)",
        kind="bound",
        statement="|u+ - prox|^2 <= lambda eta",
        algorithm="ncgs",
        family=_INNER,
        schedule="lambda = beta = 1/(2L), options I and II",
    ),
    Claim(
        name="qu2018-thm1-I",
        source="qu2018 theorem 1, option I",
        kind="bound",
        statement=(
            "min over k of |G_lambda|^2 <= (12 L Delta + 16 L)/N, and the mean over k is at most "
            "(16 L Delta + 28 L)/(3N)"
        ),
        algorithm="ncgs",
        assumptions=("C compact", "L >= L_f"),
        family=_NONCONVEX + "; " + _FACE + "; " + _SLOPE,
        schedule="alpha = 2/(k+1), beta = lambda = 1/(2L), eta = 1/N",
    ),
    Claim(
        name="qu2018-thm1-II",
        source="qu2018 theorem 1, option II (mapping at theta_md)",
        kind="bound",
        statement=(
            "min over k of |G_beta|^2 <= 192 L^2 |theta_0-theta*|^2/(N^2(N+1)) "
            "+ (48 ell L/N)(|theta*|^2+2M^2) + 96 L/N, and the mean with p_k ~ k(k+1) likewise"
        ),
        algorithm="ncgs",
        assumptions=("C compact", "L >= L_f"),
        family=_NONCONVEX + "; " + _FACE + "; " + _SLOPE,
        schedule="alpha = 2/(k+1), beta = 1/(2L), lambda = k beta/2, eta = chi = 1/N",
    ),
    Claim(
        name="qu2018-cor1",
        source="qu2018 corollary 1",
        kind="rate",
        statement="|G|^2 <= eps after O(1/eps) FO and O(1/eps^2) LO",
        algorithm="ncgs",
        assumptions=("C compact",),
        family=(
            "the zero chain, T links, eps proportional to 1/T at fixed L, Delta and D, to the "
            "target (FO binds); " + _SMALL + ", to the end of the schedule"
        ),
        schedule="theory, option I; in full also tuned: steps by L, L/2 or L/4",
    ),
    Claim(
        name="qu2018-thm2",
        source="qu2018 theorem 2, constants derived",
        kind="bound",
        statement=(
            "sum p_k E|g_k|^2 <= 384 L^2 |theta_0-theta*|^2/(N(N+1)(N+2)) "
            "+ 96 L ell (|theta*|^2+M^2)/(N+2) + 96 L eta/(N+2) + 36 L chi "
            "+ 48 sigma^2 (N+3)/((N+1)(N+2)), g_k the stochastic mapping"
        ),
        algorithm="ncgs-stochastic",
        assumptions=("C compact", "L >= max(L_f, L_ms)", "variance at most sigma^2"),
        family=_NONCONVEX + "; noise on an l2 ball; " + _SLOPE,
        schedule="explicit: m_k = k, eta = chi = 1/N",
    ),
    Claim(
        name="qu2018-cor2",
        source="qu2018 corollary 2",
        kind="rate",
        statement="|G|^2 <= eps after O(1/eps^2) SFO and O(1/eps^2) LO",
        algorithm="ncgs-stochastic",
        assumptions=("C compact",),
        family=_SMALL + "; noise on an l2 ball",
        schedule="theory: SFO to the target, LO to the end; in full also tuned (L, L/2, L/4)",
    ),
    Claim(
        name="qu2018-thm3",
        source="qu2018 theorem 3",
        kind="bound",
        statement=(
            "E|G_lambda|^2 <= 18 L (Delta+1)/T, lambda = 1/(3L), uniform over T iterations, and "
            "IFO = (T/m)(n + 2bm)"
        ),
        algorithm="ncgs-vr",
        assumptions=("C compact", "L >= max(L_f, L_ms)", "m^2 <= 12 b"),
        family=_NONCONVEX + "; noise and spread Hessians on an l2 ball; " + _SLOPE,
        schedule="m = round(n^(1/3)), b = round(n^(2/3)), eta = 1/T",
    ),
    Claim(
        name="qu2018-cor3",
        source="qu2018 corollary 3",
        kind="rate",
        statement="|G|^2 <= eps after O(n + n^(2/3)/eps) SFO and O(1/eps^2) LO",
        algorithm="ncgs-vr",
        assumptions=("C compact",),
        family=_SMALL + "; noise and spread Hessians on an l2 ball",
        schedule="theory, to its end; in full also tuned: L, L/2 or L/4, to the target",
    ),
)
