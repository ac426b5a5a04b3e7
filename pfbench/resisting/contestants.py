"""Algorithms that can run against the resisting oracle, and their default parameters."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from pfbench.algorithms.base import Algorithm as CatalogueAlgorithm
from pfbench.algorithms.base import get_parameters
from pfbench.algorithms.catalogue import ALGORITHMS, algorithm
from pfbench.algorithms.frank_wolfe import STEPS
from pfbench.algorithms.nfwu import NFWU, LooplessNFWU
from pfbench.algorithms.proximal import ProximalMethod
from pfbench.algorithms.sliding import CGS, SlidingMethod
from pfbench.base import user_code
from pfbench.base.checks import check_integer
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.protocols import Algorithm
from pfbench.base.selectors import Selector
from pfbench.problems.zero_chain import GAP, ZeroChain, chain_smoothness
from pfbench.runs.loop.steps import random_stream

AVAILABLE_ORACLES = frozenset({"gradient", "batch", "difference", "value", "lo", "prox", "set"})
"""Oracles that the resisting oracle answers: all of first order."""

_NEEDED = ("name", "requires", "deterministic", "run")
"""Attributes that a user-defined algorithm must have."""


@dataclass(frozen=True)
class Contestant:
    """Algorithm with all its parameters set, and the selector that rebuilds it.

    Attributes
    ----------
    algorithm
        The algorithm.
    selector
        Catalogue name and all explicit parameters, or MODULE:NAME and its parameters.
    label
        The selector as originally written.
    fixed_seed
        Fixed seed of a randomised algorithm; None for a deterministic one.
    """

    algorithm: Algorithm
    selector: str
    label: str
    fixed_seed: int | None = None

    def random_stream(self, seed: int) -> np.random.Generator:
        """Return the algorithm's random stream: that of the fixed seed, or else that of `seed`."""
        return random_stream(seed if self.fixed_seed is None else self.fixed_seed, "algorithm")


def make_contestant(
    text: str, problem: ZeroChain, iterations: int | None = None, fixed_seed: int | None = None
) -> Contestant:
    """Return the selected algorithm with all parameters set, for a run with the resisting oracle.

    Missing parameters get these values:

    - `iterations`: the argument below; for cgs, `period` gets it (one run without restarts)
    - `smoothness`: the certified constant
    - of NFWU: the theorem's step eps/(L D) for eps = 0.04, batch 1, period 1 and alpha 1/2
    - of cgs: D_t = D
    - of projected methods: step 1/L

    Parameters
    ----------
    text
        ``"frank-wolfe[step=open-loop]"``, or MODULE:NAME with parameters.
    problem
        The problem, for its constants.
    iterations
        Number of iterations; by default the horizon T.
    fixed_seed
        Fixes the random numbers of a randomised algorithm: the certificate is about that seed, and
        says nothing about its mean over seeds.

    Raises
    ------
    InputError
        If a name or a parameter is unknown or out of range.
    RefusedError
        If the theorem does not cover this algorithm.
    """
    selector = Selector.parse(text)
    T = problem.horizon
    if iterations is not None:
        T = check_integer("iterations", iterations, minimum=1)
    if fixed_seed is not None:
        check_integer("fixed_seed", fixed_seed, minimum=0)
    if ":" in selector.name:
        named = _set_iterations(selector, T)
        user_algorithm = user_code.load_user_algorithm(named, _NEEDED)
    else:
        algorithm(selector.name, **selector.parameters)  # refuses unknown names
        _check_randomness(ALGORITHMS[selector.name], fixed_seed)
        user_algorithm = _catalogue_algorithm(selector, problem, T)
        parameters = get_parameters(user_algorithm).items()
        named = Selector(selector.name, {k: v for k, v in parameters if v is not None})
    check_contestant(user_algorithm, fixed_seed)
    if getattr(user_algorithm, "runs_until_stopped", False):
        raise InputError(f"{user_algorithm.name} has no stopping rule: set iterations.")
    return Contestant(user_algorithm, str(named), text.strip(), fixed_seed)


