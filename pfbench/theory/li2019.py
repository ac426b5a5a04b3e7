"""The claims of Li, Qu, Xu 2019 (THEORY section 6).

Notation: theta_hat the minimiser over C, sigma_hat the effective strong convexity, eps_stat the
statistical error, N_t = ceil(8 sqrt(L/sigma_hat)), delta0 >= f(theta_0) - f(theta_hat),
D_t^2 = 4 delta0 2^-t/sigma_hat.
"""

from pfbench.theory.claim import Claim

_QUADRATICS = "strongly convex quadratics with known minimiser: interior, on a face, at a vertex"
_SINGULAR = "a singular Hessian on the l1 ball whose restricted strong convexity is exact"
_ALL = f"{_QUADRATICS}; {_SINGULAR}; matrix regression over the nuclear ball"
_STRONG = "restricted strong convexity with sigma_hat > 0"

CLAIMS = (
    Claim(
        name="li2019-thm1",
        source="li2019 theorem 1",
        kind="bound",
        statement="f(theta_t) - f(theta_hat) <= delta0 2^-t at every outer t (eps_stat = 0)",
        algorithm="cgs",
        assumptions=(_STRONG, "f convex", "L >= L_f"),
        family=_ALL,
        schedule="theory",
    ),
    Claim(
        name="li2019-cor3",
        source="li2019 corollary 3",
        kind="bound",
        statement="inside outer t: f(y_k) - f(theta_hat) <= 8 L D_t^2/(k(k+1))",
        algorithm="cgs",
        assumptions=(_STRONG, "f convex", "L >= L_f"),
        family=_ALL + "; steep vertices and Nesterov's chain",
        schedule="theory; and one outer iteration of any N with D_1 = |theta_0 - theta_hat|",
    ),
    Claim(
        name="li2019-thm1-fo",
        source="li2019 theorem 1",
        kind="count",
        statement="accuracy eps costs n N_t ceil(log2(delta0/eps)) SFO",
        algorithm="cgs",
        assumptions=(_STRONG,),
        family=_ALL,
        schedule="theory",
    ),
    Claim(
        name="li2019-thm1-lo",
        source="li2019 theorem 1",
        kind="bound",
        statement=(
            "LO <= 288 L D^2 2^T/delta0 (N_t^2 sigma_hat/(64 L)) + 2 N_t T, "
            "T = ceil(log2(delta0/eps))"
        ),
        algorithm="cgs",
        assumptions=(_STRONG,),
        family=f"faces, where the first term counts; {_SINGULAR}; a steep vertex, the second",
        schedule="theory",
    ),
    Claim(
        name="li2019-stat",
        source="li2019 theorem 1 and (27), corrected",
        kind="bound",
        statement=(
            "f(theta_t) - f(theta_hat) <= sigma_hat eps_stat^2 implies "
            "|theta_t - theta_hat|^2 <= 4 eps_stat^2"
        ),
        algorithm="cgs",
        assumptions=(_STRONG, "phi(theta_hat) = rho"),
        family=_SINGULAR + "; theta_hat misses the truth along the flat direction",
        schedule="theory",
    ),
    Claim(
        name="li2019-thm2",
        source="li2019 theorem 2",
        kind="bound",
        statement="E f(theta_t) - f(theta_hat) <= delta0 2^-t at every outer t (eps_stat = 0)",
        algorithm="storc",
        assumptions=(_STRONG, "every f_i convex and L_max-smooth"),
        family=f"{_QUADRATICS}, L/sigma_hat <= 25; {_SINGULAR}",
        schedule="theory: m = 5200 N_t L_max/sigma_hat",
    ),
    Claim(
        name="li2019-variance",
        source="li2019 (52)",
        kind="bound",
        statement=(
            "E|v_k - grad f(z_k)|^2 <= L^2 D_t^2/(N_t (k+1)^2) with the theorem's m; its mean over "
            "k is tested for each t"
        ),
        algorithm="storc",
        assumptions=(_STRONG, "every f_i convex and L_max-smooth"),
        family=f"{_QUADRATICS}, L/sigma_hat <= 25; {_SINGULAR}",
        schedule="theory: m = 5200 N_t L_max/sigma_hat",
    ),
    Claim(
        name="li2019-nonconvex",
        source="li2019 section 4, theorem for non-convex f",
        kind="bound",
        statement="f(theta_t) - f(theta_hat) <= delta0 2^-t for non-convex f as well",
        algorithm="cgs",
        assumptions=(_STRONG,),
        family="curved down in some directions, on the l1 ball, with exact restricted convexity",
        schedule="theory",
        disputed=(
            "the proof (appendix G.1) reuses (45), which needs convexity between z_k and y_{k-1}, "
            "where restricted strong convexity controls only differences to theta_hat"
        ),
    ),
    Claim(
        name="li2019-lemma1",
        source="li2019 lemma 1, corrected",
        kind="bound",
        statement=(
            "restricted strong convexity with lambda_min(Sigma_x)/4 (loss 7), /8 (loss 8), and "
            "tau = c xi(Sigma_x) d/n, c <= 4 (left open in the paper)"
        ),
        assumptions=("Gaussian rows with covariance Sigma_x",),
        family="matrix regression, the worst directions of rank 1, 2 and d that a search finds",
        schedule="none",
    ),
)
