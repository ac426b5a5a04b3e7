"""Solvers of SciPy, scikit-learn and copt, and optimisers of PyTorch, as algorithms.

Of copt, only the solvers that call Python functions are supported, not the compiled ones.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, FlatOracles, Tell, import_optional_library
from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.names import find_entry
from pfbench.base.parameters import integer, nonnegative, one_of_values, parameter, positive
from pfbench.base.user_code import load_user_object

_VALUES = ("Nelder-Mead", "Powell")
_GRADIENTS = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")


@dataclass(frozen=True, kw_only=True)
class ScipyMinimize(BlackBox):
    """Method of `scipy.optimize.minimize`, run as an algorithm; calls are counted outside SciPy.

    A value counts n FV, and a gradient 1 FO and n SFO. So FV is n times scipy's `nfev`, and SFO is
    n times scipy's `njev`.
    """

    name = "scipy-minimize"
    summary = "scipy.optimize.minimize, a black box"
    source = "Virtanen et al. 2020, SciPy"
    counts = "FV n nfev, FO njev, SFO n njev"
    libraries = ("scipy",)
    requires = frozenset({"gradient", "smooth", "value"})
    deterministic = True

    method: str = one_of_values("L-BFGS-B", "a method", (*_VALUES, *_GRADIENTS))
    iterations: int | None = integer(None, "maximum number; scipy's default if not given")
    tolerance: float | None = parameter(None, "scipy's tol")
    options: Mapping[str, Any] | None = parameter(None, "further options of the method")

    @property
    def asks(self) -> frozenset[str]:
        """Names of the oracles that the method queries."""
        return self.requires - ({"gradient"} if self.method in _VALUES else set())

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """Run the method from `oracles.start`, and report each iterate by calling `tell`."""
        options = dict(self.options or {})
        if self.iterations is not None:
            options |= {"maxfun" if self.method == "TNC" else "maxiter": self.iterations}
        result = import_optional_library("scipy.optimize").minimize(
            oracles.value,
            oracles.start,
            method=self.method,
            jac=None if self.method in _VALUES else oracles.gradient,
            tol=self.tolerance,
            callback=tell,
            options=options,
        )
        return np.asarray(result.x)


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
        The data of the problem, an array or a sparse CSR array, and an array: row i is that of f_i.
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
        model = self.estimator()
        fit_rows = model.partial_fit
        if getattr(model, "fit_intercept", False):
            raise InputError("the points have no entry for an intercept: set fit_intercept=False.")
        if oracles.start.any():
            raise InputError("partial_fit always starts at 0: choose a problem whose start is 0.")
        labels = np.asarray(self.labels)
        classes = {"classes": np.unique(labels)} if hasattr(model, "decision_function") else {}
        z = oracles.start
        for _ in range(self.iterations):
            S = rng.integers(oracles.n, size=self.batch)
            oracles.batch(S, z)
            fit_rows(self.features[S], labels[S], **classes)
            z = np.ravel(model.coef_)
            tell(z)


@dataclass(frozen=True, kw_only=True)
class CoptFrankWolfe(BlackBox):
    """Algorithm `copt.minimize_frank_wolfe` in its default variant, which copt calls vanilla.

    Each iteration takes one gradient and one linear minimisation; the last iterate takes one more
    gradient. Backtracking takes another gradient for each further trial point, and as many values.
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

        def value_and_gradient(z: Any) -> tuple[float, Floats]:
            # Only backtracking reads the value.
            value = oracles.value(z) if self.step == "backtracking" else np.nan
            return value, oracles.gradient(z)

        result = import_optional_library("copt").minimize_frank_wolfe(
            value_and_gradient,
            oracles.start,
            oracles.lmo,
            jac=True,
            step=self.step,
            lipschitz=self.smoothness,
            max_iter=self.iterations,
            tol=self.tolerance,
            callback=callback,
        )
        return np.asarray(result.x)


