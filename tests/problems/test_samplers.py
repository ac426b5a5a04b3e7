"""Samplers: exact moments by summation, draws as values, counts, refusals, and the user's own."""

import math
import re
from contextlib import suppress

import numpy as np
import pytest
from helpers import small_regression
from scipy.integrate import quad

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.sample import Draws
from pfbench.checking import check
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.noisy_gradients import NoiseDistribution
from pfbench.verification.instruments.enumerated_random import enumerate_draws

FINITE = [
    NoiseDistribution("two-point", sigma=0.7),
    NoiseDistribution("skewed", sigma=1.3, order=1.5, probability=0.1),
    NoiseDistribution("skewed", sigma=2.0, order=2.0, probability=0.25),
    NoiseDistribution("three-point", sigma=1.1, order=1.2, probability=0.01),
]


# --- moments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", FINITE, ids=lambda noise: noise.kind)
def test_noise_has_mean_zero_and_the_stated_moment(noise):
    values, probabilities = noise.atoms
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-15)
    assert abs(probabilities @ values) < 1e-14
    assert noise.moment(noise.order) == pytest.approx(noise.sigma**noise.order, rel=1e-13)


def test_moments_of_pareto_noise_are_those_of_its_density():
    noise = NoiseDistribution("pareto", sigma=0.5, tail=1.5)
    density = lambda t: 1.5 * t**-2.5  # noqa: E731
    expected, _ = quad(lambda t: (0.5 * t) ** 1.2 * density(t), 1.0, math.inf)
    assert noise.moment(1.2) == pytest.approx(expected, rel=1e-6)
    assert noise.moment(1.5) == noise.moment(2.0) == math.inf
    draws = noise.draw_scalars(np.random.default_rng(0), 10_000)
    assert np.abs(draws).min() >= 0.5
    # Half of all draws are above the median of |xi|, within six standard deviations.
    assert abs((np.abs(draws) > 0.5 * 2 ** (1 / 1.5)).mean() - 0.5) < 6 * 0.5 / 100
    assert abs((draws > 0).mean() - 0.5) < 6 * 0.5 / 100


@pytest.mark.parametrize(("q", "ratio"), [(1.0 - 1e-12, 0.60), (0.1, 0.92), (0.01, 0.991)])
def test_the_moment_of_a_batch_is_attained_by_rare_noise(q, ratio):
    """THEORY3 A3: E|mean|^p/(B^(1-p) sigma^p) of three-point noise, B = 4 and p = 1.5."""
    noise = NoiseDistribution("three-point", order=1.5, probability=q)
    moment = sum(
        chance * abs(float(np.mean(draws))) ** 1.5
        for chance, draws in enumerate_draws(lambda rng: noise.draw_scalars(rng, 4))
    )
    assert moment / 4 ** (1 - 1.5) == pytest.approx(ratio, abs=6e-3)
    assert moment <= 2 ** (2 - 1.5) * 4 ** (1 - 1.5)


def test_checks_of_a_sampler_pass_without_a_finite_distribution():
    report = check(pf.problem("additive", noise="pareto", tail=2.5, columns=3))
    assert not report.failures
    passed = {result.check for result in report.findings if result.status == "passed"}
    assert {"draws", "batch and difference", "mean of the draws"} <= passed


# --- laws of estimators, exact --------------------------------------------------------------------


# --- oracles --------------------------------------------------------------------------------------


ONLINE = {"step": 0.1, "batch": 2, "period": 3, "snapshot": 5}


@pytest.mark.parametrize(
    ("method", "counts"),
    [
        ({"name": "sfw", "step": 0.1, "batch": 3}, {"sfo": 7 * 3, "lo": 7}),
        ({"name": "storm-fw", "step": 0.1, "batch": 3, "alpha": 0.5}, {"sfo": 3 + 6 * 6, "lo": 7}),
        ({"name": "momentum-sfw", "batch": 3}, {"sfo": 7 * 3, "lo": 7}),
        ({"name": "ncgs-stochastic", "smoothness": 4.0, "batch": 3}, {"sfo": 7 * 3}),
        ({"name": "prox-sgd", "step": 0.1, "batch": 3}, {"sfo": 7 * 3, "po": 7}),
        # References in iterations 0, 3 and 6, and four differences; svrg-plus has seven of these.
        ({"name": "spiderboost"} | ONLINE, {"sfo": 3 * 5 + 4 * 2 * 2}),
        ({"name": "prox-spiderboost"} | ONLINE, {"sfo": 3 * 5 + 4 * 2 * 2, "po": 7}),
        ({"name": "prox-svrg-plus"} | ONLINE, {"sfo": 3 * 5 + 7 * 2 * 2, "po": 7}),
    ],
    ids=lambda value: value.get("name", ""),
)
def test_counts_of_a_run_are_those_of_its_formula(method, counts):
    free = {"set": "none"} if method["name"] == "spiderboost" else {}
    problem = pf.problem("regression", **free)
    run = pf.solve(problem, pf.algorithm(**method, iterations=7), seed=2)
    assert run.status == "finished"
    recorded = {name: value for name, value in run.counts.as_dict().items() if value}
    assert {name: recorded.pop(name) for name in counts} == counts
    assert recorded.keys() <= {"lo"}


