"""The multipliers of a worst case are a proof: added up anew, in rational numbers, by formulas.

Nothing of the program is used but the JSON that a reader gets: the inequalities are written here.
"""

import json
from copy import deepcopy
from fractions import Fraction

import numpy as np
import pytest

from pfbench.algorithms import proximal
from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.verification.worst_case import FunctionClass, compute_worst_case, methods
from pfbench.verification.worst_case.dual_certificate import CONDITION, FORMS, MEASURE

pytest.importorskip("PEPit")
pytest.importorskip("clarabel")

SLACK = Fraction(1, 10**7)
CONVEX = FunctionClass(convex=True)
CASES = {
    "descent": (proximal.ProxGD(iterations=2, step=1.0), {}),
    "convex descent": (
        proximal.ProxGD(iterations=2, step=1.0),
        {"function_class": CONVEX, "measure": "suboptimality", "over": "last"},
    ),
    "two components": (proximal.SpiderBoost(iterations=2, step=0.5, batch=1, period=2), {}),
    "frank-wolfe": (
        FrankWolfe(step="open-loop", iterations=1),
        {
            "function_class": FunctionClass(convex=True, delta=np.inf),
            "measure": "suboptimality",
            "over": "last",
        },
    ),
    "gap": (
        NFWUSPIDERG(iterations=2, step=methods.constant_step(2), batch=1, period=1),
        {"function_class": FunctionClass(n=1), "over": "least"},
    ),
}


class Affine:
    """<M, G> + <v, F> + k, in rational numbers, by what it is of: pairs, values, 1."""

    def __init__(self, parts=()):
        self.parts = dict(parts)

    def __add__(self, other):
        found = dict(self.parts)
        for key, number in other.parts.items():
            found[key] = found.get(key, Fraction(0)) + number
        return Affine(found)

    def __rmul__(self, factor):
        return Affine({key: Fraction(factor) * number for key, number in self.parts.items()})

    def __sub__(self, other):
        return self + -1 * other


def inner(a, b):
    return sum(
        (
            Affine({("G", *sorted((i, j))): Fraction(p) * Fraction(q)})
            for i, p in enumerate(a)
            for j, q in enumerate(b)
            if p and q
        ),
        Affine(),
    )


def value(f):
    *linear, constant = f
    return Affine({("F", k): Fraction(one) for k, one in enumerate(linear) if one}) + Affine(
        {1: Fraction(constant)}
    )


def minus(a, b):
    return [Fraction(p) - Fraction(q) for p, q in zip(a, b, strict=True)]


def smooth_convex(one, other, L, D):
    (x, g, f), (y, h, e) = one, other
    apart = minus(g, h)
    return value(e) - value(f) + inner(h, minus(x, y)) + Fraction(1, 2) / L * inner(apart, apart)


def smooth(one, other, L, D):
    (x, g, f), (y, h, e) = one, other
    away, apart, both = minus(x, y), minus(g, h), minus(g, [-k for k in h])
    linear = value(e) - value(f) + Fraction(1, 2) * inner(both, away)
    return linear - L / 4 * inner(away, away) + Fraction(1, 4) / L * inner(apart, apart)


def normal(one, other, L, D):
    (x, _, _), (y, h, _) = one, other
    return inner(h, minus(x, y))


def diameter(one, other, L, D):
    away = minus(one[0], other[0])
    return inner(away, away) - Affine({1: D**2})


def nothing(one, L, D):
    return value(one[2])


BY = {
    "smoothness_convexity": smooth_convex,
    "smoothness": smooth,
    "convexity": normal,
    "diameter": diameter,
    "value": nothing,
}


def of_json(term):
    pairs = {("G", i, j): Fraction(c) for i, j, c in term["gram"]}
    values = {("F", k): Fraction(c) for k, c in term["values"]}
    return Affine(pairs | values | {1: Fraction(term["constant"])})


def equal(one, other):
    parts = (one - other).parts.values()
    return all(abs(number) < Fraction(1, 10**12) for number in parts)


def pivots(matrix):
    """Yield those of Gauss's elimination without exchanges; all above 0 if it is definite."""
    rows = [list(row) for row in matrix]
    for k, row in enumerate(rows):
        yield row[k]
        if row[k] <= 0:
            return
        for below in rows[k + 1 :]:
            factor = below[k] / row[k]
            below[:] = [b - factor * a for a, b in zip(row, below, strict=True)]


