"""The claims of Shen, Fang, Zhao, Huang, Qian 2019 (THEORY section 5 and 8).

Notation: n components, S the batch, p the epoch length, j = t mod p, eta the step, D the diameter,
L = max(L_f, L_ms), L2 = L2_ms, Delta the gap at the start, V the Frank-Wolfe gap.
"""

from pfbench.theory.claim import Claim

_ESTIMATORS = ("sg", "svrg", "spiderg", "casvrg", "caspiderg")
_NAMES = {name: f"nfwu-{name}" for name in _ESTIMATORS}
_FORCED = (
    "signed bilinear and cubic components on a segment: the path is forced, and each component "
    "attains L, and L2, along it, with balanced signs"
)
_MEAN_SQUARED = "L_ms, L2_ms: mean-squared smoothness of gradients and Hessians"

_COUNTS = {
    "sg": "SFO = ST, LO = T",
    "svrg": "with E = ceil(T/p): SFO = nE + 2S(T-E), LO = T",
    "spiderg": "with E = ceil(T/p): SFO = nE + 2S(T-E), LO = T",
    "casvrg": "with E = ceil(T/p): SFO = nE + 2S(T-E), SSO = nE, LO = T",
    "caspiderg": "with E = ceil(T/p): SFO = nE + 2S(T-E), SSO = nE, LO = T",
}
_LAWS = {
    "sg": "E|g-grad f|^2 <= sigma^2/S",
    "svrg": "E|g-grad f|^2 <= L_ms^2 (j eta)^2/S",
    "spiderg": "E|g-grad f|^2 <= L_ms^2 j eta^2/S",
    "casvrg": "E|g-grad f|^2 <= L2^2 (j eta)^4/(4S)",
    "caspiderg": "E|g-grad f|^2 <= L2^2 eta^4 j(4j^2-1)/(12S)",
}
_MEANS = {
    "sg": "E[g_t | x_t] = grad f(x_t)",
    "svrg": "E[g_t | past] = grad f(x_t)",
    "spiderg": "E[g_t - g_{t-1} | past] = grad f(x_t) - grad f(x_{t-1})",
    "casvrg": "E[g_t | past] = grad f(x_t)",
    "caspiderg": "E[g_t - g_{t-1} | past] = grad f(x_t) - grad f(x_{t-1})",
}
_TABLE = {
    "sg": "least SFO an iteration with (9): epsilon^-2 while 4 sigma^2/epsilon^2 < n",
    "svrg": "least SFO an iteration with (9): n^(2/3)",
    "spiderg": "least SFO an iteration with (9): n^(1/2)",
    "casvrg": "least SFO an iteration with (9): n^0.8 epsilon^0.4, n^-2 << epsilon << n^-1/3",
    "caspiderg": "least SFO an iteration with (9): n^0.75 epsilon^0.5, n^-1.5 << epsilon << n^-0.5",
}
_CROSSOVERS = {
    "casvrg": "needs fewer SFO than SPIDERG below epsilon = 15.4 (L^2/L2) n^-0.75, not above",
    "caspiderg": "needs fewer SFO than SPIDERG below epsilon = 6.4 (L^2/L2) n^-0.5, not above",
}

CLAIMS = (
    *(
        Claim(
            name=f"shen2019-count-{name}",
            source="shen2019 algorithm 1, table 1",
            kind="count",
            statement=f"T iterations cost {_COUNTS[name]}",
            algorithm=_NAMES[name],
            family="a linear model and matrix recovery, odd n, S, p, T",
            schedule="explicit",
        )
        for name in _ESTIMATORS
    ),
    *(
        Claim(
            name=f"shen2019-thm3.1-{name}",
            source="shen2019 theorem 3.1 with (9), sharp form",
            kind="bound",
            statement="E|grad f(x_t)-g_t|^2 <= eps^2/4 and mean over t of E V(x_t) <= 2 eps D",
            algorithm=_NAMES[name],
            assumptions=(_MEAN_SQUARED, "C compact"),
            family="log cosh on a segment and a ball, and matrix recovery, where 2 eps D < V(x_0)",
            schedule="theory",
        )
        for name in _ESTIMATORS
    ),
    Claim(
        name="shen2019-rem3.1",
        source="shen2019 remark 3.1",
        kind="bound",
        statement=(
            "the best of k = ceil(log2(1/delta)) sampled outputs, chosen by the full gap, has "
            "V <= 4 eps D with probability at least 1 - delta, for n SFO and 1 LO more a run"
        ),
        algorithm="nfwu-spiderg",
        assumptions=(_MEAN_SQUARED, "C compact"),
        family="log cosh on a ball",
        schedule="theory",
    ),
    *(
        Claim(
            name=f"shen2019-mse-{name}",
            source="shen2019 section 4, lemmas of the estimators",
            kind="law",
            statement=_LAWS[name],
            algorithm=_NAMES[name],
            assumptions=(_MEAN_SQUARED,),
            family=_FORCED,
            schedule="explicit",
        )
        for name in _ESTIMATORS
    ),
    *(
        Claim(
            name=f"shen2019-unbiased-{name}",
            source="shen2019 section 4, estimators GE 1 to 5",
            kind="law",
            statement=_MEANS[name],
            algorithm=_NAMES[name],
            family="a random smooth sum of n = 4 components, all batches of S = 2 enumerated",
            schedule="explicit",
        )
        for name in _ESTIMATORS
    ),
    *(
        Claim(
            name=f"shen2019-table1-{name}",
            source="shen2019 table 1",
            kind="rate",
            statement=_TABLE[name],
            algorithm=_NAMES[name],
            assumptions=(_MEAN_SQUARED,),
            family=_FORCED,
            schedule="least cost over S and p for which (9) holds",
        )
        for name in _ESTIMATORS
    ),
    *(
        Claim(
            name=f"shen2019-crossover-{name}",
            source="shen2019 section 4, corrected constants",
            kind="separation",
            statement=f"{name.upper()} {_CROSSOVERS[name]}",
            algorithm=_NAMES[name],
            assumptions=(_MEAN_SQUARED,),
            family=_FORCED,
            schedule="least cost over S and p for which (9) holds",
        )
        for name in ("casvrg", "caspiderg")
    ),
    Claim(
        name="shen2019-sagafw",
        source="Reddi et al. 2016, discussed in shen2019 appendix 7.2",
        kind="rate",
        statement="SAGAFW reaches V <= eps D with O(n + n^(1/3)/eps^2) SFO",
        algorithm="sagafw",
        assumptions=("every grad f_i is L_max-Lipschitz", "C compact"),
        family="log cosh on a ball, n and epsilon over two decades",
        schedule="theory",
        disputed="its proof bounds the table's error by a step that does not follow (appendix 7.2)",
    ),
    Claim(
        name="shen2019-rlrmr-sso",
        source="shen2019 section 6",
        kind="identity",
        statement="in matrix recovery a component Hessian is one number, as a component gradient",
        algorithm="nfwu-casvrg",
        family="robust matrix recovery",
        schedule="explicit",
    ),
    Claim(
        name="shen2019-thm5.1",
        source="shen2019 theorem 5.1",
        kind="certificate",
        statement=(
            "a deterministic method whose points are determined by LO outputs has V >= 0.04 D "
            "before T LO calls; rescaled, it needs Omega(L Delta/eps^2) of them"
        ),
        algorithm="frank-wolfe",
        assumptions=("start at 0", "queries only at points that LO outputs determine"),
        family="the zero chain, built online by a resisting oracle",
        schedule="explicit",
    ),
)
