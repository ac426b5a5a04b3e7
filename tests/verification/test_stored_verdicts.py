"""Verdicts, findings and mutants are judged once, and kept in a store."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from misbehaving import RaisesInEpochs

from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.base.errors import InputError
from pfbench.claims.catalogue import CLAIMS, ERRATA, MUTANTS, verify
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.engines.workers import TaskResult
from pfbench.runs.storage.store import Store
from pfbench.verification.contrast import ExaminationEvidence
from pfbench.verification.instances import make_instance
from pfbench.verification.session import (
    Session,
    choose_zero_or_random_case_seed,
    describe_as_json,
    examine,
)
from pfbench.verification.subject import Subject
from pfbench.verification.verdict import Verdict

COUNT, MEAN = "shen2019-count-svrg", "shen2019-unbiased-spiderg"


@dataclass(frozen=True)
class Parametrised:
    """Stands for an algorithm with its parameters."""

    step: Any = 0.1


@dataclass(frozen=True, kw_only=True)
class MySpider(NFWUSPIDERG):
    """Somebody's own method."""

    name = "my-spider"


class Counting(SingleProcessEngine):
    """This process, with the number of tasks that it got."""

    done = 0

    def do(self, tasks):
        self.done += len(tasks)
        return super().do(tasks)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_a_stored_verdict_of_a_former_name_is_read(store):
    measured = {"ratio": 0.3, "verdict": "tight"}
    row = {"verdict": "tight", "reason": "", "measured": measured, "claimed": {}}
    store.put_row("verdict", "v" * 64, row | {"claim": MEAN, "repetitions": 1, "p_value": None})
    stored = store.get_row("verdict", "v" * 64) | {"seconds": 1.0, "lost": False}
    verdict = Verdict.from_stored(CLAIMS[MEAN], stored)
    assert (verdict.verdict, verdict.measured["verdict"]) == ("within-10", "within-10")
    assert verdict.as_json()["verdict"] == "within-10"


def test_a_second_verification_makes_nothing_and_says_the_same(store):
    engine, told = Counting(), []
    first, second = (
        verify(
            [MEAN, COUNT],
            engine=engine,
            store=store,
            progress=lambda row, made: told.append((row.claim.name, made)),
        )
        for _ in range(2)
    )
    assert first == second
    assert first.as_json() == second.as_json()
    assert engine.done == 2
    assert sorted(told[:2]) == [(COUNT, True), (MEAN, True)]
    assert sorted(told[2:]) == [(COUNT, False), (MEAN, False)]


def test_a_stored_verdict_says_what_was_tested(store):
    verify([COUNT], engine=SingleProcessEngine(), store=store, seed=3)
    (key,) = store.keys("verdict")
    row = store.get_row("verdict", key)
    assert row["statement"] == CLAIMS[COUNT].statement
    assert (row["algorithm"], row["effort"], row["seed"], row["lost"]) == (None, "quick", 3, False)
    (listed,) = store.rows()
    assert (listed.claim, listed.status, listed.seed) == (COUNT, "holds", 3)


@pytest.mark.thin(2)
@pytest.mark.parametrize("change", [{"seed": 1}, {"effort": "full"}, {"algorithm": MySpider}])
def test_another_seed_effort_or_algorithm_is_another_verdict(store, change):
    engine = Counting()
    for given in ({}, change, {}, change):
        verify([MEAN], engine=engine, store=store, **given)
    assert engine.done == 2
    assert len(list(store.keys("verdict"))) == 2


def test_where_a_claim_looks_is_part_of_its_verdict_if_it_is_drawn(store):
    engine = Counting()
    for drawn in (False, True):
        claim = replace(CLAIMS[COUNT], needs_seed=drawn)
        for case_seed in (0, 5, 6, 5):
            Session(engine=engine, store=store, case_seed=case_seed).verify([claim])
    assert engine.done == 1 + 3


def test_where_a_claim_looks_is_drawn_anew_for_a_method_of_somebody():
    drawn, fixed = CLAIMS["methods-run-sfw"], CLAIMS[COUNT]
    assert [
        choose_zero_or_random_case_seed(None, [drawn, fixed], None),
        choose_zero_or_random_case_seed(None, [fixed], MySpider),
    ] == [0, 0]
    assert (
        len(
            {choose_zero_or_random_case_seed(None, [fixed, drawn], MySpider) for _ in range(9)}
            - {0}
        )
        > 1
    )
    assert choose_zero_or_random_case_seed(0, [drawn], MySpider) == 0
    with pytest.raises(InputError, match="case_seed=-1"):
        choose_zero_or_random_case_seed(-1, [drawn], MySpider)


def test_what_raises_is_stored_as_failed(store):
    for _ in range(2):
        (row,) = verify(
            [COUNT], algorithm=RaisesInEpochs, engine=SingleProcessEngine(), store=store
        ).rows
        assert (row.verdict, row.lost) == ("failed", False)
    assert len(list(store.keys("verdict"))) == 1


