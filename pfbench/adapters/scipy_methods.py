"""Methods of `scipy.optimize.minimize` as algorithms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, Tell, import_optional_library
from pfbench.adapters.flat_oracles import FlatOracles
from pfbench.base.arrays import Floats
from pfbench.base.parameters import integer, one_of_values, parameter

_VALUES = ("Nelder-Mead", "Powell")
_GRADIENTS = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")
_HESSIANS = ("Newton-CG", "trust-ncg", "trust-krylov")


@dataclass(frozen=True, kw_only=True)
class ScipyMinimize(BlackBox):
    """Method of `scipy.optimize.minimize`, with calls counted outside scipy.

    A value counts n FV, a gradient 1 FO and n SFO, a Hessian product n HVP (and n SSO if its point
    is new). So FV is n times scipy's `nfev`, and SFO is n times its `njev`.
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
        """Oracles that the method queries."""
        if self.method in _VALUES:
            return self.requires - {"gradient"}
        return self.requires | ({"hessian"} if self.method in _HESSIANS else set())

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """Run the method from `oracles.start`."""
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
