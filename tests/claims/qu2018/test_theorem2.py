"""Theorem 2 and corollary 2: their bound, a verdict, and a fault."""

from pfbench.algorithms.sliding import StochasticNCGS
from pfbench.base.constants import Constants
from pfbench.claims.qu2018 import theorem2

KNOWN = Constants(n=27, D=2.0, L_f=0.5, L_ms=0.5, delta=3.0, sigma2=0.7, M=1.0, ell=0.1)


def test_the_schedule_is_the_least_iterations_of_the_bound():
    epsilon, known = 0.4, (0.5, 0.1, 2.0, 1.0, 1.0, 0.7)
    N = StochasticNCGS.theory(epsilon, KNOWN).iterations
    assert (
        theorem2.stochastic_mapping_bound(*known, N)
        <= epsilon
        < theorem2.stochastic_mapping_bound(*known, N - 1)
    )
