"""Certificates of several algorithms: what decides that one is the same, and where it is made."""

import json
import sys

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError, RefusedError
from pfbench.resisting import certify, check_certificate, make_contestant, write_certificate
from pfbench.resisting.certificate_session import certificate_task, obtain_certificates
from pfbench.resisting.contestants import FixedSeedAlgorithm, check_contestant, rebuild_algorithm
from pfbench.resisting.resisting_oracle import make_resisting_chain
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
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


def key(text, T=5):
    """Return what decides whether the certificate is the same: its question, and the sources."""
    asked = certificate_task(
        make_contestant(text, make_resisting_chain(T)), T, None, None, 0, recompute=False
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
        assert vars(rebuild_algorithm(one.selector)) == vars(one.algorithm)


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
    assert vars(rebuild_algorithm(one.selector)) == vars(one.algorithm)
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
    with pytest.raises(RefusedError, match=f"^{name} (is randomised|minimises over the ball)"):
        check_contestant(algorithm)
    with pytest.raises(RefusedError, match=f"^{name} minimises over the ball of a norm"):
        check_contestant(FixedSeedAlgorithm(algorithm, 3))


def test_the_one_that_stays_in_it_fits_with_its_seed_fixed():
    check_contestant(FixedSeedAlgorithm(ALGORITHMS["scg"](iterations=5, step=0.1, batch=1), 3))
