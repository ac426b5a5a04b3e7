"""What a verification makes of claims, methods, stores and engines; of files that state claims."""

import json
import math
import pickle
import sys
from dataclasses import make_dataclass
from pathlib import Path

import pytest
from helpers import assert_one_sentence

import pfbench as pf
from pfbench.algorithms.nfwu import NFWUSVRG
from pfbench.base.errors import InputError
from pfbench.base.selectors import is_user_defined
from pfbench.claims import kim2026
from pfbench.claims.catalogue import (
    CLAIMS,
    claim,
    find_paper,
    load_user_papers,
    select_claims,
    select_mutants,
    verify,
)
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.storage.store import Store
from pfbench.verification import session
from pfbench.verification.session import Verification, describe_as_json, judge, time_limit
from pfbench.verification.subject import Subject
from pfbench.verification.user_claims import UserClaimFile, load_claims
from pfbench.verification.verdict import Verdict

COUNT = "shen2019-count-svrg"


def row(verdict="holds", **changes):
    given = {
        "claim": claim(COUNT),
        "verdict": verdict,
        "reason": "so it is.",
        "measured": {"ratio": 0.5},
        "claimed": {"ratio": 1.0},
        "repetitions": 3,
        "p_value": None,
        "seconds": 0.1,
    }
    return Verdict(**given | changes)


class Raising:
    name = "raising"
    requires = frozenset({"lo"})
    deterministic = True
    output = "last"

    def __init__(self, batch=1, period=1, iterations=1, step=0.1):
        pass

    def run(self, ask, x, rng):
        yield from ()
        raise RuntimeError("I do not work")


def test_rows_come_in_the_order_of_the_names():
    names = ["shen2019-unbiased-svrg", COUNT]
    told = []
    done = verify(names, jobs=2, progress=lambda row, made: told.append(row))
    assert [verdict.claim.name for verdict in done.rows] == names
    assert sorted(found.claim.name for found in told) == sorted(names)
    assert {verdict.verdict for verdict in done.rows} == {"holds"}
    assert done.is_clean
    assert done.summary["holds"] == 2


def test_how_long_it_takes_is_told_before_it_begins_and_of_what_is_stored_nothing(tmp_path):
    told = []
    made = session.Session(
        engine=SingleProcessEngine(), store=Store(tmp_path), on_expected_time=told.append
    )
    made.verify([claim(COUNT)])
    made.verify([claim(COUNT)])
    assert told == [claim(COUNT).seconds("quick")]


def test_a_check_that_raises_is_a_row_and_the_verification_fails():
    verdict = judge(claim(COUNT), Subject(algorithm=Raising))
    assert (verdict.verdict, verdict.lost, verdict.catches_fault) == ("failed", False, True)
    assert "I do not work" in verdict.reason
    assert not Verification((verdict,)).is_clean


def test_a_method_without_a_schedule_is_failed_and_so_is_the_verification():
    verdict = judge(claim("shen2019-thm3.1-svrg"), Subject(algorithm=Raising()))
    assert (verdict.verdict, verdict.lost, verdict.catches_fault) == ("failed", True, False)
    assert "no schedule" in verdict.reason
    assert not Verification((verdict,)).is_clean


class Undeclared(NFWUSVRG):
    """Right but for `requires`: it asks `difference`, too."""

    requires = frozenset({"gradient", "lo"})