def test_a_difference_counts_two_for_each_draw_and_sampling_counts_nothing():
    problem, ledger = pf.problem("glm"), Ledger()
    ask = Oracles(problem, ledger, problem.set.diameter)
    S, x = ask.sample(np.random.default_rng(0), 5), problem.start()
    assert len(S) == 5
    assert ledger.counts().sfo == 0
    ask.difference(S, x, x)
    ask.batch(S, x)
    assert ledger.counts().sfo == 15


def test_a_finite_sum_draws_the_same_indices_as_before():
    problem = pf.problem("log-cosh", rows=9, columns=3)
    ask = Oracles(problem, Ledger(), problem.set.diameter)
    drawn = ask.sample(np.random.default_rng(4), 6)
    assert np.array_equal(drawn, np.random.default_rng(4).integers(9, size=6))


def test_equal_seeds_give_equal_runs_and_other_parameters_another_digest():
    method = pf.algorithm("sfw", iterations=9, step=0.1, batch=2)
    first, second = (pf.solve(pf.problem("glm"), method, seed=1) for _ in range(2))
    columns = [column for column in first.trace.columns if column != "seconds"]
    assert first.trace[columns].equals(second.trace[columns])
    digests = {pf.problem("additive", sigma=s).digest for s in (1.0, 2.0)}
    assert len(digests | {pf.problem("additive", noise="skewed").digest}) == 3


@pytest.mark.parametrize("name", ["spiderboost", "prox-svrg-plus"])
def test_an_online_form_with_all_n_draws_still_queries_the_full_gradient(name):
    problem = pf.problem("log-cosh", rows=5, columns=3, set="none")
    run = pf.solve(problem, pf.algorithm(name, iterations=7, **ONLINE))
    assert (run.status, run.counts.fo) == ("finished", 3)
    fewer = pf.solve(problem, pf.algorithm(name, iterations=7, **ONLINE | {"snapshot": 4}))
    assert (fewer.status, fewer.counts.fo) == ("finished", 0)


def test_twenty_five_methods_run_on_samplers():
    """THEORY3 A5: those that never query a full gradient, or not in their online form."""
    problems = [
        pf.problem("glm"),
        pf.problem("glm", set="none"),
        pf.problem("additive", norm="l2", columns=2),
        pf.problem("additive", norm="linf", columns=2),
        pf.problem("matrix-additive", norm="spectral"),
    ]
    halves = {"step", "delta", "refresh", "beta", "alpha", "gamma", "tolerance", "lam", "sigma"}
    completed = set()
    for name, method in ALGORITHMS.items():
        required = method.list_required_parameters()
        parameters = {key: 0.5 if key in halves else 2 for key in required}
        parameters |= {"snapshot": 3} if "snapshot" in method.parameters() else {}
        for problem in problems:
            with suppress(RefusedError, InputError):
                run = pf.solve(
                    problem, pf.algorithm(name, **parameters), budget=pf.Budget(sfo=200, lo=400)
                )
                assert run.status in {"finished", "budget"}, f"{name}: {run.stop_reason}"
                completed.add(name)
    expected = "sfw one-sfw momentum-sfw storm-fw scg uscg uscg-mvr almond muon muon-nesterov"
    expected += " uscg-transport normuon"
    expected += " signum normalised-sgd prox-sgd storm mars nfwu-sg nfwu-storm ncgs-stochastic"
    expected += " rsag prox-rsag spiderboost prox-spiderboost prox-svrg-plus"
    assert completed == {*expected.split()}


@pytest.mark.parametrize(
    "method", ["frank-wolfe", "svrg", "saga", "page-fw", "nfwu-casvrg", "storc", "prox-spiderboost"]
)
def test_methods_that_need_a_finite_sum_are_refused_with_the_reason(method):
    required = pf.algorithm(method).algorithm_class.list_required_parameters()
    parameters = {name: 0.5 if name in {"step", "delta", "refresh"} else 2 for name in required}
    problem = pf.problem("glm", set="none" if method in {"svrg", "saga"} else "l2")
    with pytest.raises(RefusedError, match="it is a sampler"):
        pf.solve(problem, pf.algorithm(method, **parameters), budget=pf.Budget(sfo=100))


