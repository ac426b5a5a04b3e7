"""Certificates of several algorithms, and the family over epsilon: its bound and its calls."""

import json
import sys

import numpy as np
import pytest
from helpers import refused

from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError, RefusedError
from pfbench.points import combine
from pfbench.problems.zero_chain import chain_scaling, chain_smoothness
from pfbench.resisting import (
    certify,
    check_certificate,
    list_contestants,
    make_contestant,
    write_certificate,
)
from pfbench.resisting.certificate_session import certificate_task, obtain_certificates
from pfbench.resisting.contestants import check_contestant
from pfbench.resisting.rescaled_family import count_calls_to_target, max_epsilon
from pfbench.resisting.resisting_oracle import ResistingOracle, make_resisting_chain
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.loop.steps import random_stream
from pfbench.runs.storage.content_keys import source_digest
from pfbench.runs.storage.store import Store

PLAIN = """
from pfbench.base.state import State
from pfbench.points import combine


class Steps:
    name, requires, deterministic = "steps", frozenset({"gradient", "lo"}), True
    output = "last"

    def __init__(self, iterations=10, step=0.1, rule="fixed"):
        self.iterations, self.step, self.rule = iterations, step, rule

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = combine(x, ask.lo(ask.gradient(x)), self.step)
            yield State(x)


STANDING = Steps(4, 0.3)
"""

