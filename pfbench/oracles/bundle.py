"""The bundle of oracles: the only thing that an algorithm sees of a problem."""

from typing import Any

from pfbench.base.protocols import Backend, Gradient, Hessian, Table
from pfbench.base.sample import Indices
from pfbench.base.state import Point
from pfbench.oracles.ledger import FO, FV, HVP, LO, PO, SFO, SSO, Ledger


class Oracles:
    """The oracles of one run: each checks the budget, counts, and asks the backend.

    The three verbs of the inner loops charge in place while the ledger is quiet: there, one more
    function call would show in the run's time.

    Attributes
    ----------
    n
        Number of components.
    D
        Euclidean diameter of the feasible set (infinite where there is none).
    """

    __slots__ = ("D", "_backend", "_ledger", "_quiet", "_spent", "_unconstrained", "n")

    def __init__(self, backend: Backend, ledger: Ledger, diameter: float) -> None:
        self._backend = backend
        self._ledger = ledger
        self._spent, self._quiet = ledger.spent, ledger.quiet
        self._unconstrained = backend.unconstrained
        self.n = backend.n
        self.D = diameter

    def gradient(self, x: Point) -> Gradient:
        """Return the full gradient at x: 1 FO, n SFO."""
        return self._ledger.ask(((SFO, self.n), (FO, 1)), self._backend.gradient, x)

    def batch(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of the sampled component gradients at x: len(sample) SFO."""
        amount = len(sample)
        total = self._spent[SFO] + amount
        if total <= self._quiet[SFO]:
            self._spent[SFO] = total
            return self._backend.batch(sample, x)
        return self._ledger.ask_often(SFO, amount, self._backend.batch, sample, x)

    def difference(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample: 2 len(sample) SFO."""
        amount = 2 * len(sample)
        total = self._spent[SFO] + amount
        if total <= self._quiet[SFO]:
            self._spent[SFO] = total
            return self._backend.difference(sample, x, y)
        return self._ledger.ask_often(SFO, amount, self._backend.difference, sample, x, y)

    def lo(self, g: Any) -> Point:
        """Return a vertex v that minimises <g, v> over the set: 1 LO."""
        total = self._spent[LO] + 1
        if total <= self._quiet[LO]:
            self._spent[LO] = total
            return self._backend.lo(g)
        return self._ledger.ask_often(LO, 1, self._backend.lo, g)

    def value(self, x: Point) -> float:
        """Return f(x): n FV."""
        return self._ledger.ask(((FV, self.n),), self._backend.value, x)

    def prox(self, x: Point, g: Any, lam: float) -> Point:
        """Return the proximal map (for a set: the projection) of x - lam g: 1 PO.

        Where there is neither a set nor a penalty it is x - lam g and counts nothing.
        """
        if self._unconstrained:
            return x - lam * g
        return self._ledger.ask(((PO, 1),), self._backend.prox, x, g, lam)

    def hessian(self, s: Point) -> "CountedHessian":
        """Evaluate all component Hessians at s and keep them as operators: n SSO."""
        hessian = self._ledger.ask(((SSO, self.n),), self._backend.hessian, s)
        return CountedHessian(hessian, self._ledger, self.n)

    def table(self, x: Point) -> "CountedTable":
        """Fill a table with every component gradient at x: n SFO."""
        table = self._ledger.ask(((SFO, self.n),), self._backend.table, x)
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
        return self._ledger.ask(((HVP, self._n),), self._hessian.product, x, y)

    def batch(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of the sampled component Hessians times x - y: len(sample) HVP."""
        return self._ledger.ask(((HVP, len(sample)),), self._hessian.batch, sample, x, y)


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
        return self._ledger.ask(((SFO, len(sample)),), self._table.difference, sample, x)

    def replace(self, sample: Indices, x: Point) -> Gradient:
        """As `difference`, and store grad f_i(x) as the new a_i: len(sample) SFO."""
        return self._ledger.ask(((SFO, len(sample)),), self._table.replace, sample, x)
