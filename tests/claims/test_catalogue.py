"""What holds of every claim, mutant and erratum, whatever its paper."""

import builtins
import dis
import inspect
import json
import pickle
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from judging import assert_complete, pairs

from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError
from pfbench.base.status import NEAR
from pfbench.claims import jaggi2013
from pfbench.claims.catalogue import (
    CLAIMS,
    ERRATA,
    MUTANTS,
    PAPERS,
    claim,
    select_claims,
    select_mutants,
)
from pfbench.runs.storage.content_keys import is_pfbench_module, reachable_files_by_module
from pfbench.verification import statistics
from pfbench.verification.claim import KINDS
from pfbench.verification.session import Verification, describe_as_json
from pfbench.verification.subject import EditedMethod
from pfbench.verification.summaries import slack_factor
from pfbench.verification.user_claims import collect_paper

ROOT = Path(__file__).parents[2]
ROOM = "pfbench.claims."
REPLAY = "pfbench.verification.replay."
QUICK = [one for one in CLAIMS.values() if one.expected_seconds[0] is not None]

ERROR_LAWS = {f"shen2019-mse-{name}" for name in ("spiderg", "casvrg", "caspiderg")}
COUNTS = [name for name in CLAIMS if name.startswith("methods-count-")]

AS_OTHERS = {
    *({*COUNTS} - {*COUNTS[::36]} | ERROR_LAWS),
    *("shen2019-mse-svrg", "lacoste2016-descent", "pethick2025-thm5.6", "pethick2025-lemD.3"),
    *("pethick2025-lemD.4", "pethick2025-lemD.6", "pethick2025-lemD.7", "li2019-nonconvex"),
    *("li2019-lemma1", "li2019-thm1-lo", "li2019-thm1-fo", "layers-descent-muon-nesterov"),
    *("layers-descent-uscg", "layers-descent-signum"),
}
"""Claims that are long: others have the same check, and test_counts.py every count."""

LONG = {"lacoste2016-rate", "wang2019-step", *ERROR_LAWS}
"""Claims of which every fault is long: methods that go nowhere spend their whole budget."""

MODERATE = 0.5
"""Seconds: faults of a claim that takes as long are long, but for the first of each paper."""


VERDICTS = {
    ("holds",): (
        *("shen2019-count-*", "shen2019-unbiased-*", "shen2019-rem3.1", "shen2019-rlrmr-sso"),
        *("qu2018-cor2", "qu2018-cor3", "li2019-thm1-*", "li2019-variance", "li2019-lemma1"),
        *("lacoste2016-affine", "halbey2026-*", "wirth2025-*"),
    ),
    ("holds", "within-10"): ("li2019-thm2", "wang2019-thm3"),  # near the limit, or by the effort
    ("within-10",): (
        *("shen2019-thm*", "shen2019-mse-*", "shen2019-table1-*", "shen2019-crossover-*"),
        *("li2019-thm1", "li2019-cor3", "li2019-stat", "wang2019-*"),
        *("lacoste2016-rate", "lacoste2016-local", "jaggi2013-thm1"),
        *("pethick2025-thm5.[567]", "pethick2025-uscg-mvr", "pethick2025-lemD.2-scg"),
        *("relatives-gap-*", "relatives-smooth-*", "relatives-nfwu-*", "relatives-mse-nfwu-page"),
        *("relatives-mapping-prox-page", "relatives-height-*", "polytopes-openloop-general"),
        "martinezrubio2025-gap-optimistic",
    ),
    NEAR: ("qu2018-condg-*", "qu2018-thm1-*", "lacoste2016-descent", "lacoste2016-thm1"),
    ("attained",): (
        *("pethick2025-dual-gap", "pethick2025-lemD.*", "pethick2025-radius-*"),
        *("pethick2025-thm5.4", "kim2026-thm1", "kim2026-ns-residual", "relatives-importance-law"),
        *("peng2026-thm3.1", "amsel2025-thm*", "martinezrubio2025-*"),
    ),
    ("disputed",): ("shen2019-sagafw", "li2019-nonconvex"),
    ("holds", "within-10", "attained", "inconclusive"): ("*",),
}
"""Patterns of claims by the verdicts that they may have; the first pattern that fits counts."""


def expected_verdicts(claim):
    return next(
        verdicts
        for verdicts, patterns in VERDICTS.items()
        if any(fnmatchcase(claim, pattern) for pattern in patterns)
    )


