"""Theorem 3 and corollary 3: their bound, a verdict, and a fault."""

from pfbench.algorithms.sliding import NCGSVR
from pfbench.base.constants import Constants
from pfbench.claims.qu2018 import theorem3

KNOWN = Constants(n=27, D=2.0, L_f=0.5, L_ms=0.5, delta=3.0, sigma2=0.7, M=1.0, ell=0.1)


def test_the_schedule_is_the_least_iterations_of_the_bound():
    epsilon, method = 0.4, NCGSVR.theory(0.4, KNOWN)
    T, m = method.iterations, method.period
    assert theorem3.uniform_output_bound(0.5, 3.0, T) <= epsilon
    assert theorem3.uniform_output_bound(0.5, 3.0, T - m) > epsilon
    assert theorem3.component_gradient_count(27, method.batch, m, T) == T // 3 * (27 + 2 * 9 * 3)
