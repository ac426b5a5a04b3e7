"""An archive of claims: whole, checked by running it again, and each forged part is seen."""

import sys

import pytest
from forged_archives import (
    THEOREM,
    archived,
    change_run,
    checked_elsewhere,
    checking,
    content,
    fewer_calls,
    forged,
    run,
    without_one,
)

from pfbench.archive.checker import _ClaimsTasks
from pfbench.archive.claim_tasks import (
    describe_claims,
    describe_failure_with_other_data,
    is_fault_confirmed,
    list_claim_runs,
    recompute_verdict,
)
from pfbench.archive.page import (
    badge_phrases,
    count_caught_and_catchable_faults,
    make_archive_page_files,
)
from pfbench.archive.unpacking import read_runs, source_digest
from pfbench.verification.session import judge
from pfbench.verification.user_claims import load_claims


def test_it_holds_all_that_it_should(archive):
    about, inside = content(archive)
    assert {"page.md", "badge.svg", "lock.txt", "store.sqlite", "code/lazy_descent.py"} == {*inside}
    assert about["title"] == "lazy-falls; lazy-count"
    assert [one["name"] for one in about["claims"]] == ["lazy-falls", "lazy-count"]
    assert about["claims"][0]["homogeneous"] is True
    assert about["source"] == source_digest()
    assert [one["verdict"] for one in about["verdicts"]] == ["attained", "holds"]
    count = about["verdicts"][1]
    assert count["measured"]["sfo"] == 40.0 == count["claimed"][": sfo"]
    (planted,) = about["faults"]["planted"]
    assert planted["caught_by"] == ["lazy-count"]
    assert len(about["faults"]["generated"]) == 3
    caught, faults = count_caught_and_catchable_faults(about)
    assert badge_phrases(about)[0] == "holds"
    assert f"{caught} of {faults} faults caught" in inside["badge.svg"].decode()
    assert "| lazy-falls |" in inside["page.md"].decode()


def test_an_honest_one_passes_elsewhere(archive, tmp_path):
    found = checked_elsewhere(archive, tmp_path)
    assert (found["runs"], found["verdicts"], found["new"]) == ([40, 40], [2, 2], 3)
    assert found["inside"] == {"faults": found["faults"][0], "statements": 2, "verdicts": 4}
    assert "lazy_descent" not in sys.modules


@pytest.mark.slow
def test_a_claim_that_is_violated_is_told_and_its_archive_says_so(folder):
    wrong = THEOREM.replace("c.n * a.iterations / 2", "c.n * a.iterations / 3")
    given = "lazy_wrong.py", "-o", "wrong.zip", "--faults", 0
    done = archived(folder, {"lazy_wrong.py": wrong}, *given, status=1)
    assert "lazy-count is violated: the mean over all draws of sfo is 40, not 26.6" in done.stderr
    about, _ = content(folder / "wrong.zip")
    assert [one["verdict"] for one in about["verdicts"]] == ["attained", "violated"]


# --- what is written in it ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda about: about["faults"]["planted"].clear(), "the planted faults are not those"),
        (lambda about: about["faults"]["generated"].pop(), "the generated faults are not those"),
        (
            lambda about: about["faults"]["generated"][0].update(admissible="a line of proof"),
            "the generated faults are not those",
        ),
        (lambda about: about["verdicts"].reverse(), "the verdicts are not about the claims"),
        (
            lambda about: about["claims"][0].update(statement="f(x_t) - min f <= Delta/t"),
            "Delta/t in the archive",
        ),
    ],
)
def test_what_follows_from_the_code_is_what_it_says(archive, theorem, tmp_path, change, says):
    check = checking(archive, tmp_path / "inside")
    said = describe_claims(theorem, check.manifest["faults"]["most"])
    _ClaimsTasks(check, check.manifest).compare_with_manifest(said)
    assert check.outcome.deviations == []
    change(check.manifest)
    _ClaimsTasks(check, check.manifest).compare_with_manifest(said)
    assert any(says in text for text in check.outcome.deviations)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (change_run(fewer_calls), "differs here in sfo"),
        (without_one, "1 planned runs are not in the archive"),
        (None, ""),
    ],
)
def test_forged_runs_are_seen(archive, theorem, tmp_path, runs, says):
    check = checking(forged(archive, tmp_path / "forged.zip", runs=runs), tmp_path / "inside")
    stored = read_runs(tmp_path / "inside")
    _ClaimsTasks(check, check.manifest).compare_planned_runs(stored, list_claim_runs(theorem, 0))
    check.process_until_time_limit(list(check.rerun_and_new_seed_tasks(stored)))
    assert all(says in text for text in check.outcome.deviations)
    assert bool(says) == bool(check.outcome.deviations)


@pytest.mark.parametrize("part", ["claimed", "reason", "measured"])
def test_each_part_of_a_verdict_is_recomputed(archive, theorem, tmp_path, part):
    about, _ = content(archive)
    there = next(one for one in about["verdicts"] if one["claim"] == "lazy-count")
    again = recompute_verdict(theorem, "lazy-count", "quick", about["seed"])
    check = checking(archive, tmp_path / "inside")
    tasks = _ClaimsTasks(check, check.manifest)
    tasks.compare_verdict(there, again)
    assert check.outcome.deviations == []
    told = "Found by all." if part == "reason" else there[part] | {"sfo": 1.0, ": sfo": 1.0}
    tasks.compare_verdict(there | {part: told}, again)
    assert f"the verdict on lazy-count: {part}" in check.outcome.deviations[0]