def test_the_papers_are_gathered_whole_and_every_name_is_given_once():
    assert list(PAPERS) == [
        *("shen2019", "qu2018", "li2019", "wang2019", "lacoste2016", "jaggi2013"),
        *("pethick2025", "polytopes", "relatives", "kim2026", "halbey2026", "wirth2025"),
        *("peng2026", "hu2026", "layers", "defazio2014", "schmidt2017", "amsel2025"),
        *("martinezrubio2025", "shulgin2026", "jang2026", "zhang2026", "richtarik2026", "methods"),
    ]
    counts = [len(CLAIMS), len(MUTANTS), len(ERRATA)]
    papers = PAPERS.values()
    assert counts == [
        sum(map(len, (getattr(paper, what) for paper in papers)))
        for what in ("claims", "mutants", "errata")
    ]
    assert counts[0] >= 68
    assert counts[1] >= 88
    assert counts[2] >= 25


def test_a_claim_and_its_instances_say_all_that_they_must():
    for told in CLAIMS.values():
        assert told.kind in KINDS, told.name
        assert told.paper in PAPERS, told.name
        assert re.search(r"[a-z]+", told.source), told.name
        assert len(told.statement) > 20, told.name
        assert told.schedule, told.name
        quick, full = told.expected_seconds
        assert full >= (quick or 0.0) > -1.0, told.name
        assert told.algorithm in {*ALGORITHMS, ""}, told.name
        assert (told.complexity is not None) == (told.kind == "rate"), told.name
        assert told.instances, told.name
        for instance in told.instances:
            assert len(instance.description) > 20, told.name
            assert "<" not in instance.build.__qualname__, told.name


def test_two_claims_are_disputed():
    disputed = {told.name for told in CLAIMS.values() if told.disputed}
    assert disputed == set(VERDICTS["disputed",])


def test_the_quick_verification_covers_every_kind_and_every_paper():
    assert {one.kind for one in QUICK} == {one.kind for one in CLAIMS.values()}
    assert {one.paper for one in QUICK} == set(PAPERS)
    assert select_claims((), "quick") == QUICK
    assert select_claims((), "full") == list(CLAIMS.values())


def test_every_paper_has_faults_that_name_its_claims():
    for paper in PAPERS.values():
        expected = {one for mutant in paper.mutants for one in mutant.expected_claims}
        assert expected
        assert expected <= set(paper.claims)
    assert len(select_mutants()) == len(MUTANTS)
    own = select_mutants(["pfbench.claims.jaggi2013:PAPER"])  # each once, as a stranger's
    assert [m.name for m in own] == [m.name for m in jaggi2013.PAPER.mutants]
    assert {m.name for m in select_mutants(["qu2018-thm2"])} == {
        "ncgs-stochastic-one-sample",
        "ncgs-stochastic-two-batches",
    }


def test_an_edit_stands_in_the_source_and_every_name_in_it_is_known():
    """Else it would be caught by a NameError, whatever the claim sees."""
    edited = [one for one in MUTANTS.values() if isinstance(one.subject, EditedMethod)]
    assert len(edited) > 100
    for mutant in edited:
        assert_names_are_known(mutant)


def assert_names_are_known(mutant):
    within, found = mutant.subject.edited_part, mutant.subject.algorithm_under_test()
    assert found.name == mutant.subject.algorithm.name
    spaces = [f.__globals__ for kind in found.__mro__ for f in functions_of(kind)]
    first = within.__qualname__.partition(".")[0]
    changed = {id(space[first]): space[first] for space in spaces if first in space}
    changed.pop(id(getattr(sys.modules[within.__module__], first)), None)
    (edited,) = changed.values()
    for function in functions_of(edited):
        for code in codes_of(function.__code__):
            asked = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
            assert asked <= {*function.__globals__, *vars(builtins)}, mutant.name


def functions_of(kind):
    """The functions of a class, or a function itself."""
    held = vars(kind).values() if inspect.isclass(kind) else (kind,)
    plain = (getattr(one, "fget", None) or getattr(one, "__func__", one) for one in held)
    return [one for one in plain if inspect.isfunction(one)]


def codes_of(code):
    """The code of a function, and of those within it."""
    inner = (one for one in code.co_consts if inspect.iscode(one))
    return [code, *(found for one in inner for found in codes_of(one))]


def test_no_text_cites_what_is_not_in_the_repository():
    files = [*(ROOT / "pfbench" / "claims").rglob("*.py")]
    files += (ROOT / "pfbench" / "verification").rglob("*.py")
    for file in files:
        assert not re.search(r"THEORY|BASELINES|DESIGN\.md", file.read_text()), file