class Far(NFWUSVRG):
    """Its iterates leave the set, so far that their squares overflow."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield state._replace(x=1e200 * state.x, at=(1e200 * state.x) ** 2)


def test_what_is_asked_without_being_declared_fails_and_violates_nothing():
    verdict = judge(claim(COUNT), Subject(algorithm=Undeclared))
    assert (verdict.verdict, verdict.lost, verdict.catches_fault) == ("failed", False, True)
    assert "the method queries difference, which its `requires` does not name" in verdict.reason


def test_a_method_that_leaves_the_set_is_violated_not_failed():
    verdict = judge(claim("methods-run-nfwu-svrg"), Subject(algorithm=Far))
    assert (verdict.verdict, verdict.lost, verdict.catches_fault) == ("violated", False, True)


def test_one_seed_gives_the_same_numbers_and_another_gives_others():
    name = "shen2019-unbiased-svrg"
    first, again, other = (judge(claim(name), Subject(), seed=seed) for seed in (3, 3, 4))
    assert dict(first.measured) == dict(again.measured)
    assert dict(first.measured) != dict(other.measured)


@pytest.mark.parametrize(
    ("verdict", "lost", "clean"),
    [
        ("holds", False, True),
        ("within-10", False, True),
        ("disputed", False, True),
        ("inconclusive", False, True),
        ("inconclusive", True, False),
        ("violated", False, False),
        ("failed", False, False),
        ("failed", True, False),
    ],
)
def test_clean_means_nothing_violated_failed_or_lost(verdict, lost, clean):
    assert Verification((row(), row(verdict, lost=lost))).is_clean is clean


def test_json_has_no_number_that_json_does_not_know():
    content = Verification((row(measured={"a": math.inf, "b": math.nan, "c": 1}),)).as_json()
    measured = json.loads(json.dumps(content, allow_nan=False))["results"][0]["measured"]
    assert measured == {"a": None, "b": None, "c": 1}


def test_the_quick_selection_is_a_part_of_all():
    quick, full = select_claims((), "quick"), select_claims((), "full")
    assert set(quick) < set(full) == set(CLAIMS.values())
    assert select_claims([COUNT, COUNT], "quick") == [claim(COUNT)]


def test_a_check_has_twenty_times_its_usual_time():
    for told in CLAIMS.values():
        assert time_limit(told, "full") >= 20.0 * told.seconds("full")
        assert time_limit(told, "quick") >= 60.0


@pytest.mark.parametrize(
    ("names", "arguments", "words"),
    [
        (["shen2019-count-svgr"], {}, "did you mean 'shen2019-count-svrg'"),
        (None, {"effort": "quik"}, "effort"),
        ([], {"jobs": 0}, "jobs"),
        (None, {"seed": -1}, "seed"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(names, arguments, words):
    with pytest.raises(InputError, match=words):
        verify(names, **arguments)


Made = make_dataclass("Made", [("step", float, 0.1)], namespace={"run": Raising.run})
Made.__module__ = "types"  # Python 3.12 finds the module that made it


class Fewer:
    """What is not an engine: it has no `environment`."""

    def do(self, tasks):
        pytest.fail("a task was begun")


class Holds(Raising):
    def __init__(self, step):
        self.step = step


REFUSED = {
    "a choice": ({"algorithm": pf.algorithm("nfwu-svrg", epsilon=0.1)}, "AlgorithmChoice"),
    "a lambda": ({"algorithm": lambda ask, x, rng: None}, "move it to the top level of a module"),
    "a module": ({"algorithm": session}, "this module has none"),
    "a text": ({"algorithm": "own_methods:MySpider"}, "this str has none"),
    "no name": ({"algorithm": Made}, "Made cannot be imported"),
    "an object without a name": ({"algorithm": Made()}, "Made cannot be imported"),
    "what is not sent": ({"algorithm": Holds(lambda k: 0.5)}, "Holds cannot be sent"),
    "one claim": ({"names": COUNT}, f"names='{COUNT}' must be a list"),
    "no list": ({"names": 3}, "names=3 must be a list"),
    "no name of a claim": ({"names": [COUNT, 3]}, "names must be strings, got 3"),
    "a store of numbers": ({"store": 3}, "store=3 must be a Store"),
    "a store without a name": ({"store": ""}, "store='' must be a Store"),
    "an engine by name": ({"engine": "dask"}, "engine='dask' is not an engine"),
    "an engine's class": ({"engine": MultiProcessEngine}, "is not an engine"),
    "half an engine": ({"engine": Fewer()}, "is not an engine"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_argument_of_another_kind_is_refused_before_any_work(case, tmp_path, monkeypatch):
    given, words = REFUSED[case]
    monkeypatch.setattr(session, "run_cached_tasks", lambda *a, **k: pytest.fail("work was begun"))
    arguments = {"names": [COUNT], "store": tmp_path / "store"} | given
    with pytest.raises(InputError) as error:
        verify(**arguments)
    assert words in str(error.value)
    assert_one_sentence(error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [str, Path, lambda path: Store(Path(path))])
def test_a_store_is_given_by_its_folder_too(kind, tmp_path):
    folder = tmp_path / "kept"
    told = []
    for _ in range(2):
        done = verify(
            iter([COUNT]),
            engine=SingleProcessEngine(),
            store=kind(str(folder)),
            progress=lambda row, made: told.append(made),
        )
        assert done.rows[0].verdict == "holds"
    assert told == [True, False]
    assert len(list(Store(folder).keys("verdict"))) == 1


# --- what a file states ---------------------------------------------------------------------------

TEXT = """
import pfbench as pf
from pfbench.claims import Claim, ExaminationEvidence, Erratum, Mutant, Paper, counts
from pfbench.algorithms.frank_wolfe import FrankWolfe