def test_a_check_that_was_killed_is_failed_and_tried_again(store):
    class Late(SingleProcessEngine):
        def do(self, tasks):
            for index, _ in enumerate(tasks):
                yield TaskResult(index, None, "timeout", "it took more than 60 s", 60.0)

    late = verify([COUNT], engine=Late(), store=store)
    assert (late.rows[0].verdict, late.rows[0].lost, late.is_clean) == ("failed", True, False)
    assert "timeout: it took more than 60 s" in late.rows[0].reason
    assert verify([COUNT], engine=SingleProcessEngine(), store=store).rows[0].verdict == "holds"


def test_a_mutants_verdict_is_not_the_claims(store):
    engine = Counting()
    mutant = MUTANTS["svrg-double-lo"]
    for _ in range(2):
        (caught,) = Session(engine=engine, store=store).catch_mutants([mutant])
        assert [verdict.claim.name for verdict in caught.catching_verdicts] == [COUNT]
        assert verify([COUNT], engine=engine, store=store).is_clean
    assert engine.done == len(mutant.expected_claims) + 1
    found = {row.algorithm: row.status for row in store.rows() if row.claim == COUNT}
    assert found == {"mutant svrg-double-lo": "violated", None: "holds"}


def test_findings_are_examined_once(store):
    engine = Counting()
    errata = [ERRATA[name] for name in ("shen2019-(4)", "shen2019-(9)-svrg")]
    first, second = (Session(engine=engine, store=store).examine(errata) for _ in range(2))
    assert first == second
    assert all(finding.is_shown for finding in first)
    assert engine.done == 2
    assert {row.status for row in store.rows()} == {"shown"}


class Fails(SingleProcessEngine):
    """An engine whose every task ends in one way."""

    def __init__(self, status, reason):
        self.status, self.reason = status, reason

    def do(self, tasks):
        for index, _ in enumerate(tasks):
            yield TaskResult(index, None, self.status, self.reason, 1.0)


def test_a_finding_whose_examination_is_lost_says_why_and_is_not_stored(store):
    erratum = ERRATA["shen2019-(4)"]
    engine = Fails("timeout", "it took more than 300 s")
    (lost,) = Session(engine=engine, store=store).examine([erratum])
    assert (lost.erratum, lost.is_shown, dict(lost.evidence)) == (erratum, False, {})
    assert lost.failure_reason == "timeout: it took more than 300 s"
    assert lost.as_json()["evidence"] == {"shown": False, "lost": lost.failure_reason}
    assert list(store.keys("finding")) == []
    (made,) = Session(engine=SingleProcessEngine()).examine([erratum])
    assert made.failure_reason == ""
    assert "lost" not in made.as_json()["evidence"]


def raising(effort, seed):
    raise ZeroDivisionError("a batch of none")


def unshown(effort, seed):
    return ExaminationEvidence(printed_fails=False, corrected_holds=True, numbers={"x": 1.0})


def test_an_examination_that_raises_says_what_and_one_that_fails_shows_nothing(store):
    erratum = replace(ERRATA["li2019-(30)"], examine=raising)
    (lost,) = Session(engine=SingleProcessEngine(), store=store).examine([erratum])
    assert not lost.is_shown
    assert lost.failure_reason.startswith("error: ZeroDivisionError: a batch of none (line ")
    assert list(store.keys("finding")) == []
    assert not examine(replace(erratum, examine=unshown)).is_shown


def test_errata_are_examined_in_processes_with_their_progress():
    errata, told = [ERRATA["li2019-(30)"], ERRATA["li2019-(74)"]], []
    found = Session(
        engine=MultiProcessEngine(1), seed=3, progress=lambda one, made: told.append(one)
    ).examine(errata)
    assert [finding.erratum for finding in found] == errata
    assert all(finding.is_shown for finding in found)
    assert sorted(one.erratum.name for one in told) == sorted(erratum.name for erratum in errata)
    assert found == [examine(erratum, "quick", 3) for erratum in errata]


def test_a_verdict_on_somebodys_algorithm_depends_on_its_module():
    assert __name__ in describe_as_json(Subject(algorithm=MySpider)).modules
    assert __name__ in describe_as_json(Subject(algorithm=Parametrised())).modules


def test_what_cannot_be_said_in_full_is_not_stored():
    said = describe_as_json(Subject(algorithm=Parametrised(0.1))).content
    assert said[1]["algorithm"] == [f"{__name__}:Parametrised", {"step": 0.1}]
    for subject in (
        Subject(algorithm=Parametrised(np.zeros(3))),
        Subject(algorithm=SimpleNamespace()),
        Subject(algorithm=MySpider, oracles=lambda right: right),
        Subject(oracles=lambda right: right),
    ):
        assert describe_as_json(subject).content is None
        asked = Session(engine=SingleProcessEngine())._claim_request(CLAIMS[MEAN], subject, None)
        assert asked.cached_task.content is None


def test_an_edited_instance_or_bound_is_another_verdict():
    """What a claim holds is said in full, down to the constants of its instances."""
    told = CLAIMS["qu2018-thm3"]
    other = replace(
        told, instances=(make_instance(told.instances[0].build, d=21, n=27, rise=10.0),)
    )
    assert describe_as_json(told).content != describe_as_json(other).content
    assert "pfbench.claims.qu2018.theorem3" in describe_as_json(told).modules


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
    verify([COUNT], engine=SingleProcessEngine())
    assert list(tmp_path.iterdir()) == []
