"""The zero chain again, from its definition, as plain NumPy that shares no code with pfbench.

It is written for complex arguments: derivatives are complex steps, exact to rounding.
"""

import numpy as np
from scipy.special import erfc

STEP = 1e-30


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