def claim(name):
    return Claim(
        name=name, statement="T steps", algorithm="frank-wolfe", instances="log-cosh[rows=9]",
        check=counts(lambda c, a: {"sfo": c.n * a.iterations, "lo": a.iterations},
                     parameters={"step": "open-loop", "iterations": 4}),
    )

class Twice(FrankWolfe):
    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            ask.lo(state.estimate)
            yield state

def examine(effort, seed):
    return ExaminationEvidence(printed_fails=True, corrected_holds=True, numbers={"x": 1.0})

ONE, TWO = claim("mine-1"), claim("mine-2")
"""

LISTS = """
CLAIMS = (ONE, TWO)
MUTANTS = [Mutant.from_variant("twice", Twice, ONE), Mutant.from_variant("both", Twice, ONE, TWO)]
ERRATA = [Erratum(name="e", as_printed="a", corrected="b", examine=examine, claim=TWO),
          Erratum(name="free", as_printed="a", corrected="b", examine=examine)]
"""

PAPER = """
MINE = Paper(
    key="mine", title="My paper", claims=(ONE,), errata=(),
    mutants=(Mutant.from_variant("twice", Twice, ONE),),
)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write the file; forget its module after the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def written(text):
        path = tmp_path / "stated_here.py"
        path.write_text(TEXT + text)
        return str(path)

    yield written
    sys.modules.pop("stated_here", None)


def names(stated):
    return [one.name for one in stated]


def test_a_file_states_all_that_stands_at_its_top_each_once(write):
    found = load_claims(write(LISTS))
    assert names(found.claims) == ["mine-1", "mine-2"]
    assert names(found.mutants) == ["twice", "both"]
    assert names(found.errata) == ["e", "free"]
    assert found.title == "Claims of stated_here.py"


def test_a_name_states_one_with_what_belongs_to_it(write):
    file = write(LISTS)
    two = load_claims(f"{file}:TWO")
    assert names(two.claims) == ["mine-2"]
    assert [(mutant.name, names(mutant.expected_claims)) for mutant in two.mutants] == [
        ("both", ["mine-2"])
    ]
    assert names(two.errata) == ["e"]
    assert names(load_claims("stated_here:ONE").claims) == ["mine-1"]
    assert names(load_claims("stated_here:mine-1").claims) == ["mine-1"]
    assert names(load_claims(f"{file}:CLAIMS").claims) == ["mine-1", "mine-2"]


def test_a_paper_has_its_title(write):
    file = write(PAPER)
    assert load_claims(file).title == load_claims(f"{file}:MINE").title == "My paper"
    assert names(load_claims(f"{file}:MINE").claims) == ["mine-1"]


def test_a_claim_is_known_by_its_file_and_found_again(write):
    """Its functions need no name, and another process imports them from there."""
    file = write(LISTS)
    (claim,) = load_claims(f"{file}:ONE").claims
    again = pickle.loads(pickle.dumps(claim))
    assert (again.name, again.user_source.file_or_module) == ("mine-1", file)
    assert UserClaimFile(file).claim("mine-1").statement == "T steps"
    assert UserClaimFile("/elsewhere/stated_here.py").claim("mine-1").statement == "T steps"
    told = describe_as_json(claim)
    assert told.content[1:] == ["stated_here", "mine-1"]
    modules = {
        "stated_here",
        "pfbench.verification.statements.exact_counts",
        "pfbench.verification.claim",
    }
    assert modules <= told.modules


def test_python_and_the_catalogue_take_files_too(write):
    file = write(LISTS)
    done = pf.verify([file], engine=SingleProcessEngine())
    found = [(row.claim.name, row.verdict) for row in done.rows]
    assert found == [("mine-1", "holds"), ("mine-2", "holds")]
    (claim,) = select_claims([f"{file}:ONE"])
    assert find_paper(claim).title == "Claims of stated_here.py"
    assert names(select_mutants([f"{file}:ONE"])) == ["twice", "both"]
    assert len(load_user_papers([file, "jaggi2013-thm1"])) == 1
    assert not is_user_defined("jaggi2013-thm1")


def test_of_a_paper_that_is_named_come_all_errata_those_about_no_claim_too():
    found = load_claims("pfbench.claims.kim2026:PAPER")
    assert names(found.errata) == names(kim2026.PAPER.errata)
    assert any(erratum.claim is None for erratum in found.errata)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("B = claim('mine-1')", "two claims named mine-1"),
        (
            "M = [Mutant.from_variant('m', Twice, ONE), Mutant.from_variant('m', Twice, TWO)]",
            "two mutants named",
        ),
    ],
)
def test_names_are_not_given_twice(write, text, words):
    with pytest.raises(InputError, match=words):
        load_claims(write(text))
