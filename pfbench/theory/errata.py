"""Errata of the five papers: statements that are wrong as printed, with what holds instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A statement that is wrong, damaged or ambiguous as printed.

    Attributes
    ----------
    name
        Paper and place.
    claim
        The claim it concerns; empty if none.
    as_printed, corrected
        The two statements, a line each.
    """

    name: str
    claim: str = ""
    as_printed: str
    corrected: str


_SHEN2019 = (
    Erratum(
        name="shen2019-(4)",
        as_printed="(4), a sum over Omega without 1/n, is an instance of (1) with its V and L",
        corrected="V and L of (4) are n times those of the mean (scaling=mean, sum)",
    ),
    Erratum(
        name="shen2019-(7)",
        claim="shen2019-mse-svrg",
        as_printed="E|grad f_i(x)-grad f_i(y)| <= L|x-y| gives the error L^2 (j eta)^2/S",
        corrected="it needs E|grad f_i(x)-grad f_i(y)|^2 <= L_ms^2|x-y|^2, and L_ms for L",
    ),
    Erratum(
        name="shen2019-(8)",
        claim="shen2019-mse-casvrg",
        as_printed="E|Hess f_i(x)-Hess f_i(y)| <= L2|x-y| gives the error L2^2 (j eta)^4/S",
        corrected="it needs the mean square of the Hessians' differences, and L2_ms for L2",
    ),
    Erratum(
        name="shen2019-(10)",
        claim="shen2019-thm3.1-spiderg",
        as_printed="E V(x_t0) <= 5 eps",
        corrected="E V(x_t0) <= 5 eps D; the proof gives 2.5 eps D, its sharp form 2 eps D",
    ),
    Erratum(
        name="shen2019-remark3.1",
        claim="shen2019-rem3.1",
        as_printed="an output with V/10 <= eps satisfies (2)",
        corrected="it has V <= 10 eps D; (2), V <= eps D, needs a run for eps/10",
    ),
    Erratum(
        name="shen2019-3.1-moment",
        claim="shen2019-mse-sg",
        as_printed="E|grad f_i(x)|^2 <= L^2 D^2 for all x, so S = L^2 D^2/eps^2",
        corrected="that needs a stationary point of each f_i in C; E|g-grad f|^2 <= sigma^2/S",
    ),
    Erratum(
        name="shen2019-(9)-sg",
        claim="shen2019-thm3.1-sg",
        as_printed="S = G^2/eps^2 meets (9), E|g-grad f|^2 <= eps^2/4",
        corrected="the error is up to eps^2; 4 times that S meets (9)",
    ),
    Erratum(
        name="shen2019-(9)-svrg",
        claim="shen2019-thm3.1-svrg",
        as_printed="S = n^(2/3), p = n^(1/3) meet (9), E|g-grad f|^2 <= eps^2/4",
        corrected="the error is up to ((p-1)/p)^2 eps^2; 4 times that S meets (9)",
    ),
    Erratum(
        name="shen2019-(9)-spiderg",
        claim="shen2019-thm3.1-spiderg",
        as_printed="S = p = sqrt n meet (9), E|g-grad f|^2 <= eps^2/4",
        corrected="the error is up to (p-1)/p eps^2; 4 times that S meets (9)",
    ),
    Erratum(
        name="shen2019-(9)-casvrg",
        claim="shen2019-thm3.1-casvrg",
        as_printed="E|g-grad f|^2 <= L2^2 (p eta)^4/S = eps^2, which section 4.1 proves, gives (9)",
        corrected="the law is L2^2 (j eta)^4/(4S): with it the same S and p do meet (9)",
    ),
    Erratum(
        name="shen2019-(9)-caspiderg",
        claim="shen2019-thm3.1-caspiderg",
        as_printed="S = n/p meets (9), E|g-grad f|^2 <= eps^2/4",
        corrected="the error is up to eps^2/3; 4/3 times that S meets (9)",
    ),
    Erratum(
        name="shen2019-4.1-mean-value",
        claim="shen2019-mse-casvrg",
        as_printed="grad f_i(x) - grad f_i(x~) = Hess f_i(xbar)",
        corrected="the right side lacks (x - x~); with it, true in one dimension",
    ),
    Erratum(
        name="shen2019-4.1-one-mean-value",
        claim="shen2019-mse-caspiderg",
        as_printed="one xbar on the segment serves all entries of grad f_i(x) - grad f_i(x~)",
        corrected="only the integral form holds; it gives the 1/4 and the (i-1/2)^2 of the laws",
    ),
    Erratum(
        name="shen2019-4.1-powers",
        claim="shen2019-table1-casvrg",
        as_printed="p = (L/L2)^.4 n^.2 eps^-.4 and S = n/p meet (9) (from L2^2 p^4 eps^4/(L^2 S))",
        corrected="p = L^.8 L2^-.4 n^.2 eps^-.4, from L2^2 (p eps/L)^4/S; else off by 1/L^2",
    ),
    Erratum(
        name="shen2019-4.1-small-epsilon",
        claim="shen2019-table1-casvrg",
        as_printed="for small eps S = 1 and p = L^.5 L2^.5 eps^-.5 meet (9)",
        corrected="p = L L2^-.5 eps^-.5, as the constraint of section 4.1 itself says",
    ),
    Erratum(
        name="shen2019-4.2-powers",
        claim="shen2019-table1-caspiderg",
        as_printed="p = (L/L2)^.5 n^.25 eps^-.5 and S = n/p meet (9) (from L2^2 p^3 eps^4/(L^2 S))",
        corrected="p = L L2^-.5 n^.25 eps^-.5 and S = 4n/(3p); else off by 1/L^2",
    ),
    Erratum(
        name="shen2019-section6-eta",
        as_printed="the convex-combination weight is p/T, p = 10 .. 50, T = 20",
        corrected="that is 0.5 to 2.5 and leaves C; as eta of algorithm 1 the weight is p/(T D)",
    ),
    Erratum(
        name="shen2019-5.1-queries",
        claim="shen2019-thm5.1",
        as_printed="every method whose x_k depends on LO outputs only has V >= 0.04 D before T LO",
        corrected="if it also queries f and grad f only at such points; else 2 LO calls may do",
    ),
    Erratum(
        name="shen2019-7.1-indices",
        claim="shen2019-thm5.1",
        as_printed="v_k is orthogonal to x_0 .. x_k, and <x_t, v_T> = 0 for t <= T",
        corrected="v_k is orthogonal to x_0 .. x_{k-1}, and t < T",
    ),
)

