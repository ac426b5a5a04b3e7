"""The bundle of oracles: the only thing that an algorithm sees of a problem."""

from typing import Any

from pfbench.base.protocols import Backend, Gradient, Hessian, Table
from pfbench.base.sample import Indices
from pfbench.base.state import Point
from pfbench.oracles.ledger import FV, HVP, LO, PO, SFO, SSO, Ledger


class Oracles:
    """The oracles of one run: each checks the budget, counts, and asks the backend.

    Attributes
    ----------
    n
        Number of components.
    D
        Euclidean diameter of the feasible set (infinite where there is none).
    """

    __slots__ = ("D", "_backend", "_ledger", "n")

    def __init__(self, backend: Backend, ledger: Ledger, diameter: float) -> None:
        self._backend = backend
        self._ledger = ledger
        self.n = backend.n
        self.D = diameter

    def gradient(self, x: Point) -> Gradient:
        """Return the full gradient at x: 1 FO, n SFO."""
        started = self._ledger.charge_gradient(self.n)
        g = self._backend.gradient(x)
        self._ledger.stop(started)
        return g

    def batch(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of the sampled component gradients at x: len(sample) SFO."""
        started = self._ledger.charge(SFO, len(sample))
        g = self._backend.batch(sample, x)
        self._ledger.stop(started)
        return g

    def difference(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample: 2 len(sample) SFO."""
        started = self._ledger.charge(SFO, 2 * len(sample))
        g = self._backend.difference(sample, x, y)
        self._ledger.stop(started)
        return g

    def value(self, x: Point) -> float:
        """Return f(x): n FV."""
        started = self._ledger.charge(FV, self.n)
        value = self._backend.value(x)
        self._ledger.stop(started)
        return value

    def lo(self, g: Any) -> Point:
        """Return a vertex v that minimises <g, v> over the set: 1 LO."""
        started = self._ledger.charge(LO, 1)
        v = self._backend.lo(g)
        self._ledger.stop(started)
        return v

    def prox(self, x: Point, g: Any, lam: float) -> Point:
        """Return the proximal map (for a set: the projection) of x - lam g: 1 PO."""
        started = self._ledger.charge(PO, 1)
        p = self._backend.prox(x, g, lam)
        self._ledger.stop(started)
        return p

    def hessian(self, s: Point) -> "CountedHessian":
        """Evaluate all component Hessians at s and keep them as operators: n SSO."""
        started = self._ledger.charge(SSO, self.n)
        hessian = self._backend.hessian(s)
        self._ledger.stop(started)
        return CountedHessian(hessian, self._ledger, self.n)

    def table(self, x: Point) -> "CountedTable":
        """Fill a table with every component gradient at x: n SFO."""
        started = self._ledger.charge(SFO, self.n)
        table = self._backend.table(x)
        self._ledger.stop(started)
        return CountedTable(table, self._ledger)


class CountedHessian:
    """The component Hessians at one point, applied to differences of points."""

    __slots__ = ("_hessian", "_ledger", "_n")

    def __init__(self, hessian: Hessian, ledger: Ledger, n: int) -> None:
        self._hessian = hessian
        self._ledger = ledger
        self._n = n

    def product(self, x: Point, y: Point) -> Gradient:
        """Return the mean Hessian times x - y: n HVP."""
        started = self._ledger.charge(HVP, self._n)
        g = self._hessian.product(x, y)
        self._ledger.stop(started)
        return g

    def batch(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of the sampled component Hessians times x - y: len(sample) HVP."""
        started = self._ledger.charge(HVP, len(sample))
        g = self._hessian.batch(sample, x, y)
        self._ledger.stop(started)
        return g


class CountedTable:
    """One stored gradient a_i for each component, as SAGA keeps them."""

    __slots__ = ("_ledger", "_table")

    def __init__(self, table: Table, ledger: Ledger) -> None:
        self._table = table
        self._ledger = ledger

    @property
    def mean(self) -> Gradient:
        """The mean of the stored gradients: no call."""
        return self._table.mean

    def difference(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of grad f_i(x) - a_i over the sample: len(sample) SFO."""
        started = self._ledger.charge(SFO, len(sample))
        g = self._table.difference(sample, x)
        self._ledger.stop(started)
        return g

    def replace(self, sample: Indices, x: Point) -> Gradient:
        """As `difference`, and store grad f_i(x) as the new a_i: len(sample) SFO."""
        started = self._ledger.charge(SFO, len(sample))
        g = self._table.replace(sample, x)
        self._ledger.stop(started)
        return g