@dataclass(frozen=True, kw_only=True)
class TorchOptimizer(BlackBox):
    """Optimiser of `torch.optim`, or with the same interface, run in double precision.

    Its parameters are the layers of a point, or one array in the shape of a point. Each call of
    its closure computes one gradient, or the mean of a batch of S component gradients. If `step`
    requires a closure, as that of LBFGS, and gradients are full, the closure queries and returns
    the function value, too. A class whose `step` does not call its closure gets one gradient before
    each step.
    """

    name = "torch-optimizer"
    summary = "an optimiser of torch.optim, a black box"
    source = "Paszke et al. 2019, PyTorch"
    counts = "T iterations of all but LBFGS: SFO ST, or FO T and SFO nT"
    libraries = ("torch",)
    requires = frozenset({"smooth"})

    iterations: int = integer(MISSING, "T, the number of steps")
    step: float = positive(MISSING, "lr")
    optimizer: Any = parameter("SGD", "name of a class of torch.optim, FILE.py:NAME, or a class")
    batch: int | None = integer(None, "batch size S; full gradients if not given")
    options: Mapping[str, Any] | None = parameter(None, "further arguments of the class")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            self.batch is not None
            and getattr(self.optimizer, "__name__", self.optimizer) == "LBFGS"
        ):
            raise InputError("LBFGS needs values of f over all components: leave batch out.")

    @property
    def _reads_values(self) -> bool:
        if self.batch is not None or self.optimizer == "LBFGS":
            return self.batch is None
        kind = self._load_user_class()
        closure = inspect.signature(kind.step).parameters.get("closure") if kind else None
        return closure is not None and closure.default is closure.empty

    def _load_user_class(self) -> Any:
        """Return the class if `optimizer` is a class or refers to user-defined code, else None."""
        if isinstance(self.optimizer, str) and ":" in self.optimizer:
            return load_user_object(self.optimizer)
        return self.optimizer if isinstance(self.optimizer, type) else None

    @property
    def asks(self) -> frozenset[str]:
        """Names of the oracles that the optimiser's closure queries."""
        gradients = "gradient" if self.batch is None else "batch"
        return self.requires | {gradients} | ({"value"} if self._reads_values else set())

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> None:
        """Run the optimiser from `oracles.start`, and report each iterate by calling `tell`."""
        torch = import_optional_library("torch", '"pfbench[torch]"')
        kinds = {name: var for name, var in vars(torch.optim).items() if isinstance(var, type)}
        data = self._load_user_class() or find_entry(
            "optimiser of torch.optim", self.optimizer, kinds
        )
        reads_values = self._reads_values
        # In the shapes of the layers: Muon takes matrices alone.
        parameters = [
            torch.tensor(layer, dtype=torch.float64, requires_grad=True)
            for layer in oracles.layers(oracles.start)
        ]
        calls = 0

        def read_parameters() -> Floats:
            return np.concatenate([p.detach().numpy().ravel() for p in parameters])

        def closure() -> Any:
            nonlocal calls
            calls += 1
            z = read_parameters()
            if self.batch is None:
                g = oracles.gradient(z)
            else:
                g = oracles.batch(oracles.sample(rng, self.batch), z)
            for p, layer in zip(parameters, oracles.layers(g), strict=True):
                p.grad = torch.from_numpy(layer)
            return oracles.value(z) if reads_values else None

        def make_step() -> Callable[..., Any]:
            step: Callable[..., Any] = data(
                parameters, lr=self.step, **dict(self.options or {})
            ).step
            return step

        step = make_step()
        takes_closure = bool(inspect.signature(step).parameters)
        for t in range(self.iterations):
            if takes_closure:
                step(closure)
            if t == 0 and not calls:  # It reads p.grad alone, which was not set: begin again.
                takes_closure, step = False, make_step()
                with torch.no_grad():
                    for p, layer in zip(parameters, oracles.layers(oracles.start), strict=True):
                        p.copy_(torch.from_numpy(layer))
            if not takes_closure:
                closure()
                step()
            tell(read_parameters())
