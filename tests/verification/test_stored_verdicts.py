"""Verdicts, findings and mutants are judged once, and kept in a store."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from misbehaving import Raises

from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.base.errors import InputError
from pfbench.runs.engines.engine import ThisProcess
from pfbench.runs.engines.workers import Result
from pfbench.runs.storage.keys import reachable
from pfbench.runs.storage.store import Store
from pfbench.theory.catalogue import CLAIMS
from pfbench.verification import findings, session
from pfbench.verification.checks import module_of
from pfbench.verification.mutants import MUTANTS
from pfbench.verification.mutants import session as mutants
from pfbench.verification.session import Case, judge, verify
from pfbench.verification.subject import Subject

COUNT, MEAN = "shen2019-count-svrg", "shen2019-unbiased-spiderg"


@dataclass(frozen=True)
class Parametrised:
    """Stands for an algorithm with its parameters."""

    step: Any = 0.1


@dataclass(frozen=True, kw_only=True)
class MySpider(NFWUSPIDERG):
    """Somebody's own method."""

    name = "my-spider"


class Counting(ThisProcess):
    """This process, with the number of tasks that it got."""

    done = 0

    def do(self, tasks):
        self.done += len(tasks)
        return super().do(tasks)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_a_second_verification_makes_nothing_and_says_the_same(store):
    engine, told = Counting(), []
    first, second = (
        verify(
            [MEAN, COUNT],
            engine=engine,
            store=store,
            progress=lambda row, made: told.append((row.claim, made)),
        )
        for _ in range(2)
    )
    assert first == second
    assert first.as_json() == second.as_json()
    assert engine.done == 2
    assert sorted(told[:2]) == [(COUNT, True), (MEAN, True)]
    assert sorted(told[2:]) == [(COUNT, False), (MEAN, False)]


def test_a_stored_verdict_says_what_was_tested(store):
    verify([COUNT], engine=ThisProcess(), store=store, seed=3)
    (key,) = store.keys("verdict")
    row = store.get_row("verdict", key)
    assert row["statement"] == CLAIMS[COUNT].statement
    assert (row["algorithm"], row["effort"], row["seed"], row["failed"]) == (
        None,
        "quick",
        3,
        False,
    )
    (listed,) = store.rows()
    assert (listed["claim"], listed["status"], listed["seed"]) == (COUNT, "holds", 3)


@pytest.mark.parametrize("change", [{"seed": 1}, {"effort": "full"}, {"algorithm": MySpider}])
def test_another_seed_effort_or_algorithm_is_another_verdict(store, change):
    engine = Counting()
    for given in ({}, change, {}, change):
        verify([MEAN], engine=engine, store=store, **given)
    assert engine.done == 2
    assert len(list(store.keys("verdict"))) == 2


def test_what_breaks_is_stored_as_broken(store):
    for _ in range(2):
        (row,) = verify([COUNT], algorithm=Raises, engine=ThisProcess(), store=store).rows
        assert (row.verdict, row.failed) == ("violated", True)
    assert len(list(store.keys("verdict"))) == 1


def test_a_check_that_was_killed_is_inconclusive_and_tried_again(store):
    class Late(ThisProcess):
        def do(self, tasks):
            for index, _ in enumerate(tasks):
                yield Result(index, None, "timeout", "it took more than 60 s", 60.0)

    late = verify([COUNT], engine=Late(), store=store)
    assert (late.rows[0].verdict, late.rows[0].failed, late.clean) == ("inconclusive", True, False)
    assert "timeout: it took more than 60 s" in late.rows[0].reason
    assert verify([COUNT], engine=ThisProcess(), store=store).rows[0].verdict == "holds"


def test_a_mutants_verdict_is_not_the_claims(store):
    engine = Counting()
    mutant = MUTANTS["svrg-double-lo"]
    for _ in range(2):
        (caught,) = mutants.examine([mutant], engine=engine, store=store)
        assert caught.caught_by == (COUNT,)
        assert verify([COUNT], engine=engine, store=store).clean
    assert engine.done == len(mutant.expected) + 1
    found = {row["algorithm"]: row["status"] for row in store.rows() if row["claim"] == COUNT}
    assert found == {"mutant svrg-double-lo": "violated", None: "holds"}