def test_it_reaches_other_processes_and_can_be_said_in_full():
    for one in (*CLAIMS.values(), *MUTANTS.values(), *ERRATA.values()):
        again = pickle.loads(pickle.dumps(one))
        assert again.name == one.name
        said = describe_as_json(again)
        assert json.dumps(said.content) == json.dumps(describe_as_json(one).content), one.name
        assert any(module.startswith((ROOM, REPLAY)) for module in said.modules), one.name


def test_a_verdict_depends_on_its_theorem_and_not_on_others():
    """No other paper's file and no other file with claims, so that no edit there makes it stale."""
    for told in CLAIMS.values():
        modules = describe_as_json(told).modules
        own = {module for module in modules if module.startswith(ROOM)}
        reached = {
            module for module in reachable_files_by_module(modules) if is_pfbench_module(module)
        }
        assert own <= reached, told.name
        rooms = {module.split(".")[1] for module in reached if "." in module}
        assert not rooms & {"cli", "reporting"}, told.name
        assert {"pfbench.runs.loop.solve", "pfbench.oracles"} <= reached, told.name
        for module in reached:
            if module.startswith(ROOM):
                assert module.startswith(f"{ROOM}{told.paper}."), told.name
                others = collect_paper(vars(sys.modules[module]).values()).claims
                assert not others or told in others, module


def test_an_unknown_claim_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'li2019-thm1'"):
        claim("li2019-thm11")
    with pytest.raises(InputError, match="did you mean 'lacoste2016-affine'"):
        select_mutants(["lacoste2016-affinee"])


def test_a_list_of_claims_and_its_digest_load_what_they_need():
    script = (
        "from pfbench.claims.catalogue import CLAIMS; import sys\n"
        "from pfbench.runs.storage.content_keys import source_digest\n"
        "from pfbench.verification.session import describe_as_json\n"
        "source_digest(describe_as_json(CLAIMS['shen2019-count-sg']).modules); print(*sys.modules)"
    )
    run = [sys.executable, "-c", script]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    assert not {"PEPit", "cvxpy", "matplotlib", "distributed", "sklearn"} & set(loaded)


@pytest.mark.claims
@pytest.mark.parametrize(
    "told",
    [
        pytest.param(one, marks=[pytest.mark.long] if one.name in AS_OTHERS else [], id=one.name)
        for one in QUICK
    ],
)
def test_a_claim_is_not_violated(told, judgements):
    row = judgements(told)
    assert row.verdict in expected_verdicts(told.name), row.reason
    assert not told.disputed or row.measured["verdict"] == "holds"
    if row.verdict.keeps_bound:
        assert (slack_factor(row.measured) or 1.0) >= 1.0 - 1e-6, "a ratio above 1 next to *holds*"
    assert not row.lost
    assert row.repetitions > 0
    assert row.measured
    assert row.claimed or told.name.startswith("methods-law-")  # draws have no number


@pytest.mark.claims
def test_no_more_tests_share_the_level_than_it_is_split_for(judgements):
    """A quick verification makes some 200 tests; one that made too many would not be clean."""
    assert pytest.approx(1e-6) == statistics.MOST_TESTS * statistics.LEVEL
    row = judgements(CLAIMS["shen2019-mse-sg"])
    made = row.measured["tests"]
    assert made > 0
    one, many = Verification([row]), Verification([row] * int(statistics.MOST_TESTS / made + 1))
    assert (one.tests, one.is_clean) == (made, True)
    assert many.tests > statistics.MOST_TESTS
    assert not many.is_clean


@pytest.mark.parametrize("paper", PAPERS)
def test_all_that_a_paper_holds_can_be_used_anywhere(paper):
    assert_complete(PAPERS[paper])


def faults():
    """Yield each planted fault with each claim that must catch it."""
    seen = set()
    for paper in PAPERS.values():
        for mutant, told in pairs(paper.mutants):
            later = paper.key in seen and told.expected_seconds[0] >= MODERATE
            long = [pytest.mark.long] if later or told.name in LONG else []
            yield pytest.param(mutant, told, marks=long, id=f"{mutant.name}-{told.name}")
            seen.add(paper.key)


@pytest.mark.thin(2)
@pytest.mark.claims
@pytest.mark.parametrize(("mutant", "told"), [*faults()])
def test_a_fault_is_caught_by_each_claim_that_must(mutant, told, judgements):
    judgements.assert_caught(mutant, told)