def test_a_schedule_that_needs_n_names_it():
    with pytest.raises(RefusedError, match="needs the constant n"):
        pf.solve(pf.problem("glm"), pf.algorithm("prox-rsag", epsilon=0.1))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda ask, rng: rng.integers(ask.n, size=2),
            "no number n of components: draw by ask.sample",
        ),
        (lambda ask, rng: np.array([0, 1]), "the result of ask.sample.rng, size."),
        (lambda ask, rng: ask.sample(rng, 0), "size=0 of ask.sample must be a positive integer"),
        (lambda ask, rng: ask.sample(rng, 2.5), "size=2.5 of ask.sample must be a positive"),
    ],
)
def test_wrong_draws_end_a_run_with_the_remedy(draw, message):
    def mine(ask, x, rng):
        ask.batch(draw(ask, rng), x)
        yield pf.State(x)

    run = pf.solve(pf.problem("glm"), mine)
    assert run.status == "error"
    assert re.search(message, run.stop_reason)


def test_draws_of_a_sampler_are_no_indices_of_a_finite_sum():
    problem = pf.problem("log-cosh", rows=9, columns=3)
    with pytest.raises(InputError, match="takes component indices"):
        problem.batch(Draws(np.array([0.5]), 1), problem.start())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "normal"}, "noise"),
        ({"sigma": 0.0}, "sigma"),
        ({"order": 2.5}, "order"),
        ({"probability": 1.0}, "probability=1 must be below 1"),
        ({"tail": 1.0}, "tail"),
    ],
)
def test_wrong_noise_is_refused_by_name(change, message):
    with pytest.raises(InputError, match=message):
        NoiseDistribution(**change)


# --- the user's own -------------------------------------------------------------------------------

SIGMA2 = 3.0
"""E|(a a' - I) x|^2 at |x| <= 1 is (d + 1)|x|^2 at most for normal a of d = 2 entries."""


def normal_rows(rng, size):
    return rng.standard_normal((size, 2))


def mean_gradient(S, x):
    return S.T @ (S @ x) / len(S)


def own(sampler=normal_rows, sample_grad=mean_gradient, **options):
    return from_functions(
        lambda x: 0.5 * x @ x,
        lambda x: x.copy(),
        lambda g: -g / np.linalg.norm(g),
        start=np.array([0.6, 0.8]),
        sampler=sampler,
        sample_grad=sample_grad,
        constants={"L_f": 1.0, "D": 2.0, "sigma2": SIGMA2},
        **options,
    )


def test_a_sampler_of_plain_functions_runs_and_passes_its_checks():
    problem = own()
    assert repr(problem) == "<FunctionSampler functions, a sampler>"
    run = pf.solve(problem, pf.algorithm("sfw", iterations=50, step=0.05, batch=20), seed=3)
    assert run.counts.sfo == 1000
    assert run.final["value"] < 0.1
    assert not [r for r in check(problem).findings if r.status == "failed"]


def test_too_small_a_variance_is_found():
    problem = small_regression()
    object.__setattr__(problem, "variance_constants", lambda L_ms: {"sigma2": (1e-3, "wrong")})
    failed = [r for r in check(problem).findings if r.status == "failed"]
    assert [result.check for result in failed] == ["constant sigma2"]
    assert "must not exceed sigma2 = 0.001" in str(failed[0])


STREAM = np.random.default_rng(8)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"sampler": lambda rng, size: STREAM.standard_normal((size, 2))}, "draw from rng alone"),
        ({"sample_grad": lambda S, x: STREAM.standard_normal(2)}, "depend on S and x alone"),
        ({"sample_grad": lambda S, x: S}, "shape"),
        ({"sample_grad": lambda S, x: np.array([np.nan, 0.0])}, "NaN"),
        ({"sample_grad": lambda S, x: S @ np.ones(5)}, r"sample_grad\(S, x\) raised"),
        ({"sample_grad": None}, "must be given together"),
        ({"components": (3, lambda x, indices: x)}, "without components"),
    ],
)
def test_wrong_functions_are_refused_before_any_run(parts, message):
    with pytest.raises(InputError, match=message):
        own(**parts)


def test_a_missing_gradient_is_named_with_the_remedy():
    with pytest.raises(InputError, match="jac is missing"):
        from_functions(lambda x: 0.5 * x @ x, start=np.ones(2))


def test_a_method_in_its_own_process_is_refused():
    method = pf.algorithm("sfw", iterations=2, step=0.1, batch=1)
    run = pf.solve(pf.problem("glm"), method, isolated=True)
    assert run.status == "error"
    assert "omit isolated=True" in run.stop_reason
