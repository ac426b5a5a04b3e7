"""The family over epsilon: its bound, its calls, its fit, and the two figures."""

import math

import numpy as np
import pytest
from contenders import Walk
from helpers import assert_one_sentence

from pfbench.base.errors import InputError, RefusedError, StorageError
from pfbench.points import combine
from pfbench.problems.zero_chain import chain_scaling, chain_smoothness
from pfbench.resisting import (
    FamilyRun,
    certify,
    fit_calls,
    list_contestants,
    make_contestant,
    run_family,
)
from pfbench.resisting.figures import check_figure, draw_calls, draw_gaps
from pfbench.resisting.rescaled_family import lower_bound_constant, max_epsilon
from pfbench.resisting.resisting_oracle import ResistingOracle, make_resisting_chain
from pfbench.runs.loop.steps import random_stream

QUICK = ["frank-wolfe", "frank-wolfe[step=backtracking]"]
"""Those that come down in few calls."""


def test_the_lower_bound_is_that_of_the_theory():
    # shen2019, theorem 5.1: T = (0.0016/12) L delta/(l eps^2), rounded down
    for epsilon, L, delta in ((1e-4, 1.0, 1.0), (3e-5, 2.0, 0.7), (0.01, 30.0, 900.0)):
        T = math.floor(0.0016 / 12.0 * L * delta / (chain_smoothness() * epsilon**2))
        (run,) = run_family(["frank-wolfe"], [epsilon], L=L, delta=delta, limit=1)
        assert run.T == T
        assert run.paper_T == pytest.approx(0.0016 / 12.0 * L * delta / (3.0**15 * epsilon**2))
    assert lower_bound_constant(3.0**15) == pytest.approx(9.29e-12, rel=1e-3)


@pytest.mark.parametrize("T", [1, 2, 7, 1000, 123_457])
def test_epsilon_of_is_the_largest_with_that_bound(T):
    epsilon = max_epsilon(T, 3.0, 5.0)
    assert chain_scaling(epsilon, 3.0, 5.0)[0] == T
    if T > 1:
        assert chain_scaling(epsilon * (1.0 + 1e-9), 3.0, 5.0)[0] == T - 1


@pytest.mark.thin(3)
@pytest.mark.parametrize("text", list_contestants())
def test_no_algorithm_reaches_the_target_before_T(text):
    for run in run_family([text], [max_epsilon(T) for T in (1, 3, 6)], limit=2000):
        assert run.calls >= run.T
        assert run.tightness == run.calls / run.T >= 1.0
        assert run.censored or run.calls <= 2000


def test_the_line_search_needs_one_call_more_than_the_bound():
    runs = run_family(["frank-wolfe"], [max_epsilon(T) for T in (4, 8, 16)])
    assert [(run.T, run.calls, run.censored) for run in runs] == [
        (4, 5, False),
        (8, 9, False),
        (16, 17, False),
    ]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("frank-wolfe", 0.25),
        ("frank-wolfe[step=open-loop]", 0.25),
        ("cgs", 0.25),
        ("ncgs", 1.0),  # its tolerance 1/N has the unit of delta
    ],
)
def test_calls_depend_on_L_and_delta_through_T_alone(text, other):
    alike = [
        run_family([text], [max_epsilon(3, L, delta)], L=L, delta=delta, limit=20_000)[0].calls
        for L, delta in ((1.0, 1.0), (4.0, other))
    ]
    assert alike[0] == alike[1]


def test_the_target_is_reached_at_the_last_call_and_not_before():
    """The same run by hand, its gaps on the function that is fixed afterwards."""
    (run,) = run_family(["frank-wolfe[step=open-loop]"], [max_epsilon(2)], limit=3000)
    assert not run.censored
    T, mu = chain_scaling(run.epsilon, 1.0, 1.0)
    oracle = ResistingOracle(
        make_resisting_chain(T, L=1.0, mu=mu), random_stream(0, "oracles"), record=False
    )
    x = np.zeros(oracle.d)
    points = [x]
    for t in range(run.calls):
        x = combine(x, oracle.lo(oracle.gradient(x)), 2.0 / (t + 2.0))
        points.append(x)
    fixed, _ = oracle.finish()
    gaps = []
    for x in points:
        g = fixed.gradient(x)
        gaps.append(g @ x - fixed.set.minimum(g)[0])
    below = [gap <= run.epsilon * fixed.set.diameter for gap in gaps]
    assert below.index(True) == run.calls == len(below) - 1


def test_a_run_that_takes_too_many_calls_is_censored():
    (run,) = run_family(["frank-wolfe[step=open-loop]"], [max_epsilon(5)], limit=50)
    assert run.censored
    assert run.calls == 50
    (run,) = run_family(["ncgs"], [max_epsilon(5)], limit=50)
    assert run.censored
    assert 50 <= run.calls <= 51


def test_seeds_of_the_directions_change_no_count():
    calls = [run_family(["frank-wolfe"], [max_epsilon(5)], seed=seed)[0].calls for seed in range(3)]
    assert len(set(calls)) == 1


def test_what_may_not_stand_is_refused():
    with pytest.raises(RefusedError):
        run_family(["sfw"], [1e-4])
    with pytest.raises(InputError) as error:
        run_family(["frank-wolfe"], [1.0])
    assert_one_sentence(error, "leaves no chain")
    with pytest.raises(InputError):
        run_family(["frank-wolfe"], [1e-4], limit=0)