_QU2018 = (
    Erratum(
        name="qu2018-tables",
        claim="qu2018-cor1",
        as_printed="|G|^2 <= eps and V <= eps are compared in tables 1 to 3 as if alike",
        corrected="lambda |G|^2 <= V <= (D + lambda |grad f|) |G|: compare on one scale",
    ),
    Erratum(
        name="qu2018-thm1-II-mapping",
        claim="qu2018-thm1-II",
        as_printed="an iteration of option II bounds |G|^2 at theta_{k-1} by the fall of F",
        corrected="it bounds it at theta_md_k",
    ),
)

_LI2019 = (
    Erratum(
        name="li2019-lemma1",
        claim="li2019-lemma1",
        as_printed="restricted strong convexity with lambda_min(Sigma_x)/2 for loss (7)",
        corrected="with lambda_min/4 (for loss (8) the proof gives /8, but data do not refute /4)",
    ),
    Erratum(
        name="li2019-(15)",
        claim="li2019-stat",
        as_printed="f(t) - f(t^) <= sigma_hat eps_stat^2 gives |t-t^|^2 <= eps_stat^2",
        corrected="it gives |t-t^|^2 <= 4 eps_stat^2",
    ),
    Erratum(
        name="li2019-(22)",
        claim="li2019-stat",
        as_printed="f(t) - f(t^) <= sigma_hat eps_stat^2 gives |t-t^| <= eps_stat^2",
        corrected="the left side lacks its square: |t-t^|^2 <= 4 eps_stat^2",
    ),
    Erratum(
        name="li2019-(30)",
        claim="li2019-cor3",
        as_printed="(30), with eta_i and beta_1, gives corollary 3's 8 L D_t^2/(k(k+1))",
        corrected="with gamma_i eta_i and beta_1/2 it does",
    ),
    Erratum(
        name="li2019-(69)",
        claim="li2019-nonconvex",
        as_printed="f(t^)-f(t) <= <grad f(t), t^-t> + (sigma_hat/2)|t-t^|^2 - sigma_hat eps^2",
        corrected=">= in place of <=",
    ),
    Erratum(
        name="li2019-(74)",
        claim="li2019-nonconvex",
        as_printed="64 L delta0/(N_t(N_t+1) 2^t sigma_hat) <= L delta0/2^t",
        corrected="<= delta0/2^t",
    ),
    Erratum(
        name="li2019-(87)",
        claim="li2019-nonconvex",
        as_printed="(85) and (86) give 1200 u L D_t^2/(k+1)^2",
        corrected="they give 1451 (4352/3 at k = 3); harmless",
    ),
    Erratum(
        name="li2019-G.1",
        claim="li2019-nonconvex",
        as_printed="restricted strong convexity replaces the convexity that (45) used between z, y",
        corrected="it holds towards theta_hat only; between two points of C f may curve down",
    ),
)

_WANG2019 = (
    Erratum(
        name="wang2019-5.1-step",
        claim="wang2019-thm1",
        as_printed="the step of section 5.1, 0.05 (SPIDER 0.01), is the theorem's",
        corrected="the theorem's is 1/(2L); with it SpiderBoost keeps 4 L Delta/K",
    ),
    Erratum(
        name="wang2019-5.2-step",
        claim="wang2019-thm2",
        as_printed="the step of section 5.2, 0.05, is the theorem's",
        corrected="the theorem's is 1/(2L); with it Prox-SpiderBoost keeps 20 L Delta/K",
    ),
)

ERRATA: Mapping[str, Erratum] = MappingProxyType(
    {erratum.name: erratum for erratum in (*_SHEN2019, *_QU2018, *_LI2019, *_WANG2019)}
)
"""Every erratum by its name."""
