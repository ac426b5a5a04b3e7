"""Linear minimisation over norm balls: Scion, and Muon and Signum as cases of it.

Notation: d_k = (1 - alpha_k) d_{k-1} + alpha_k grad f(x_k, xi_k); uSCG steps to x + gamma lmo(d),
SCG to x + gamma (lmo(d) - x). lambda_k = d_k - grad f(x_k), u_k = E|lambda_k|_2^2, Delta = f(x_1) -
min f, K iterations, L the smoothness from |.| to |.|_*, L_2 the Euclidean one. The paper was read
in a machine-made copy: a statement that fails as read there is *doubtful*, not wrong.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
