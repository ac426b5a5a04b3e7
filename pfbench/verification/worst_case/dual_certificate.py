"""Dual certificates: proofs, from the solver's multipliers, that no function is worse.

Let G be the Gram matrix of the vectors of a program, F its function values. Each inequality of the
class is e(G, F) <= 0 with e affine, as is each measure m. Multipliers l >= 0 and weights w >= 0 of
sum 1 with

    sum_k w_k m_k(G, F) = bound + sum_c l_c e_c(G, F) - <S, G>

for all G and F, and S positive semidefinite, prove that the least of the measures is at most the
bound, as the other terms are at most 0. The identity can be checked without a solver.

References
----------
Goujaud, Dieuleveut, Taylor, On fundamental proof structures in first-order optimization, CDC 2023.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats

NEGLIGIBLE = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
"""Tried fractions of the largest multiplier below which others are left out; see `SLACK`."""

SLACK = 1e-8
"""Largest slack of a certificate, relative to the bound."""

ROUNDING = 1e-6
"""Relative increase of the bound that leaving out multipliers may cause."""

MEASURE, CONDITION = "measure", "condition"
"""Kinds of terms that are no inequality of a class: measures, and added constraints."""

FORMS: Mapping[str, str] = {
    "smoothness_convexity": "f(j) + <g(j), x(i) - x(j)> + |g(i) - g(j)|^2/(2L) <= f(i)",
    "smoothness": "f(j) - L|x(i) - x(j)|^2/4 + <g(i) + g(j), x(i) - x(j)>/2 "
    "+ |g(i) - g(j)|^2/(4L) <= f(i)",
    "convexity": "<g(j), x(i) - x(j)> <= 0",
    "diameter": "|x(i) - x(j)|^2 <= D^2",
    "value": "f(i) = 0",
}
"""The inequalities of classes by their names in PEPit; for a set, f is its indicator."""

EQUATIONS = frozenset({"value"})
"""Equations, each at one point, whose multipliers may have either sign."""

Affine = tuple[Floats, Floats, float]
"""The matrix, the vector and the constant of <M, G> + <v, F> + k."""


@dataclass(frozen=True)
class CertificateTerm:
    """An inequality, a condition or a measure, with its multiplier.

    Attributes
    ----------
    kind
        One of `FORMS`, `CONDITION` or `MEASURE`.
    multiplier
        The multiplier; at least 0 except for an equation.
    function, points
        Index of the function, and indices of its points; empty for conditions and measures.
    gram, values, constant
        Coefficients of the affine function that is at most 0, or that is measured.
    """

    kind: str
    multiplier: float
    function: int
    points: tuple[int, ...]
    gram: Floats
    values: Floats
    constant: float

    @property
    def sign(self) -> float:
        """Sign with which the term enters the remainder."""
        return -1.0 if self.kind == MEASURE else 1.0

    def as_json(self) -> dict[str, Any]:
        """Return the JSON record, with the nonzero coefficients of <v_i, v_j>, i <= j, and f."""
        return {
            "kind": self.kind,
            "multiplier": self.multiplier,
            "function": self.function if self.points else None,
            "at": list(self.points),
            "gram": [
                [i, j, float(self.gram[i, j] * (1 + (i < j)))]
                for i, j in np.argwhere(np.triu(self.gram)).tolist()
            ],
            "values": [[i, float(self.values[i])] for i in np.flatnonzero(self.values).tolist()],
            "constant": self.constant,
        }


@dataclass(frozen=True)
class DualCertificate:
    """Dual certificate of an upper bound on a worst case.

    Attributes
    ----------
    terms
        The measures with their weights, then the inequalities with their multipliers.
    points
        For each function its points: x and g as coefficients of the vectors, f of the values; the
            last entry of f is a constant.
    """

    terms: Sequence[CertificateTerm]
    points: Sequence[Sequence[tuple[Floats, Floats, Floats]]]

    @property
    def bound(self) -> float:
        """Bound that the certificate proves if it has no slack."""
        return -sum(term.sign * term.multiplier * term.constant for term in self.terms)

    @property
    def remainder(self) -> Floats:
        """The matrix S, which must be positive semidefinite."""
        parts = [term.sign * term.multiplier * term.gram for term in self.terms]
        return np.asarray(np.sum(parts, axis=0))

    @property
    def slack(self) -> tuple[float, float]:
        """Violation of S >= 0 by its least eigenvalue, and the largest residual of the values."""
        left = np.sum([term.sign * term.multiplier * term.values for term in self.terms], axis=0)
        lower = float(np.linalg.eigvalsh(self.remainder)[0]) if self.remainder.size else 0.0
        return max(0.0, -lower), float(np.max(np.abs(left), initial=0.0))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON record of the certificate."""
        short, left = self.slack
        return {
            "bound": self.bound,
            "slack": {"eigenvalue": short, "values": left},
            "terms": [term.as_json() for term in self.terms],
            "points": [
                [[part.tolist() for part in point] for point in source] for source in self.points
            ],
        }

    def lines(self) -> Iterator[str]:
        """Yield the certified identity as text, a line for each term."""
        short, left = self.slack
        yield f"{self.bound:.6g} - measured = <S, G> + the sum of (right - left) sides"
        for term in self.terms:
            if term.kind != MEASURE:
                yield f"  {term.multiplier:.6g} x ({_format_term(term, self.points)})"
        yield f"S is positive semidefinite up to {short:.1g}; the values cancel up to {left:.1g}"


