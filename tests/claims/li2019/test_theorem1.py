"""li2019 theorem 1: the bounds of its calls."""

from math import ceil, sqrt

from pfbench.claims.li2019.theorem1 import lo_first_term, lo_second_term


def test_the_bound_of_lo_is_the_sum_over_all_inner_loops():
    L, D, sigma, delta0, T = 2.0, 1.5, 0.04, 0.7, 5
    N, total = ceil(8 * sqrt(L / sigma)), 0.0
    for t in range(1, T + 1):
        for k in range(1, N + 1):
            eta = 8 * L * delta0 / 2**t / (sigma * N * k)
            total += 6 * D**2 * (3 * L / k) / eta  # qu2018-condg-count without its 1 + ceil
    claimed = lo_first_term(L, D, sigma, delta0, T) + lo_second_term(L, sigma, T)
    # The geometric sum 2 + 4 + ... + 2^T is bounded by 2 2^T.
    assert total + 2 * N * T <= claimed <= total * 2**T / (2**T - 1) + 2 * N * T + 1e-6