def test_runs_come_in_the_order_of_algorithms_and_accuracies():
    runs = run_family(QUICK, [max_epsilon(2), max_epsilon(3)])
    assert [run.T for run in runs] == [2, 3] * 2
    assert [run.algorithm for run in runs] == [QUICK[0]] * 2 + [QUICK[1]] * 2


# --- the fit --------------------------------------------------------------------------------------


def power(epsilons, constant, slope, L=2.0, delta=3.0, censored=()):
    return [
        FamilyRun("a", e, L, delta, 1, 0.0, constant * L * delta * e**slope, e in censored)
        for e in epsilons
    ]


def test_a_power_law_is_fitted_exactly():
    fit = fit_calls(power([0.1, 0.2, 0.4, 0.8], 7.0, -2.0))
    assert fit.slope == pytest.approx(-2.0)
    assert fit.interval == pytest.approx((-2.0, -2.0), abs=1e-6)
    assert fit.constant == pytest.approx(7.0)


def test_the_interval_is_students():
    # Residuals +-a around a line through 4 points at x = 0, 1, 2, 3 (times log 2):
    # s^2 = SSR/2, and its 95 % quantile with 2 degrees of freedom is 4.302653.
    runs = power([1.0, 2.0, 4.0, 8.0], 1.0, -1.0, 1.0, 1.0)
    a = 0.1
    signs = [a, -a, -a, a]  # orthogonal to 1 and to x
    runs = [
        FamilyRun("a", r.epsilon, 1.0, 1.0, 1, 0.0, r.calls * math.exp(s), False)
        for r, s in zip(runs, signs, strict=True)
    ]
    half = 4.302653 * math.sqrt(4 * a * a / 2.0 / (5.0 * math.log(2.0) ** 2))
    fit = fit_calls(runs)
    assert fit.slope == pytest.approx(-1.0)
    assert fit.interval == pytest.approx((-1.0 - half, -1.0 + half), rel=1e-6)


def test_censored_runs_are_left_out_of_the_fit():
    runs = power([0.1, 0.2, 0.4], 7.0, -2.0, censored=(0.1,))
    fit = fit_calls(runs)
    assert fit.slope == pytest.approx(-2.0)
    assert fit.interval == (-math.inf, math.inf)
    with pytest.raises(InputError) as error:
        fit_calls(power([0.1, 0.2], 7.0, -2.0, censored=(0.1,)))
    assert_one_sentence(error, "two accuracies")


# --- figures --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes():
    algorithms = ["frank-wolfe[iterations=12]", "projected-gradient"]
    return [
        (text, certify(make_contestant(text, make_resisting_chain(6)), 6)) for text in algorithms
    ]


def test_the_figure_of_gaps_names_everything(outcomes, tmp_path):
    path = tmp_path / "gaps.svg"
    draw_gaps(outcomes, path)
    text = path.read_text()  # letters are paths, with the words in comments
    for word in (
        "LO calls",
        "Frank-Wolfe gap / R",
        "floor 0.08 R",
        "<!--  T -->",
        "T = 6",
        "frank-wolfe[iterations=12]",
        "projected-gradient (gradient queries)",
    ):
        assert word in text
    first = path.read_bytes()
    draw_gaps(outcomes, path)
    assert path.read_bytes() == first


def test_the_figure_of_calls_names_everything(tmp_path):
    runs = run_family(QUICK, [max_epsilon(T) for T in (2, 4)], limit=5)
    path = tmp_path / "calls.svg"
    draw_calls(runs, path)
    text = path.read_text()
    for word in (*QUICK, "LO calls", "epsilon", "below: T(eps), certified l", "lacoste2016 (6)"):
        assert word in text


@pytest.mark.parametrize(("suffix", "start"), [(".pdf", b"%PDF"), (".png", b"\x89PNG")])
def test_figures_have_the_form_that_their_name_says(outcomes, tmp_path, suffix, start):
    path = tmp_path / f"gaps{suffix}"
    draw_gaps(outcomes, path)
    assert path.read_bytes().startswith(start)


def test_a_figure_that_cannot_be_drawn_is_refused_before_anything_runs(tmp_path):
    for path, word in ((tmp_path / "a.gif", ".svg"), (tmp_path / "no" / "a.svg", "no folder")):
        with pytest.raises(InputError) as error:
            check_figure(path)
        assert word in str(error.value)


def test_one_figure_shows_one_horizon_and_one_scale(outcomes, tmp_path):
    other = [("walk", certify(Walk(iterations=3).contestant(), 3))]
    with pytest.raises(InputError) as error:
        draw_gaps([*outcomes, *other], tmp_path / "a.svg")
    assert_one_sentence(error, "one horizon")
    with pytest.raises(InputError) as error:
        draw_calls([*power([0.1], 1.0, -2.0), *power([0.1], 1.0, -2.0, 1.0)], tmp_path / "a.svg")
    assert_one_sentence(error, "one L")


def test_a_figure_that_cannot_be_written_is_told(outcomes, tmp_path, monkeypatch):
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(InputError) as refused:
        draw_gaps(outcomes, tmp_path / "a.svg")
    assert_one_sentence(refused, "is a folder")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    with pytest.raises(StorageError) as error:
        draw_gaps(outcomes, tmp_path / "b.svg")
    assert_one_sentence(error, "b.svg")
