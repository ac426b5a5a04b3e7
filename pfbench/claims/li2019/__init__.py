"""Conditional gradient sliding with restarts, and its stochastic form STORC.

Notation: theta_hat the minimiser over C, L the smoothness, sigma_hat the effective strong
convexity, eps_stat the statistical error, N_t = ceil(8 sqrt(L/sigma_hat)),
delta0 >= f(theta_0) - f(theta_hat), D_t^2 = 4 delta0 2^-t/sigma_hat, D the diameter of C,
t = 1, 2, ... the outer iteration and k = 1 .. N_t the inner one.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