def proven(found, L=1, D=1):
    """Return what a proof proves; fail where it proves nothing."""
    L, D = Fraction(L), Fraction(D)
    left, weights = Affine(), Fraction(0)
    for term in found["terms"]:
        number = Fraction(term["multiplier"])
        stated = of_json(term)
        if term["kind"] == MEASURE:
            assert number > 0
            weights += number
            left = left - number * stated
            continue
        if term["kind"] != CONDITION:
            points = [found["points"][term["function"]][k] for k in term["at"]]
            assert equal(BY[term["kind"]](*points, L, D), stated)
        assert number >= 0 or term["kind"] == "value"
        left = left + number * stated
    assert abs(weights - 1) < Fraction(1, 10**12)
    size = 1 + max(key[2] for key in left.parts if key != 1 and key[0] == "G")
    remainder = [
        [
            left.parts.get(("G", min(i, j), max(i, j)), Fraction(0)) / (1 if i == j else 2)
            + (SLACK if i == j else 0)
            for j in range(size)
        ]
        for i in range(size)
    ]
    assert all(pivot > 0 for pivot in pivots(remainder)), "the remainder is not semidefinite"
    rest = [of for key, of in left.parts.items() if key != 1 and key[0] == "F"]
    assert all(abs(of) < Fraction(1, 10**10) for of in rest), "values are left"
    return -left.parts[1]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    method, given = CASES[request.param]
    found = compute_worst_case(method, **given)
    return found, json.loads(json.dumps(found.proof.as_json()))


def test_the_multipliers_prove_the_worst_case(case):
    worst, proof = case
    assert float(proven(proof)) == pytest.approx(worst.value, rel=2e-5)
    assert proof["bound"] == pytest.approx(worst.value, rel=2e-5)
    assert max(proof["slack"].values()) < SLACK
    assert {term["kind"] for term in proof["terms"]} <= {MEASURE, CONDITION, *FORMS}


def test_what_is_assumed_and_measured_is_what_it_should_be(case):
    """Of the start f(x_0) - min f <= delta, for a smooth f at each of its points; |grad f|^2."""
    worst, proof = case
    start, *others = proof["points"][0]
    within = worst.function_class
    for term in proof["terms"]:
        if term["kind"] == CONDITION and within.n == 1:
            delta = Affine({1: Fraction(within.delta)})
            down = [value(start[2]) - value(x[2]) for x in (start, *others)]
            more = Fraction(1, 2) / Fraction(within.L)
            slopes = [more * inner(x[1], x[1]) for x in (start, *others)]
            allowed = [a + b for a, b in zip(down, slopes, strict=True)]
            known = down if within.convex or worst.is_constrained else allowed
            assert any(equal(one - delta, of_json(term)) for one in known)
        if term["kind"] == MEASURE and worst.measure == "gradient_mapping_sq" and within.n == 1:
            assert any(equal(inner(g, g), of_json(term)) for _, g, _ in (start, *others))


def test_a_multiplier_that_is_wrong_proves_nothing(case):
    """Any inequality with a tenth of its multiplier, or the sign turned."""
    _, proof = case
    kinds = [t["kind"] for t in proof["terms"]]
    at = max(
        (k for k, kind in enumerate(kinds) if kind not in (MEASURE, CONDITION, "value")),
        key=lambda k: proof["terms"][k]["multiplier"],
    )
    for factor in (0.1, -1.0):
        wrong = deepcopy(proof)
        wrong["terms"][at]["multiplier"] *= factor
        with pytest.raises(AssertionError):
            proven(wrong)
    changed = deepcopy(proof)
    changed["terms"][at]["constant"] -= 0.1  # an inequality that no function of the class has
    with pytest.raises(AssertionError):
        proven(changed)


def test_it_is_printed_as_the_identity(case):
    worst, _ = case
    first, *lines, last = worst.proof.lines()
    assert first.endswith("- measured = <S, G> + the sum of (right - left) sides")
    assert any("<= f" in line or "D^2" in line for line in lines)
    assert "S is positive semidefinite up to" in last
