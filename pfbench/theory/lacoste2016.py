"""The claims of Lacoste-Julien 2016 (THEORY section 4).

Notation: g_t the Frank-Wolfe gap at x_t, C >= C_f the curvature, h0 = f(x_0) - min f.
"""

from pfbench.theory.claim import Claim

_QUADRATICS = "random non-convex quadratics on the simplex with 2 to 6 vertices, from the highest"

CLAIMS = (
    Claim(
        name="lacoste2016-descent",
        source="lacoste2016 (9)",
        kind="bound",
        statement="every step: f(x+) <= f(x) - min{g^2/(2C), g - (C/2) [g > C]}",
        algorithm="frank-wolfe",
        assumptions=("C_f finite",),
        family=_QUADRATICS,
        schedule="step = adaptive (option II) and line-search (option I)",
    ),
    Claim(
        name="lacoste2016-thm1",
        source="lacoste2016 theorem 1, (6) and (15)",
        kind="bound",
        statement=(
            "min over k <= t of g_k <= max{2 h0, C}/sqrt(t+1), and <= h0/(t+1) + C/2 while "
            "t+1 <= 2 h0/C, else sqrt(2 h0 C/(t+1))"
        ),
        algorithm="frank-wolfe",
        assumptions=("C_f finite",),
        family=_QUADRATICS,
        schedule="step = adaptive (option II) and line-search (option I)",
    ),
    Claim(
        name="lacoste2016-rate",
        source="lacoste2016 section 1",
        kind="rate",
        statement="V <= eps after O(1/eps^2) LO and FO",
        algorithm="frank-wolfe",
        assumptions=("C_f finite",),
        family=(
            "the zero chain, T links, eps proportional to 1/sqrt(T) at fixed L, h0 and D, over one "
            "decade of eps and two of calls (it binds); random quadratics on the simplex with 20 "
            "vertices, over two decades of eps"
        ),
        schedule="line-search on the chain; open-loop, adaptive, the best of both on quadratics",
    ),
    Claim(
        name="lacoste2016-affine",
        source="lacoste2016 section 2",
        kind="identity",
        statement="under x = M z + b gaps are equal and x_t = M z_t + b (same C, same ties)",
        algorithm="frank-wolfe",
        family="random non-convex quadratics on the simplex with 5 vertices and their images",
        schedule="step = adaptive, line-search and open-loop, curvature given",
    ),
    Claim(
        name="lacoste2016-local",
        source="lacoste2016 section 3",
        kind="bound",
        statement="f convex on a convex M' in C that holds x_t: g_t >= f(x_t) - min over M' of f",
        algorithm="frank-wolfe",
        assumptions=("f convex on M'",),
        family=(
            "convex quadratics on the simplex and the l1 ball, where M' = C; a double well on a "
            "box, convex near each of its minima"
        ),
        schedule="step = line-search",
    ),
)
