"""Linear models with four losses, over a set, with a penalty, and over the whole space.

Oracles against definitions are in test_definitions.py, constants in test_constants.py.
"""

from math import inf, isfinite, isnan

import numpy as np
import pytest
from helpers import assert_one_sentence
from linear_reference import DOMAINS, MODELS, Plain, elsewhere, model
from numpy.testing import assert_allclose

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.problems import linear_models
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L1Ball, L1Penalty, WholeSpace

LOSS = pytest.mark.parametrize("name", MODELS)
OVER = pytest.mark.parametrize("domain", DOMAINS)
CLOSE = {"rtol": 1e-11, "atol": 1e-13}


def points(problem, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal(problem.d), scale * rng.standard_normal(problem.d), rng


# --- proximal maps, formats and values ------------------------------------------------------------


@LOSS
@OVER
def test_the_proximal_map_is_that_of_its_definition(name, domain):
    problem = model(name, domain)
    P = Plain(problem)
    for seed in range(5):
        x, g, rng = points(problem, seed, 2.0)
        lam = rng.uniform(0.1, 2.0)
        assert_allclose(problem.prox(x, g, lam), P.prox(x - lam * g, lam), **CLOSE)


# --- constants ------------------------------------------------------------------------------------


def interpolated(name, **options):
    """Labels that some w fits exactly: all residuals can vanish, so all phi'' are largest there."""
    features = np.random.default_rng(4).standard_normal((5, 2))
    w = np.array([0.4, -0.3])
    labels = np.where(features @ w > 0, 1.0, -1.0) if "logistic" in name else features @ w
    return MODELS[name](features, labels, **{"set": WholeSpace(2)} | options)


@LOSS
@OVER
def test_delta_bounds_the_decrease_of_the_objective(name, domain):
    problem = model(name, domain)
    P, start = Plain(problem), elsewhere(problem)
    delta = problem.constants(start).delta
    assert delta == pytest.approx(P.value(start) + P.h(start), rel=1e-13)
    x = start
    for _ in range(2000):
        x = P.prox(x - 0.2 * P.full(x), 0.2)
    decrease = P.value(start) + P.h(start) - P.value(x) - P.h(x)
    assert 0.0 < decrease <= delta


@LOSS
@OVER
def test_exactly_the_stated_constants_have_a_derivation(name, domain):
    c = model(name, domain).constants(np.zeros(4))
    stated = {key for key in c.__dataclass_fields__ if key != "derivations"}
    stated = {key for key in stated if isfinite(getattr(c, key))}
    assert set(c.derivations) == stated
    assert ("sigma_hat" in stated) == (name == "quadratic")
    assert ("D" in stated) == (domain == "set")
    assert ("sigma2" in stated) == (domain == "set" or name != "quadratic")
    assert c.L_f <= c.L_ms <= c.L_max
    assert c.ell <= c.L_f


@OVER
def test_rows_of_zeros_are_no_special_case(domain):
    over = L1Ball(2) if domain == "set" else WholeSpace(2)
    penalty = L1Penalty(1.0) if domain == "penalty" else None
    for features in ([[0.0, 0.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]):
        problem = MODELS["quadratic"](
            np.array(features), np.array([1.0, 0.0]), over, penalty=penalty
        )
        c = problem.constants(problem.start())
        assert not any(isnan(getattr(c, key)) for key in ("L_f", "L_ms", "sigma2", "delta"))
        assert c.L_max == pytest.approx(5.0 if features[1][0] else 0.0)


@LOSS
def test_convexity_is_declared_where_it_holds(name):
    convex = "convex" in interpolated(name).properties
    assert convex == (name in ("log-cosh", "quadratic"))
    assert "convex" in interpolated("nonconvex-logistic", alpha=0.0).properties


@OVER
def test_the_strong_convexity_of_least_squares(domain):
    """lambda_min(A'A/n) from below, and attained by the growth along its eigenvector."""
    problem = model("quadratic", domain, n=17)
    sigma = problem.constants(elsewhere(problem)).sigma_hat
    values, vectors = np.linalg.eigh(problem.features.T @ problem.features / problem.n)
    assert values[0] * (1 - 1e-12) <= sigma <= values[0]
    assert "restricted strong convexity" in problem.properties
    x, u = elsewhere(problem), vectors[:, 0]
    growth = problem.value(x + u) - problem.value(x) - problem.gradient(x) @ u
    assert growth == pytest.approx(sigma / 2.0, rel=1e-9)


@pytest.mark.parametrize("case", ["few rows", "equal columns", "regulariser", "zeros"])
def test_strong_convexity_is_not_stated_where_there_is_none(case):
    rng = np.random.default_rng(5)
    features = rng.standard_normal((3 if case == "few rows" else 9, 4))
    if case == "equal columns":
        features[:, 3] = features[:, 1] * 1.7
    if case == "zeros":
        features *= 0.0
    alpha = 0.1 if case == "regulariser" else 0.0
    problem = MODELS["quadratic"](features, np.ones(len(features)), WholeSpace(4), alpha)
    c = problem.constants(np.zeros(4))
    assert c.sigma_hat == inf
    assert "sigma_hat" not in c.derivations
    assert "restricted strong convexity" not in problem.properties


# --- the best known value -------------------------------------------------------------------------


def test_least_squares_have_the_value_of_their_normal_equations():
    problem = model("quadratic", n=17)
    A, b = problem.features, problem.labels
    x = np.linalg.solve(A.T @ A, A.T @ b)
    value, words = problem.best_known
    assert value == pytest.approx(Plain(problem).value(x), rel=1e-12)
    assert "normal equations" in words


@pytest.mark.parametrize(("radius", "known"), [(1e3, True), (1e-3, False)])
def test_the_best_value_over_a_set_is_known_where_the_solution_is_inside(radius, known):
    free = model("quadratic", n=17)
    problem = MODELS["quadratic"](free.features, free.labels, L1Ball(4, radius))
    assert problem.best_known == (free.best_known if known else None)


@LOSS
def test_without_residuals_the_best_value_is_known(name):
    """Of the losses of a residual; the logistic loss has no such point."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((9, 4))
    labels = features @ [0.5, -1.0, 0.0, 2.0]
    if name == "nonconvex-logistic":
        assert MODELS[name](features, np.sign(labels), WholeSpace(4), 0.0).best_known is None
        return
    value, _ = MODELS[name](features, labels, WholeSpace(4)).best_known
    assert 0.0 <= value < 1e-15
    noisy = MODELS[name](features, labels + rng.standard_normal(9), WholeSpace(4))
    assert (noisy.best_known is None) == (name != "quadratic")
    assert MODELS[name](features, labels, WholeSpace(4), 0.1).best_known is None
    penalty = L1Penalty(0.1)
    assert MODELS[name](features, labels, WholeSpace(4), penalty=penalty).best_known is None


BREAST_CANCER = [
    (name, domain)
    for name in ("nonconvex-logistic", "robust-regression")
    for domain in ({"set": "none"}, {"penalty": "l1", "weight": 0.1})
]


@pytest.mark.parametrize(("name", "domain"), BREAST_CANCER)
def test_a_stated_value_is_reached_and_not_passed(name, domain):
    """By another method, from where runs start; with a wrong value it would fail."""
    problem = pf.problem(name, source="breast-cancer", **domain)
    value, words = problem.best_known
    L, x = problem.constants(problem.start()).L_f, problem.start()
    y, t = x, 1.0
    for _ in range(6000):
        further = problem.prox(y, problem.gradient(y), 1 / L)
        t = 1.0 if (y - further) @ (further - x) > 0 else t
        x, y, t = further, further + t / (t + 3.0) * (further - x), t + 1.0
    reached = problem.value(x) + (0.0 if problem.penalty is None else problem.penalty.value(x))
    assert -1e-12 <= reached - value <= 1e-9
    assert "norm of the gradient mapping" in words


def test_what_is_known_is_of_the_function_alone():
    own = pf.problem("nonconvex-logistic", source="breast-cancer", set="none")
    random = pf.problem("nonconvex-logistic", source="breast-cancer", set="none", start="normal")
    assert own.best_known == random.best_known is not None
    assert own.digest != random.digest
    for other in ({"set": "l1"}, {"set": "none", "alpha": 0.2}, {"penalty": "l1", "weight": 0.2}):
        assert pf.problem("nonconvex-logistic", source="breast-cancer", **other).best_known is None


# --- where runs start -----------------------------------------------------------------------------


def test_a_normal_start_is_standard_normal_and_of_its_own_seed():
    def start(**given):
        return pf.problem("log-cosh", columns=4000, rows=2, set="none", **given).start()

    assert not start().any()
    first = start(start="normal")
    assert abs(first.mean()) < 5 / np.sqrt(4000)
    assert abs(first.std() - 1.0) < 5 / np.sqrt(8000)
    assert (start(start="normal", seed=7) == first).all()
    assert (start(start="normal", start_seed=7) != first).all()


def test_runs_start_there_and_leave_it_as_it_is():
    problem = pf.problem("log-cosh", penalty="l1", weight=0.1, start="normal")
    before = problem.start()
    run = pf.solve(problem, pf.algorithm("prox-gd", iterations=3, step=0.1), measures=["objective"])
    added = problem.penalty.value(before)
    assert run.trace["objective"][0] == problem.value(before) + added
    assert (problem.start() == before).all()


def test_a_start_that_is_none():
    with pytest.raises(InputError, match="may lie outside the set l1: write set=none"):
        pf.problem("log-cosh", start="normal")
    with pytest.raises(InputError, match="did you mean 'normal'"):
        pf.problem("log-cosh", start="norml", set="none")


def test_large_least_squares_are_left_alone(monkeypatch):
    monkeypatch.setattr(linear_models, "_LEAST_SQUARES", 17 * 4 * 4 - 1)
    assert model("quadratic", n=17).best_known is None
    assert model("quadratic", n=16).best_known is not None


# --- what is refused ------------------------------------------------------------------------------


@LOSS
def test_a_set_and_a_penalty_together_are_refused(name):
    with pytest.raises(InputError, match="not both") as error:
        MODELS[name](np.eye(2), np.ones(2), L1Ball(2), penalty=L1Penalty(1.0))
    assert_one_sentence(error)
    with pytest.raises(InputError, match="are mutually exclusive") as error:
        pf.problem(name, source="synthetic", rows=9, columns=2, set="l1", penalty="l1")
    assert_one_sentence(error)


# --- synthetic rows -------------------------------------------------------------------------------


def test_synthetic_rows_are_isotropic_on_the_sphere():
    features, labels = draw_synthetic_rows(seed=1, rows=4000, columns=5)
    assert_allclose(np.linalg.norm(features, axis=1), 1.0, rtol=1e-14)
    assert_allclose(5 * features.T @ features / 4000, np.eye(5), atol=0.1)
    assert labels.shape == (4000,)
    exact = draw_synthetic_rows(seed=1, rows=40, columns=5, noise=0.0)
    w = np.linalg.lstsq(*exact, rcond=None)[0]
    assert_allclose(exact[0] @ w, exact[1], atol=1e-12)
    signs = draw_synthetic_rows(seed=1, rows=40, columns=5, noise=0.0, signs=True)
    assert np.array_equal(signs[0], exact[0])
    assert np.array_equal(signs[1], np.sign(exact[1]))
    assert not np.array_equal(exact[0], draw_synthetic_rows(seed=2, rows=40, columns=5)[0])


@pytest.mark.parametrize("bad", [{"rows": 0}, {"columns": 0}, {"noise": -1.0}, {"seed": -1}])
def test_bad_sizes_of_synthetic_rows_are_refused_by_name(bad):
    with pytest.raises(InputError, match=rf"^{next(iter(bad))}="):
        draw_synthetic_rows(**bad)


@LOSS
@pytest.mark.parametrize("domain", [{"set": "none"}, {"penalty": "l1", "weight": 0.1}, {}])
def test_problems_by_name(name, domain):
    problem = pf.problem(name, source="synthetic", rows=30, columns=3, **domain)
    assert (problem.n, problem.d) == (30, 3)
    assert problem.is_bounded == (domain == {})
    assert (problem.penalty is None) == ("penalty" not in domain)
    assert type(problem) is MODELS[name]


def test_the_signs_of_labels_are_no_parameter_of_the_user():
    with pytest.raises(InputError, match="signs") as error:
        pf.problem("log-cosh", source="synthetic", signs=True)
    assert_one_sentence(error)