FACTORY = """
from importlib import import_module


def steps(iterations=10, half=False, **more):
    # No import statement: that this module reaches the class cannot be seen in its source.
    return import_module("{plain}").Steps(iterations, 0.5 if half else 0.1, **more)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the modules of a plain class and of a function that makes it, named as no other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    plain = f"plain_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{plain}.py").write_text(PLAIN)
    (tmp_path / f"{plain}_factory.py").write_text(FACTORY.format(plain=plain))
    return plain, f"{plain}_factory"


def rebuilt(selector):
    return make_contestant(selector, make_resisting_chain(5)).algorithm


def key(text, T=5):
    """Return what decides whether the certificate is the same: its question, and the sources."""
    asked = certificate_task(
        make_contestant(text, make_resisting_chain(T)), T, None, 0, recompute=False
    )
    return json.dumps(asked.content), source_digest(asked.modules)


def test_the_parameters_of_a_plain_class_are_part_of_selector_and_key(own):
    plain, _ = own
    texts = [
        f"{plain}:Steps{inside}"
        for inside in ("", "[iterations=10,step=0.1]", "[iterations=3,step=0.9]", "[iterations=3]")
    ]
    found = [make_contestant(text, make_resisting_chain(5)) for text in texts]
    assert [one.selector for one in found] == texts
    assert len({key(text) for text in texts}) == len(texts)
    for one in found:
        assert vars(rebuilt(one.selector)) == vars(one.algorithm)


@pytest.mark.parametrize(
    "inside",
    [
        "0:Steps[iterations=7,step=0.25,rule=open-loop]",
        "0:Steps[iterations=7,step=1e-07]",
        "0:STANDING",
        "1:steps",
        "1:steps[iterations=6,half=true]",
        "1:steps[iterations=6,rule=other]",
    ],
)
def test_a_certificate_makes_the_same_algorithm_again(own, tmp_path, inside):
    number, _, rest = inside.partition(":")
    one = make_contestant(f"{own[int(number)]}:{rest}", make_resisting_chain(5))
    assert vars(rebuilt(one.selector)) == vars(one.algorithm)
    write_certificate(certify(one, 5), tmp_path / "own.json")
    certificate = check_certificate(tmp_path / "own.json").certificate
    assert certificate.certified_for == "lo", certificate.findings
    assert certificate.algorithm == one.selector


@pytest.mark.parametrize("edited", [0, 1])
def test_an_edited_module_of_the_selector_or_of_the_class_changes_the_key(own, tmp_path, edited):
    text = f"{own[1]}:steps[iterations=4]"
    before = key(text)
    assert key(text) == before
    path = tmp_path / f"{own[edited]}.py"
    path.write_text(path.read_text() + "\n# edited\n")
    assert key(text) != before


def test_an_edited_module_of_somebody_does_not_change_the_key_of_the_catalogues(own, tmp_path):
    before = key("frank-wolfe[step=open-loop]")
    (tmp_path / f"{own[0]}.py").write_text("# edited\n")
    assert key("frank-wolfe[step=open-loop]") == before


# --- several, in a store and on an engine ---------------------------------------------------------

BOTH = ["frank-wolfe[step=open-loop]", "ncgs[option=1]"]


@pytest.mark.parametrize(
    "engine", [SingleProcessEngine(), MultiProcessEngine(2)], ids=["here", "processes"]
)
def test_what_the_store_has_is_not_made_again(tmp_path, engine):
    store, told = tmp_path / "store", []
    options = {"engine": engine, "store": store, "progress": lambda: told.append(1)}
    made = obtain_certificates(BOTH, 6, **options)
    assert [one.label for one in made] == BOTH
    assert [one.certificate for one in made] == [
        certify(make_contestant(text, make_resisting_chain(6)), 6).certificate for text in BOTH
    ]
    assert [one.outcome.certificate for one in made] == [one.certificate for one in made]
    assert len(told) == 2
    again = obtain_certificates(BOTH, 6, **options)
    assert [one.certificate for one in again] == [one.certificate for one in made]
    assert [one.outcome for one in again] == [None, None]
    anew = obtain_certificates(BOTH[:1], 6, recompute=True, **options)
    assert anew[0].outcome.certificate == made[0].certificate
    assert len(anew[0].outcome.transcript) == len(made[0].outcome.transcript)
    assert len([*Store(store, make=False).keys("certificate")]) == 2


def test_one_that_fails_leaves_the_others(own):
    plain, _ = own
    found = obtain_certificates(
        [f"{plain}:Steps[step=none]", BOTH[0]], 5, engine=SingleProcessEngine()
    )
    assert found[0].certificate is None
    assert "a weight must be a number, not 'none'" in found[0].failure_reason
    assert found[1].certificate.certified
    assert not found[1].failure_reason


def test_nothing_runs_if_one_may_not_stand(tmp_path):
    with pytest.raises(RefusedError):
        obtain_certificates([BOTH[0], "sfw"], 5, engine=None, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
    with pytest.raises(InputError, match="seed=-1"):
        obtain_certificates(BOTH, 5, seed=-1, engine=None)


@pytest.mark.parametrize(("name", "more"), [("uscg", {}), ("muon", {"beta": 0.5})])
def test_methods_that_leave_their_ball_do_not_fit_by_name(name, more):
    algorithm = ALGORITHMS[name](iterations=5, step=0.1, batch=1, **more)
    with pytest.raises(RefusedError, match=f"^{name} is randomised"):
        check_contestant(algorithm)
    with pytest.raises(RefusedError, match=f"^{name} queries norm"):
        check_contestant(algorithm, 3)


def test_the_one_that_stays_in_it_fits_with_its_seed_fixed():
    check_contestant(ALGORITHMS["scg"](iterations=5, step=0.1, batch=1), 3)


# --- the family over epsilon ----------------------------------------------------------------------


@pytest.mark.parametrize("T", [1, 2, 7, 1000, 123_457])
def test_epsilon_of_is_the_largest_with_that_bound(T):
    # shen2019, theorem 5.1: T = (0.0016/12) L delta/(l eps^2), rounded down
    epsilon = max_epsilon(T)
    assert 0.0016 / 12.0 / (chain_smoothness() * epsilon**2) == pytest.approx(T)
    assert chain_scaling(epsilon, 1.0, 1.0)[0] == T
    if T > 1:
        assert chain_scaling(epsilon * (1.0 + 1e-9), 1.0, 1.0)[0] == T - 1


@pytest.mark.thin(6)
@pytest.mark.parametrize("text", list_contestants())
def test_no_algorithm_reaches_the_target_before_T(text):
    for T in (1, 3, 6):
        assert T <= count_calls_to_target(text, max_epsilon(T), limit=2000) <= 2001


def test_the_target_is_reached_at_the_last_call_and_not_before():
    """The same run by hand, its gaps on the function that is fixed afterwards."""
    epsilon = max_epsilon(2)
    calls = count_calls_to_target("frank-wolfe[step=open-loop]", epsilon, limit=3000)
    assert calls < 3000
    T, mu = chain_scaling(epsilon, 1.0, 1.0)
    oracle = ResistingOracle(
        make_resisting_chain(T, L=1.0, mu=mu), random_stream(0, "oracles"), record=False
    )
    x = np.zeros(oracle.d)
    points = [x]
    for t in range(calls):
        x = combine(x, oracle.lo(oracle.gradient(x)), 2.0 / (t + 2.0))
        points.append(x)
    fixed, _ = oracle.finish()
    gaps = []
    for x in points:
        g = fixed.gradient(x)
        gaps.append(g @ x - fixed.set.minimum(g)[0])
    below = [gap <= epsilon * fixed.set.diameter for gap in gaps]
    assert below.index(True) == calls == len(below) - 1


def test_a_run_that_takes_too_many_calls_is_censored():
    for text in ("frank-wolfe[step=open-loop]", "ncgs"):
        assert 50 <= count_calls_to_target(text, max_epsilon(5), limit=50) <= 51


def test_seeds_of_the_directions_change_no_count():
    calls = {count_calls_to_target("frank-wolfe", max_epsilon(5), seed=seed) for seed in range(3)}
    assert len(calls) == 1


def test_what_may_not_stand_is_refused():
    with pytest.raises(RefusedError):
        count_calls_to_target("sfw", 1e-4)
    with refused("would have no link"):
        count_calls_to_target("frank-wolfe", 1.0)
    with pytest.raises(InputError):
        count_calls_to_target("frank-wolfe", 1e-4, limit=0)
