"""Problems with a norm: what they lack, their measures, and the smoothness that they state."""

import numpy as np
import pytest

import pfbench as pf
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.state import State
from pfbench.claims.kim2026.theorem1 import make_stretched_quadratic
from pfbench.claims.pethick2025.parabolas import (
    line_instance,
    make_distant_parabola,
    make_pure_noise_problem,
    make_two_point_noise_parabola,
)
from pfbench.problems.moments import max_quadratic_form
from pfbench.sets.catalogue import NORMS, norm_ball

MATRICES = {
    "least squares": ("matrix-least-squares", {}),
    "classes": (
        "multiclass-logistic",
        {"source": "synthetic", "rows": 20, "columns": 4, "classes": 3, "set": "none"},
    ),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("norm", NORMS)
def test_no_pair_breaks_the_smoothness_in_a_norm(name, norm):
    """And of the quadratic some pair attains it, or what is said to be from above is not far."""
    family, given = MATRICES[name]
    problem = pf.problem(family, **given, norm=f"{norm}[radius=1.5]")
    constants, ball = problem.constants(problem.start()), problem.norm
    rng, worst = np.random.default_rng(2), 0.0
    for _ in range(200):
        x, y = rng.standard_normal((2, *problem.shape))
        for _ in range(6):  # a direction that is steepest for its own change
            change = problem.gradient(x) - problem.gradient(y)
            worst = max(worst, ball.dual_norm(change) / ball.norm(x - y) / constants.L_norm)
            x = y - ball.lo_zero_if_undetermined(change)
    assert worst <= 1.0 + 1e-9
    if name == "least squares":
        assert worst >= (0.6 if "from above" in constants.derivations["L_norm"] else 0.95)
    assert constants.rho == 1.5


def test_a_large_cube_is_bounded_from_above():
    G = np.cov(np.random.default_rng(1).standard_normal((30, 60)))
    exact, above = (max_quadratic_form(norm_ball("linf", (m,)), G[:m, :m], 1) for m in (12, 30))
    signs = np.sign(np.random.default_rng(0).standard_normal((500, 30)))
    assert np.einsum("ki,ij,kj->k", signs, G, signs).max() <= above[0]
    assert "from above" in above[1]
    assert "from above" not in exact[1]


def test_in_place_of_a_set_a_norm_answers_lo_and_measures_no_gap():
    problem = pf.problem("matrix-least-squares", norm="spectral[radius=2,lmo=quintic]")
    assert "lo" not in problem.lacks
    assert problem.lacks["set"] == "it has no feasible set"
    assert problem.lacks["norm linf"] == "its norm is spectral"
    state = State(problem.start(), problem.start(), problem.gradient(problem.start()))
    found = {name: measure(problem, state) for name, measure in problem.measures().items()}
    nuclear = np.linalg.norm(problem.gradient(problem.start()), "nuc")
    assert found["dual_norm"] == pytest.approx(nuclear)
    assert found["lmo_products"] == 15.0
    assert 0.6818 <= found["lmo_lower"] <= found["lmo_upper"] <= 1.2024
    run = pf.solve(problem, pf.algorithm("prox-gd", step=0.01, iterations=3), measures="dual_norm")
    assert run.counts.po == 0
    assert run.final["fw_gap"] is None
    assert run.final["dual_norm"] < nuclear
    assert pf.problem("matrix-least-squares").lacks["norm"] == "it has no norm"


def test_beside_a_set_a_norm_adds_constants_alone():
    plain = {"source": "synthetic", "rows": 20, "columns": 4, "classes": 3, "radius": 2.0}
    bare, normed = (
        pf.problem("multiclass-logistic", **plain, **more) for more in ({}, {"norm": "nuclear"})
    )
    x, y = bare.start(), normed.start()
    assert normed.digest != bare.digest
    assert normed.constants(y).D == bare.constants(x).D
    assert normed.constants(y).zeta == 1.0
    assert "set" in normed.lacks["norm"]
    method = pf.algorithm("frank-wolfe", step="open-loop", iterations=3)
    run, other = (pf.solve(p, method, measures="fw_gap") for p in (bare, normed))
    assert np.array_equal(run.x, other.x)
    assert run.final["fw_gap"] == other.final["fw_gap"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"penalty": "l1", "weight": 0.1, "norm": "linf"}, "a penalty or a norm, not both"),
        ({"set": "none", "norm": "spectral"}, "is for matrices"),
        ({"set": "none", "radius": 2.0, "norm": "linf"}, "set=none takes no radius"),
    ],
)
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        pf.problem("log-cosh", rows=9, columns=3, **given)