def list_contestants() -> list[str]:
    """Return the selectors of all catalogue algorithms to which the lower bound applies.

    These are Frank-Wolfe with each step rule, NCGS with both options, CGS, and some NFWU methods.
    Such an NFWU method uses only gradients and flips no coin; with n = 1 it draws no random
    numbers.
    """
    nfwu = {name: cls for name, cls in ALGORITHMS.items() if _draws_components_only(cls)}
    first_order = [name for name, cls in nfwu.items() if cls.requires <= AVAILABLE_ORACLES]
    steps = [f"frank-wolfe[step={step}]" for step in STEPS]
    return [*steps, *first_order, "ncgs[option=1]", "ncgs[option=2]", "cgs"]


def check_contestant(algorithm: Algorithm, fixed_seed: int | None = None) -> None:
    """Raise an error if theorem 5.1 of shen2019, a lower bound, does not cover the algorithm.

    Raises
    ------
    InputError
        If it is deterministic, but a seed is fixed.
    RefusedError
        If it is randomised and no seed is fixed, or it queries more than values, gradients, LO and
        projections over a set.
    """
    _check_randomness(algorithm, fixed_seed)
    for verb in sorted(getattr(algorithm, "asks", algorithm.requires) - AVAILABLE_ORACLES):
        raise RefusedError(
            f"{algorithm.name} queries {verb}, but theorem 5.1 of shen2019 holds for first-order "
            "methods that stay in a set: choose a method that queries only gradients, values and "
            "LO, such as scg in place of uscg, with a fixed seed (--fixed-seed 0)."
        )


def _check_randomness(method: Any, fixed_seed: int | None) -> None:
    """Raise an error for a randomised method without a fixed seed, or a deterministic one with it.

    `method` is an algorithm, or the class of one.
    """
    kind: Any = method if isinstance(method, type) else type(method)
    draws_output = isinstance(method, NFWU) and method.run_count > 1
    is_random = draws_output or not (kind.deterministic or _draws_components_only(kind))
    if fixed_seed is None and is_random:
        raise RefusedError(
            f"{method.name} is randomised (as is each method with restarts), but theorem 5.1 of "
            "shen2019 holds for deterministic algorithms only: choose a deterministic one, or fix "
            "the seed (--fixed-seed 0)."
        )
    if fixed_seed is not None and kind.deterministic:
        raise InputError(f"{method.name} is deterministic: leave out the fixed seed.")


def _draws_components_only(kind: type) -> bool:
    """Return whether a method draws no random numbers except component indices.

    This is so for the NFWU methods without a coin. With n = 1 they are deterministic.
    """
    return issubclass(kind, NFWU) and not issubclass(kind, LooplessNFWU)


def _catalogue_algorithm(selector: Selector, problem: ZeroChain, T: int) -> Algorithm:
    cls = ALGORITHMS[selector.name]
    constants = problem.constants(problem.start())
    parameters = dict(selector.parameters)
    if "epsilon" not in parameters:
        parameters = _parameters_with_test_values(cls, T, problem.mu, constants) | parameters
    return algorithm(selector.name, **parameters).resolve(constants)[0]


def _parameters_with_test_values(
    cls: type[CatalogueAlgorithm], T: int, mu: float, constants: Constants
) -> dict[str, Any]:
    L, D = constants.L_f, constants.D
    results: dict[str, Any]
    if issubclass(cls, CGS):
        # D_t^2 = 4 delta 2^-t/sigma_hat is D^2 in the only run, t = 1.
        results = {"period": T, "smoothness": L, "curvature": 1.0, "delta": D * D / 2.0}
    elif issubclass(cls, NFWU):
        # eps/(L D) of the unscaled chain; it is the same after scaling.
        weight = GAP * mu / (chain_smoothness() * D)
        results = {"iterations": T, "step": weight, "batch": 1, "period": 1, "alpha": 0.5}
    elif issubclass(cls, SlidingMethod):
        results = {"iterations": T, "smoothness": L}
    elif issubclass(cls, ProximalMethod):
        results = {"iterations": T, "step": 1.0 / L}
    else:
        results = {"iterations": T}
    return {name: value for name, value in results.items() if name in cls.parameters()}


# --- user-defined algorithms ----------------------------------------------------------------------


def _set_iterations(selector: Selector, T: int) -> Selector:
    """Return the selector with `iterations` set to T, unless it is set already or not allowed."""
    data = user_code.load_user_object(selector.name)
    declared = fields(data) if isinstance(data, type) and is_dataclass(data) else ()
    if "iterations" in {field.name for field in declared}:
        return Selector(selector.name, {"iterations": T} | dict(selector.parameters))
    return selector
