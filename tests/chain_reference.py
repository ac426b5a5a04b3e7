"""The zero chain again, from its definition, as plain NumPy that shares no code with pfbench.

It is written for complex arguments: derivatives are complex steps, exact to rounding.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfc

from pfbench.problems.chain_bounds import CHAIN_BOUNDS
from pfbench.problems.finite_sum_chain import FiniteSumChain
from pfbench.problems.single_component import SimplexNorm
from pfbench.problems.zero_chain import ZeroChain, chain_smoothness, random_directions

STEP = 1e-30

HARD_PROBLEMS = {
    "zero chain": ZeroChain(6, 6),
    "zero chain, longer points": ZeroChain(3, 5),
    "zero chain, random directions": ZeroChain(4, 9, random_directions(9, 4, 1)),
    "zero chain, scaled": ZeroChain(4, 7, random_directions(7, 4, 2), smoothness=3.0, mu=0.6),
    "zero chain of one link": ZeroChain(1, 2),
    "finite-sum chain": FiniteSumChain(5, 0.005),
    "finite-sum chain, scaled": FiniteSumChain(3, 0.04, smoothness=7.0, delta=9.0),
    "finite-sum chain of one link": FiniteSumChain(4, 0.008),
    "simplex norm": SimplexNorm(6),
}


def psi(t):
    inside = np.real(t) > 0.5
    safe = np.where(inside, t, 1.0)
    with np.errstate(under="ignore"):
        return np.where(inside, np.exp(1.0 - 1.0 / (2.0 * safe - 1.0) ** 2), 0.0)


def phi(t):
    """sqrt(e) times the integral of exp(-s^2/2) up to t."""
    return np.sqrt(np.e) * np.sqrt(np.pi / 2.0) * erfc(-np.asarray(t) / np.sqrt(2.0))


def chain_value(y):
    """H_T(y) for rows y of shape (..., T), as shen2019 section 7.1 prints it."""
    before, after = y[..., :-1], y[..., 1:]
    links = psi(-before) * phi(-after) - psi(before) * phi(after)
    return -psi(1.0) * phi(y[..., 0]) + links.sum(axis=-1)


def chain_gradient(y):
    """Shape (T,), by complex steps."""
    return np.imag(chain_value(y + 1j * STEP * np.eye(len(y)))) / STEP


def chain_hessian(y, h=1e-5):
    """Shape (T, T), by differences of the gradient."""
    steps = h * np.eye(len(y))
    columns = [(chain_gradient(y + s) - chain_gradient(y - s)) / (2.0 * h) for s in steps]
    return np.stack(columns, axis=1)


@dataclass
class HardReference:
    """A zero chain, a finite-sum chain or |x|^2, from its definition; derivatives by steps."""

    problem: Any

    def __post_init__(self):
        self.n, self.shape = self.problem.n, (self.problem.d,)
        self.scale = 1.0  # a length over which the problem changes
        if isinstance(self.problem, ZeroChain):
            self.scale = self.problem.mu
        elif isinstance(self.problem, FiniteSumChain):
            self.scale = self.problem.beta

    def point(self, x):
        return x.copy()

    def embedded(self, g):
        return g

    def random(self, rng):
        return self.scale * rng.uniform(-1.7, 1.7, size=self.shape)

    def components(self, x):
        """f_1(x), ..., f_n(x), shape (n,); x may be complex."""
        problem = self.problem
        if isinstance(problem, ZeroChain):
            V, mu = problem.directions, problem.mu
            y = x[: problem.horizon] if V is None else V.T @ x
            factor = problem.L * mu**2 / chain_smoothness()
            return np.array([factor * ((x * x).sum() / mu**2 / 10.0 + chain_value(y / mu))])
        if not isinstance(problem, FiniteSumChain):
            return np.array([(x * x).sum()])
        L, epsilon, ell = problem.smoothness, problem.epsilon, CHAIN_BOUNDS.smoothness_bound
        K = math.floor(problem.delta * L / (24.0 * ell * math.sqrt(self.n) * epsilon**2))
        beta = math.sqrt(2.0) * epsilon * ell / L
        factor = 2.0 * epsilon**2 * ell * math.sqrt(self.n) / L
        return factor * chain_value(x.reshape(self.n, K) / beta)

    def component_gradients(self, x):
        """Shape (n, d), by complex steps."""
        steps = 1j * STEP * np.eye(x.size)
        return np.imag([self.components(x + step) for step in steps]).T / STEP

    def component_hessian_products(self, s, u, h=1e-6):
        """Shape (n, d): each component's Hessian at s times u, by differences of gradients."""
        ends = [self.component_gradients(s + sign * h * u) for sign in (1.0, -1.0)]
        return (ends[0] - ends[1]) / (2.0 * h)