def test_a_set_is_required_where_there_is_no_other():
    with pytest.raises(InputError, match="unknown set 'none'"):
        pf.problem("matrix-regression", rows=3, columns=3, rank=1, n=9, set="none")


def test_the_network_has_the_gradient_of_its_definition():
    problem = pf.problem("two-layer-network", rows=7, columns=3, hidden=2, outputs=2)
    x = problem.start()
    first, second = problem.split(x)

    def f(x):
        first, second = problem.split(x)
        out = np.array([second @ np.tanh(first @ a) for a in problem.features])
        return 0.5 * ((out - problem.targets) ** 2).sum() / 7

    assert (first.shape, second.shape) == ((2, 3), (2, 2))
    assert problem.value(x) == pytest.approx(f(x), rel=1e-14)
    slopes = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(x.size)]
    np.testing.assert_allclose(problem.gradient(x), slopes, atol=1e-9)


@pytest.mark.parametrize(("noise", "n"), [("two-point", 2), ("skewed", 4), ("normal", 9)])
def test_noise_has_the_variance_that_is_asked_for(noise, n):
    problem = pf.problem("separable-quadratic", noise=noise, sigma=0.7, components=9, columns=3)
    x = problem.start()
    each = np.array([problem.component(i, x) for i in range(problem.n)])
    assert len(each) == n
    np.testing.assert_allclose(each.mean(axis=0), problem.gradient(x), atol=1e-12)
    assert problem.constants(x).sigma2 == pytest.approx(0.49)
    assert ((each - problem.gradient(x)) ** 2).sum(axis=1).mean() == pytest.approx(0.49)
    if noise == "skewed":
        assert sorted(each[:, 0] - 3.0)[-1] == pytest.approx(3 * 0.7 / np.sqrt(3))


def test_a_method_for_sets_is_refused_where_there_is_none():
    with pytest.raises(RefusedError, match="the constant D"):
        pf.solve(
            pf.problem("matrix-least-squares", norm="spectral"),
            pf.algorithm("nfwu-sg", epsilon=0.1),
        )


TOLD = {
    "travel": ("columns=1,condition=1,begin=10,norm=linf", make_distant_parabola(10_000, 10.0)),
    "two points": (
        "columns=1,condition=1,begin=2,noise=two-point,sigma=2,norm=linf",
        make_two_point_noise_parabola(9, 2.0),
    ),
    "held": ("columns=1,condition=1,begin=-1,centre=1,set=linf,norm=linf", line_instance(10_000)),
    "affine": (
        "columns=1,condition=0,begin=0,noise=two-point,norm=linf",
        make_pure_noise_problem(8),
    ),
    "stretched": ("columns=101,norm=linf", make_stretched_quadratic(101)),
}


@pytest.mark.parametrize("name", TOLD)
def test_instances_of_claims_are_of_the_family(name):
    """By a selector: the same start, values, gradients of components, and constants."""
    text, instance = TOLD[name]
    problem = pf.problem(f"separable-quadratic[{text}]")
    x = np.random.default_rng(0).uniform(-1.0, 1.0, problem.shape)
    assert problem.n == instance.n
    for at in (x, problem.start()):
        assert problem.value(at) == instance.value(at)
        for i in range(problem.n):
            np.testing.assert_array_equal(problem.component(i, at), instance.component(i, at))
    np.testing.assert_array_equal(problem.start(), instance.start())
    found, expected = (one.constants(one.start()) for one in (problem, instance))
    for constant in ("D", "L_f", "L_ms", "sigma2", "delta", "L_norm", "rho", "zeta"):
        assert getattr(found, constant) == getattr(expected, constant)
