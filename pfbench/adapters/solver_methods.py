"""Solvers of SciPy, scikit-learn and copt as algorithms.

Of copt, only the solvers that call Python functions are supported, not the compiled ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, FlatOracles, Tell, import_optional_library
from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, nonnegative, one_of_values, parameter, positive

_VALUES = ("Nelder-Mead", "Powell")
_GRADIENTS = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")
_HESSIANS = ("Newton-CG", "trust-ncg", "trust-krylov")


@dataclass(frozen=True, kw_only=True)
class ScipyMinimize(BlackBox):
    """Method of `scipy.optimize.minimize`, run as an algorithm; calls are counted outside SciPy.

    A value counts n FV, a gradient 1 FO and n SFO, and a Hessian product n HVP (and n SSO if its
    point is new). So FV is n times scipy's `nfev`, and SFO is n times scipy's `njev`.
    """

    name = "scipy-minimize"
    summary = "scipy.optimize.minimize, a black box"
    source = "Virtanen et al. 2020, SciPy"
    counts = "FV n nfev, FO njev, SFO n njev"
    libraries = ("scipy",)
    requires = frozenset({"gradient", "smooth", "value"})
    deterministic = True

    method: str = one_of_values("L-BFGS-B", "a method", (*_VALUES, *_GRADIENTS, *_HESSIANS))
    iterations: int | None = integer(None, "maximum number; scipy's default if not given")
    tolerance: float | None = parameter(None, "scipy's tol")
    options: Mapping[str, Any] | None = parameter(None, "further options of the method")

    @property
    def asks(self) -> frozenset[str]:
        """Names of the oracles that the method queries."""
        if self.method in _VALUES:
            return self.requires - {"gradient"}
        return self.requires | ({"hessian"} if self.method in _HESSIANS else set())

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """Run the method from `oracles.start`, and report each iterate by calling `tell`."""
        options = dict(self.options or {})
        if self.iterations is not None:
            options |= {"maxfun" if self.method == "TNC" else "maxiter": self.iterations}
        further: dict[str, Any] = {}
        if self.method not in _VALUES:
            further["jac"] = oracles.gradient
        if self.method in _HESSIANS:
            further["hessp"] = oracles.hessian_product()
        minimize = import_optional_library("scipy.optimize").minimize(
            oracles.value,
            oracles.start,
            method=self.method,
            tol=self.tolerance,
            callback=tell,
            options=options,
            **further,
        )
        return np.asarray(minimize.x)


@dataclass(frozen=True, kw_only=True)
class PartialFit(BlackBox):
    """Estimator of scikit-learn that is fitted to a few random rows at a time.

    Its compiled loops read the data directly, so no oracle sees their computations. A call of
    `partial_fit` computes one gradient for each row. pfbench queries the same gradients from the
    oracles, which count them and check the budget, and discards the answers. The method `fit` is
    not used: it reports only the number of passes, in `n_iter_`. A pass takes n gradients in SAG
    and SAGA, and an unknown number in other solvers.

    Parameters
    ----------
    estimator
        Function that returns a new estimator for each run. The estimator needs
        ``fit_intercept=False`` and ``shuffle=False``, so that its coefficients are the point, and
        the loss and penalty of f.
    features, labels
        The data of the problem: row i is that of f_i.
    iterations
        T.
    batch
        S, the number of rows in each call of `partial_fit`, which makes one step for each row.
    """

    name = "partial-fit"
    summary = "a scikit-learn estimator by partial_fit, a black box"
    source = "Pedregosa et al. 2011, scikit-learn"
    counts = "T iterations: SFO ST"
    libraries = ("scikit-learn",)
    requires = frozenset({"batch", "smooth"})

    estimator: Callable[[], Any] = parameter(MISSING, "makes the estimator", repr=False)
    features: Any = parameter(MISSING, "its features", repr=False)
    labels: Any = parameter(MISSING, "its labels", repr=False)
    iterations: int = integer(MISSING, "T")
    batch: int = integer(1, "S")

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> None:
        """Fit the estimator from coefficients 0, and report each iterate by calling `tell`."""
        if not callable(self.estimator):
            raise InputError("estimator must be a function that returns a new estimator.")
        model = self.estimator()
        if not hasattr(model, "partial_fit"):
            raise InputError(
                f"{type(model).__name__} has no partial_fit: give an estimator that has it, such "
                "as SGDClassifier."
            )
        if getattr(model, "fit_intercept", False):
            raise InputError("the points have no entry for an intercept: set fit_intercept=False.")
        if oracles.start.any():
            raise InputError("partial_fit always starts at 0: choose a problem whose start is 0.")
        sparse = hasattr(self.features, "tocsr")
        features = self.features.tocsr() if sparse else np.asarray(self.features)
        labels = np.asarray(self.labels)
        classes = (
            {"classes": np.unique(labels)}
            if hasattr(model, "predict_proba") or hasattr(model, "decision_function")
            else {}
        )
        z = oracles.start
        for _ in range(self.iterations):
            S = rng.integers(oracles.n, size=self.batch)
            oracles.batch(S, z)
            model.partial_fit(features[S], labels[S], **classes)
            z = np.ravel(model.coef_)
            tell(z)


@dataclass(frozen=True, kw_only=True)
class CoptFrankWolfe(BlackBox):
    """Algorithm `copt.minimize_frank_wolfe` in its default variant, which copt calls vanilla.

    Each iteration takes one gradient and one linear minimisation; the last iterate takes one more
    gradient. Backtracking takes another gradient for each further trial point. Function values are
    counted only if the solver reads them.
    """

    name = "copt-frank-wolfe"
    summary = "copt's Frank-Wolfe, a black box"
    source = "Pedregosa, Negiar, Askari, Jaggi 2020; copt"
    counts = "T iterations, step DR or sublinear: FO T+1, SFO n(T+1), LO T"
    libraries = ("copt",)
    requires = frozenset({"gradient", "lo"})
    deterministic = True

    iterations: int = integer(MISSING, "T")
    step: str = one_of_values(
        "DR", "DR (Demyanov-Rubinov), ...", ("DR", "backtracking", "sublinear")
    )
    smoothness: float = positive(MISSING, "L; with step=backtracking, its first estimate")
    tolerance: float = nonnegative(0.0, "Frank-Wolfe gap at which the run ends")

    @property
    def asks(self) -> frozenset[str]:
        """Names of the oracles that the step rule queries."""
        return self.requires | ({"value"} if self.step == "backtracking" else set())

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """Run the solver from `oracles.start`, and report each iterate by calling `tell`."""
        reported = -1

        def callback(results: dict[str, Any]) -> None:
            # It is also called at the end, where there is no new iterate.
            nonlocal reported
            if results["it"] > reported and results["certificate"] > self.tolerance:
                reported = results["it"]
                tell(results["x"] + results["step_size"] * results["update_direction"])

        minimize_frank_wolfe = import_optional_library("copt").minimize_frank_wolfe(
            oracles.value_and_gradient,
            oracles.start,
            oracles.lmo,
            jac=True,
            step=self.step,
            lipschitz=self.smoothness,
            max_iter=self.iterations,
            tol=self.tolerance,
            callback=callback,
        )
        return np.asarray(minimize_frank_wolfe.x)


@dataclass(frozen=True, kw_only=True)
class CoptProximalGradient(BlackBox):
    """Algorithm `copt.minimize_proximal_gradient` with a fixed step, for a penalty or a set."""

    name = "copt-proximal-gradient"
    summary = "copt's proximal gradient, a black box"
    source = "Beck, Teboulle 2009; copt"
    counts = "T iterations: FO T+1, SFO n(T+1), PO T"
    libraries = ("copt",)
    requires = frozenset({"gradient", "prox"})
    deterministic = True

    iterations: int = integer(MISSING, "T")
    step: float = positive(MISSING, "length of a step")

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """Run the solver from `oracles.start`, and report each iterate by calling `tell`."""

        def callback(results: dict[str, Any]) -> None:
            if results["n_iterations"] > 0:
                tell(results["x"])

        minimize_proximal_gradient = import_optional_library("copt").minimize_proximal_gradient(
            oracles.value_and_gradient,
            oracles.start,
            oracles.prox,
            jac=True,
            step=lambda result: self.step,
            max_iter=self.iterations - 1,  # copt makes one more
            tol=0.0,
            callback=callback,
        )
        return np.asarray(minimize_proximal_gradient.x)
