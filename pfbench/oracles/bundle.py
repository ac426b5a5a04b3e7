"""Oracle bundle: an algorithm's only access to a problem."""

from collections.abc import Callable
from functools import cache
from typing import Any, Never

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import unwrap_scalar
from pfbench.base.errors import InputError, NoComponentsError, UndeclaredOracleError
from pfbench.base.protocols import Backend, Gradient, Hessian, Table
from pfbench.base.sample import Indices, as_indices
from pfbench.base.state import Point
from pfbench.oracles.ledger import FO, FV, HVP, LLO, LO, PO, SFO, SSO, Ledger

ORACLES = (
    *("gradient", "batch", "difference", "lo", "value", "prox", "hessian", "table"),
    *("local_lo", "component_smoothness"),
)
"""Oracles that can be queried, by verb."""


class Oracles:
    """Oracles of one run, which check arguments and budget, count calls, and query the backend.

    Parameters
    ----------
    backend
        Source of the answers.
    ledger
        Counts, budget and time limit.
    diameter
        Euclidean diameter of the feasible set.
    form
        Format of points and gradients; with None nothing is checked.

    Attributes
    ----------
    n
        Number of components; a sampler has none.
    D
        Euclidean diameter of the feasible set (infinite if there is none).
    """

    __slots__ = ("D", "_backend", "_checks", "_ledger", "_unconstrained", "n")

    def __init__(self, backend: Backend, ledger: Ledger, diameter: float, form: Any = None) -> None:
        self._backend: Backend = backend if form is None else form.wrap_backend_if_layered(backend)
        self._ledger = ledger
        self._unconstrained = backend.unconstrained
        self._checks = _ArgumentAndAnswerChecks(form)
        self.D = diameter
        if backend.n is not None:
            self.n = backend.n

    def __getattr__(self, name: str) -> Never:
        """Raise an AttributeError for an unknown name, or for `n` if the problem is a sampler."""
        if name == "n":
            raise NoComponentsError(
                "a sampler has no number n of components: draw by ask.sample(rng, size), not by "
                "rng.integers(ask.n, size=size)."
            )
        hint = ": ask.prox(x, g, lam) projects x - lam g" if "proj" in name else ""
        raise AttributeError(f"'Oracles' object has no attribute '{name}'{hint}")

    def sample(self, rng: np.random.Generator, size: int) -> Indices:
        """Return `size` samples; of a finite sum, these are component indices. No call is counted.

        Draws are values: `batch` and `difference` may take the same draws at several points.
        """
        if self._backend.n is None:
            return self._backend.sample(rng, size)
        return rng.integers(self.n, size=size)

    def gradient(self, x: Point) -> Gradient:
        """Return the full gradient at x; count one full gradient and n component gradients."""
        self._checks.check_points("gradient", x)
        g = self._ledger.charge(((SFO, self.n), (FO, 1)), self._backend.gradient, x)
        return self._checks.check_gradient_answer("gradient", g)

    def batch(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of the sampled component gradients at x; count one gradient per draw."""
        sample = as_indices(sample)
        self._checks.check_points("batch", x)
        g = self._ledger.charge(((SFO, len(sample)),), self._backend.batch, sample, x)
        return self._checks.check_gradient_answer("batch", g)

    def difference(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the sample mean of grad f_i(x) - grad f_i(y); count two gradients per draw."""
        sample = as_indices(sample)
        self._checks.check_points("difference", x, y)
        costs = ((SFO, 2 * len(sample)),)
        g = self._ledger.charge(costs, self._backend.difference, sample, x, y)
        return self._checks.check_gradient_answer("difference", g)

    def lo(self, g: Any) -> Point:
        """Return a vertex v of the set that minimises <g, v>; count one linear minimisation."""
        self._checks.check_gradient("lo", g)
        v = self._ledger.charge(((LO, 1),), self._backend.lo, g)
        return self._checks.check_vertex_answer("lo", v)

    def value(self, x: Point) -> float:
        """Return f(x); count the values of n components."""
        self._checks.check_points("value", x)
        number: float = unwrap_scalar(
            "value(x)", self._ledger.charge(((FV, self.n),), self._backend.value, x)
        )
        return number

    def prox(self, x: Point, g: Any, lam: float) -> Point:
        """Return the projection or the proximal map of x - lam g; count one proximal call.

        Without a set and a penalty, the result is x - lam g and no call is counted.
        """
        self._checks.check_points("prox", x)
        self._checks.check_gradient("prox", g)
        if self._unconstrained:
            return x - lam * g
        z = self._ledger.charge(((PO, 1),), self._backend.prox, x, g, lam)
        return self._checks.check_point_answer("prox", z)

    def local_lo(self, x: Point, g: Any, radius: float) -> Point:
        """Return a point z of the set with |z - x| <= radius that minimises <g, z>.

        The norm is the Euclidean one. One local linear minimisation is counted.
        """
        self._checks.check_points("local_lo", x)
        self._checks.check_gradient("local_lo", g)
        z = self._ledger.charge(((LLO, 1),), self._backend.local_lo, x, g, radius)
        return self._checks.check_point_answer("local_lo", z)

    def hessian(self, s: Point) -> "CountedHessian":
        """Return the Hessians of all n components at s as linear operators; count n Hessians."""
        self._checks.check_points("hessian", s)
        hessian = self._ledger.charge(((SSO, self.n),), self._backend.hessian, s)
        return CountedHessian(hessian, self._ledger, self.n, self._checks)

    def table(self, x: Point) -> "CountedSagaTable":
        """Return a table that stores every component gradient at x; count n gradients."""
        self._checks.check_points("table", x)
        table = self._ledger.charge(((SFO, self.n),), self._backend.table, x)
        return CountedSagaTable(table, self._ledger, self._checks)

    def component_smoothness(self) -> Floats:
        """Return a copy of the components' smoothness constants L_i, shape (n,), uncounted.

        Raises
        ------
        InputError
            If they are not n nonnegative numbers, or all are 0.
        """
        L = np.array(self._backend.component_smoothness(), dtype=np.float64)
        if L.shape != (self.n,) or not (np.isfinite(L).all() and L.min() >= 0.0 < L.max()):
            raise InputError(
                f"component_smoothness() must return {self.n} finite numbers L_i >= 0, not all 0: "
                "correct it, or take sampling=uniform."
            )
        return L


class CountedHessian:
    """All component Hessians at one point; their products with differences x - y are counted."""

    __slots__ = ("_checks", "_hessian", "_ledger", "_n")

    def __init__(
        self, hessian: Hessian, ledger: Ledger, n: int, checks: "_ArgumentAndAnswerChecks"
    ) -> None:
        self._hessian = hessian
        self._ledger = ledger
        self._n = n
        self._checks = checks

    def product(self, x: Point, y: Point) -> Gradient:
        """Return the mean of all component Hessians, times x - y; count n products."""
        self._checks.check_points("hessian product", x, y)
        g = self._ledger.charge(((HVP, self._n),), self._hessian.product, x, y)
        return self._checks.check_gradient_answer("hessian product", g)

    def batch(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of the sampled Hessians, times x - y; count one product per draw."""
        sample = as_indices(sample)
        self._checks.check_points("hessian batch", x, y)
        g = self._ledger.charge(((HVP, len(sample)),), self._hessian.batch, sample, x, y)
        return self._checks.check_gradient_answer("hessian batch", g)


class CountedSagaTable:
    """Table of one stored gradient a_i for each component, as in SAGA; calls are counted."""

    __slots__ = ("_checks", "_ledger", "_table")

    def __init__(self, table: Table, ledger: Ledger, checks: "_ArgumentAndAnswerChecks") -> None:
        self._table = table
        self._ledger = ledger
        self._checks = checks

    @property
    def mean(self) -> Gradient:
        """Mean of the stored gradients; no call is counted."""
        return self._table.mean

    def difference(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean over a sample of (grad f_i(x) - a_i); count one gradient per draw."""
        return self._count_and_query("table difference", self._table.difference, sample, x)

    def replace(self, sample: Indices, x: Point) -> Gradient:
        """Return `difference(sample, x)`, then set a_i = grad f_i(x); count a gradient per draw."""
        return self._count_and_query("table replacement", self._table.replace, sample, x)

    def _count_and_query(
        self, verb: str, call: Callable[[Any, Any], Gradient], sample: Indices, x: Point
    ) -> Gradient:
        sample = as_indices(sample)
        self._checks.check_points(verb, x)
        g = self._ledger.charge(((SFO, len(sample)),), call, sample, x)
        return self._checks.check_gradient_answer(verb, g)


class _ArgumentAndAnswerChecks:
    """Checks that arguments and answers of a run's oracles have the problem's format."""

    __slots__ = ("_form", "is_gradient", "is_point")

    def __init__(self, form: Any) -> None:
        self._form: Any = form
        self.is_point: Callable[[Any], bool] = _accept_all if form is None else form.is_point
        self.is_gradient: Callable[[Any], bool] = _accept_all if form is None else form.is_gradient

    def check_points(self, verb: str, *points: Any) -> None:
        """Raise an error if an argument of the oracle `verb` is not a point of the problem."""
        for x in points:
            if not self.is_point(x):
                self._refuse(f"{verb} is queried at", x, "points of the problem", "points")

    def check_gradient(self, verb: str, g: Any) -> None:
        """Raise an error if the argument g of the oracle `verb` is not a gradient."""
        if not self.is_gradient(g):
            self._refuse(f"{verb} is queried for", g, "gradients of the problem", "gradients")

    def check_point_answer(self, verb: str, x: Point) -> Point:
        """Return the answer x of the oracle `verb`; raise an error if it is not a point."""
        if not self.is_point(x):
            self._refuse(f"the problem's {verb} returned", x, "its points", "points")
        return x

    def check_gradient_answer(self, verb: str, g: Gradient) -> Gradient:
        """Return the answer g of the oracle `verb`; raise an error if it is not a gradient."""
        if not self.is_gradient(g):
            self._refuse(f"the problem's {verb} returned", g, "its gradients", "gradients")
        return g

    def check_vertex_answer(self, verb: str, v: Point) -> Point:
        """Return the answer v of the oracle `verb`; raise an error if it is not a vertex."""
        if self._form is not None and not self._form.is_vertex(v):
            self._refuse(f"the problem's {verb} returned", v, "its vertices", "points")
        return v

    def _refuse(self, query_or_answer: str, obj: Any, valid_objects: str, kind: str) -> Never:
        arrays = getattr(self._form, f"{kind}_text")
        raise InputError(
            f"{query_or_answer} {self._form.describe(obj)}, but {valid_objects} must be {arrays}."
        )


def _accept_all(obj: Any) -> bool:
    return True


@cache
def restrict_oracles(verbs: frozenset[str]) -> type[Oracles]:
    """Return a subclass of `Oracles` with the methods `verbs`; all other oracles raise an error."""
    refused = {verb: _make_refusing_verb(verb, verbs) for verb in ORACLES if verb not in verbs}
    return type("Oracles", (Oracles,), {"__slots__": (), "__doc__": Oracles.__doc__, **refused})


def _make_refusing_verb(verb: str, verbs: frozenset[str]) -> Callable[..., Never]:
    allowed = ", ".join(oracle for oracle in ORACLES if oracle in verbs) or "none"

    def refuse(self: Oracles, *args: Any, **keywords: Any) -> Never:
        raise UndeclaredOracleError(
            f"the method queries {verb}, which its `requires` does not name (it names {allowed}): "
            f"add {verb} to `requires`."
        )

    return refuse