def test_findings_are_examined_once(store):
    engine, names = Counting(), ["shen2019-(4)", "shen2019-(10)"]
    first, second = (findings.examine(names, engine=engine, store=store) for _ in range(2))
    assert first == second
    assert all(one.shown for one in first)
    assert engine.done == 2
    assert {row["status"] for row in store.rows()} == {"shown"}


def test_a_finding_whose_examination_is_lost_is_not_shown_and_not_stored(store):
    class Lost(ThisProcess):
        def do(self, tasks):
            for index, _ in enumerate(tasks):
                yield Result(index, None, "died", "its process ended", 1.0)

    (lost,) = findings.examine(["shen2019-(4)"], engine=Lost(), store=store)
    assert (lost.shown, dict(lost.evidence)) == (False, {})
    assert list(store.keys("finding")) == []


def test_a_finding_and_a_mutant_depend_on_the_file_that_they_are_in():
    finding = findings._question("shen2019-(4)", "quick", 0)
    (own,) = finding.modules
    reached = {m for m in reachable(finding.modules) if ".findings." in m}
    assert reached == {own, "pfbench.verification.findings.base"}
    mutant = mutants._case(MUTANTS["svrg-double-lo"], COUNT, "quick", 0)
    assert mutant.identity.modules == {"pfbench.verification.mutants.shen2019"}
    reached = {m for m in reachable(mutant.identity.modules) if ".mutants." in m}
    assert reached == {
        "pfbench.verification.mutants.shen2019",
        "pfbench.verification.mutants.base",
    }


def modules(name):
    """The own modules whose source a verdict depends on."""
    case = Case(name, Subject().identity, judge, (name, Subject(), "quick", 0))
    return set(reachable(session._question(case, "quick", 0).modules))


@pytest.mark.parametrize("name", CLAIMS)
def test_a_verdict_depends_on_its_own_check_and_on_no_other_papers(name):
    reached, own = modules(name), module_of(name)
    checks = {m for m in reached if m.startswith("pfbench.verification.checks.")}
    assert checks == {own, "pfbench.verification.common"}
    assert {
        "pfbench.verification.statistics",
        "pfbench.runs.loop.solve",
        "pfbench.oracles",
    } <= reached
    rooms = {m.split(".")[1] for m in reached if "." in m}
    assert not rooms & {"cli", "reporting"}


def test_a_verdict_on_somebodys_algorithm_depends_on_its_module():
    assert Subject(algorithm=MySpider).identity.modules == {__name__}
    assert Subject(algorithm=Parametrised()).identity.modules == {__name__}


def test_what_cannot_be_said_in_full_is_not_stored():
    assert Subject(algorithm=Parametrised(0.1)).identity.content == [
        f"{__name__}:Parametrised",
        {"step": 0.1},
    ]
    for subject in (
        Subject(algorithm=Parametrised(np.zeros(3))),
        Subject(algorithm=SimpleNamespace()),
        Subject(algorithm=MySpider, wrap=lambda problem: problem),
        Subject(wrap=lambda problem: problem),
    ):
        assert subject.identity.content is None
        question = session._question(Case(MEAN, subject.identity, judge, ()), "quick", 0)
        assert question.content is None


def test_an_algorithm_that_no_process_can_import_is_refused(monkeypatch):
    class Inside(MySpider):
        pass

    with pytest.raises(InputError, match=r"Inside cannot be imported .* top level of a module"):
        verify([MEAN], algorithm=Inside)
    monkeypatch.setattr(MySpider, "__module__", "__main__")
    with pytest.raises(InputError, match="MySpider cannot be imported"):
        verify([MEAN], algorithm=MySpider)


def test_without_a_store_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verify([COUNT], engine=ThisProcess())
    assert list(tmp_path.iterdir()) == []