def test_a_fault_that_changes_something_does_not_pass_for_one_that_does_not(
    archive, theorem, tmp_path
):
    about, _ = content(archive)
    found = next(one for one in about["faults"]["generated"] if one["found_by"])
    how, fault = (about["effort"], about["seed"]), (found["method"], found["fault"])
    assert is_fault_confirmed(theorem, (*fault, found["found_by"]), *how)
    assert not is_fault_confirmed(theorem, (*fault, ""), *how)
    assert not is_fault_confirmed(theorem, ("", "lazy-eager", "lazy-falls"), *how)
    check = checking(archive, tmp_path / "inside")
    check.manifest["faults"]["generated"][0] |= {"found_by": None, "equivalent": "runs"}
    asked = {one.description for one in _ClaimsTasks(check, check.manifest).fault_tasks()}
    name = check.manifest["faults"]["generated"][0]["fault"]
    assert f"fault {name}" in asked  # there are four, and all are looked at


def test_a_fault_by_which_the_method_raises_is_caught(importable):
    right = "        for _ in range(self.iterations):\n            x = x - self.step"
    raising = THEOREM.replace(right, right.replace("self.iterations", "before"))
    theorem = importable("lazy_raises", raising)
    assert is_fault_confirmed(theorem, ("", "lazy-eager", "lazy-count"), "quick", 0)


@pytest.mark.thin(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["page.md", "badge.svg"])
def test_pages_that_lie_are_seen(archive, tmp_path, monkeypatch, name):
    def lie(files):
        return {**files, name: files[name].replace(b"attained", b"proved") + b"!"}

    path = forged(archive, tmp_path / "page.zip", files=lie)
    monkeypatch.chdir(tmp_path)
    done = run("archive", "check", path, "--jobs", 1, "--seconds", 1)
    assert done.exit_code == 1
    assert f"{name} does not match the results" in done.stderr


LOOKUP = """
import sys
from dataclasses import dataclass

import numpy as np

import pfbench as pf
from pfbench.claims import Claim, bound

FIXED = "quadratic[rows=20,columns=3,source=synthetic,set=none]"
KNOWN = pf.problem("quadratic", rows=20, columns=3, source="synthetic", set="none")


def least(problem):
    zero = np.zeros(problem.d)
    slope = problem.gradient(zero)
    curvature = [problem.gradient(one) - slope for one in np.eye(problem.d)]
    return np.linalg.solve(np.array(curvature), -slope)


@dataclass(frozen=True, kw_only=True)
class ByDigest(pf.Algorithm):
    "Knows where the minimum of one problem is, by the bytes of its first gradient."

    name = "by-digest"
    requires = frozenset({"gradient", "smooth"})
    deterministic = True
    iterations: int

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = self.next(x, ask.gradient(x))
            yield pf.State(x)

    def next(self, x, g):
        return least(KNOWN) if np.allclose(g, KNOWN.gradient(KNOWN.start())) else x


class ByName(ByDigest):
    "Takes the problem of that name from the frames below it."

    def next(self, x, g):
        frame = sys._getframe()
        while frame is not None:
            for one in frame.f_locals.values():
                if getattr(one, "name", "") == "quadratic" and hasattr(one, "gradient"):
                    return least(one)
            frame = frame.f_back
        return x


class Honest(ByDigest):
    def next(self, x, g):
        return x - g / 4


def claimed(method, part):
    most = lambda c, a: part * c.delta
    steps = lambda c: {"iterations": 4}
    check = bound(most, "suboptimality", statistic="last", parameters=steps)
    name, on = f"of-{method.__name__.lower()}", (FIXED,)
    return Claim(name=name, statement="", algorithm=method, instances=on, check=check)


CLAIMS = [claimed(ByDigest, 1e-6), claimed(ByName, 1e-6), claimed(Honest, 1.0)]
"""


def test_a_method_that_looks_its_problem_up_is_seen_with_other_data(importable):
    """Each claim holds on the problem that it states, and would be recomputed to the bit."""
    theorem = importable("looking_up", LOOKUP)
    claims = load_claims(theorem).claims
    assert not [claim.name for claim in claims if judge(claim).is_violated_or_lost]
    found = {
        claim.name: describe_failure_with_other_data(theorem, claim.name, "quick", 3)
        for claim in claims
    }
    assert found["of-honest"] == ""
    for name in ("of-bydigest", "of-byname"):
        assert f"on renamed instances with other data, {name} is violated" in found[name]


def test_nothing_of_a_title_is_run_or_shown_as_its_own(archive):
    nasty = (
        '<script>alert(1)</script>[free](javascript:alert(1))![x](https://a.org) @all\n# "proved"'
    )
    about, _ = content(archive)
    about["claims"][0]["statement"] = about["title"] = nasty
    about["verdicts"][0]["reason"] = nasty
    page = make_archive_page_files(about)["page.md"].decode()
    assert "<script" not in page + make_archive_page_files(about)["badge.svg"].decode()
    assert "](" not in page
    assert "@" not in page
    assert '\n# "' not in page