def _format_term(
    term: CertificateTerm, points: Sequence[Sequence[tuple[Floats, Floats, Floats]]]
) -> str:
    if term.kind == CONDITION:
        return _format_condition(term, points[0])
    form = FORMS.get(term.kind, term.kind)
    for letter, number in zip("ij", term.points, strict=False):
        form = form.replace(f"({letter})", f"({number})")
    return form.replace("f(", f"f_{term.function}(") if len(points) > 1 else form


def _format_condition(
    term: CertificateTerm, points: Sequence[tuple[Floats, Floats, Floats]]
) -> str:
    """Return the condition on the start as a formula, with the index of its lowest point."""
    lowest = next((k for k, (_, _, f) in enumerate(points) if f[:-1] @ term.values < 0.0), None)
    if not term.values.any():
        return "|g(0)|^2/(2L) <= delta"
    if lowest is None:
        return "f(0) - min f <= delta"
    slope = f" + |g({lowest})|^2/(2L)" if term.gram.any() else ""
    return f"f(0) - f({lowest}){slope} <= delta"


def extract_proof(
    problem: Any, measures: Sequence[Any], functions: Sequence[Any]
) -> DualCertificate:
    """Return the dual certificate of a solved program.

    Parameters
    ----------
    problem
        The solved program of PEPit.
    measures
        The expressions whose least value was maximised.
    functions
        The functions of the class and the indicator of the set.
    """
    # The first multiplier is that of the Gram matrix; then come those of the measures, of which
    # PEPit makes the constraints itself, before all others.
    _, *weights = problem.wrapper.get_dual_variables()[0]
    raw: list[tuple[str, int, tuple[int, ...], Any, Any]] = [
        *(
            (MEASURE, 0, (), measure, weight)
            for measure, weight in zip(measures, weights, strict=False)
        ),
        *(
            (CONDITION, 0, (), item.expression, item.eval_dual())
            for item in problem.list_of_constraints
        ),
    ]
    for number, function in enumerate(functions):
        for kind, table in function.tables_of_constraints.items():
            ndenumerate = np.ndenumerate(table.to_numpy())
            for point, other_item in (
                (other_point, item)
                for other_point, item in ndenumerate
                if hasattr(item, "eval_dual")
            ):
                point = point[-1:] if kind in EQUATIONS else point
                raw.append((kind, number, point, other_item.expression, other_item.eval_dual()))
    sizes = problem.G_value.shape[0], len(problem.F_value)
    terms = [
        CertificateTerm(kind, float(multiplier), number, other_point, *_affine(expression, *sizes))
        for kind, number, other_point, expression, multiplier in raw
    ]
    points = [
        [(_vector(x, sizes[0]), _vector(g, sizes[0]), _value(f, sizes[1])) for x, g, f in source]
        for source in (function.list_of_points for function in functions)
    ]
    certificates = [
        DualCertificate(_rebalance(_drop_small_terms(terms, part)), points) for part in NEGLIGIBLE
    ]
    upper = certificates[-1].bound * (1.0 + ROUNDING)
    good = (
        certificate
        for certificate in certificates
        if max(certificate.slack) <= SLACK * upper and certificate.bound <= upper
    )
    return next(good, certificates[-1])


def _drop_small_terms(terms: Sequence[CertificateTerm], part: float) -> list[CertificateTerm]:
    """Return the terms with multipliers above a fraction of the largest; keep all measures."""
    largest = max(abs(term.multiplier) for term in terms)
    sizes = [abs(t.multiplier) if t.kind in EQUATIONS else t.multiplier for t in terms]
    return [
        term
        for term, size in zip(terms, sizes, strict=True)
        if size > part * largest or (term.kind == MEASURE and size > NEGLIGIBLE[-1])
    ]


def _rebalance(terms: Sequence[CertificateTerm]) -> list[CertificateTerm]:
    """Return terms with least changed multipliers, so that weights sum to 1 and values cancel."""
    rows = np.array([[*term.sign * term.values, term.kind == MEASURE] for term in terms]).T
    multipliers = np.array([term.multiplier for term in terms])
    expected = np.eye(len(rows))[-1]
    change, *_ = np.linalg.lstsq(rows, expected - rows @ multipliers, rcond=None)
    pairs = zip(terms, (multipliers + change).tolist(), strict=True)
    # What would be below 0 proves nothing; what is left of values says so.
    return [
        replace(term, multiplier=new if term.kind in EQUATIONS else max(0.0, new))
        for term, new in pairs
    ]


def _affine(expression: Any, vector_count: int, value_count: int) -> Affine:
    """Return a PEPit expression as an affine function of its leaves."""
    gram, linear, constant = np.zeros((vector_count, vector_count)), np.zeros(value_count), 0.0
    for leaf, weight in expression.decomposition_dict.items():
        if isinstance(leaf, tuple):
            item, other = (each.counter for each in leaf)
            gram[item, other] += weight / 2
            gram[other, item] += weight / 2
        elif isinstance(leaf, int):
            constant += weight
        else:
            linear[leaf.counter] += weight
    return gram, linear, constant


def _vector(point: Any, vectors: int) -> Floats:
    vector = np.zeros(vectors)
    for leaf, weight in point.decomposition_dict.items():
        vector[leaf.counter] += weight
    return vector


def _value(expression: Any, values: int) -> Floats:
    _, linear, constant = _affine(expression, 0, values)
    return np.append(linear, constant)
