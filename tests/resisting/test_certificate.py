"""The certificate: who gets it, who is caught, and what becomes of edited files."""

import json
import math
import shutil
from dataclasses import dataclass, replace

import numpy as np
import pytest
from contenders import (
    Draws,
    DrawsElsewhere,
    Internal,
    Leaves,
    LinearRule,
    Own,
    PastTheLedger,
    Peeks,
    Walk,
    f,
    slope,
)
from helpers import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from pfbench.base.errors import DataError, InputError, RefusedError
from pfbench.base.state import State
from pfbench.points import combine
from pfbench.resisting import (
    certify,
    check_certificate,
    list_contestants,
    make_contestant,
    write_certificate,
)
from pfbench.resisting.certificate import _digest, build_outcome, transcript_path
from pfbench.resisting.replay import check_answers, relative_error, replay_queries
from pfbench.resisting.resisting_oracle import make_resisting_chain
from pfbench.resisting.transcript import KINDS, Transcript, file_digest

GRADIENT, VALUE, LO, PROX, YIELD = range(len(KINDS))


def certified(text, T, **options):
    return certify(make_contestant(text, make_resisting_chain(T, options.get("d"))), T, **options)


def own(algorithm, T=10, **options):
    return certify(algorithm.contestant(), T, **options)


def test_a_query_of_nan_differs_from_every_other():
    assert relative_error(np.zeros(2), np.zeros(2)) == 0.0
    assert math.isnan(relative_error(np.full(2, np.nan), np.ones(2)))


# --- who is certified -----------------------------------------------------------------------------


@pytest.mark.thin(6)
@pytest.mark.parametrize("T", [1, 2, 10, 50, 200])
@pytest.mark.parametrize("text", list_contestants())
def test_every_algorithm_of_the_theorem_is_certified_for_lo(text, T):
    found = certified(text, T).certificate
    assert found.certified, found.findings
    assert found.certified_for == "lo"
    assert found.findings == ()
    assert found.min_gap_over_diameter >= 0.04
    assert max(found.answer_max_relative_error, found.query_max_relative_error) <= 1e-9
    assert found.calls_to_target is None or found.calls_to_target >= T
    assert found.counts.lo >= T


def test_the_contestants_are_those_of_the_catalogue_that_satisfy_14():
    names = [text.partition("[")[0] for text in list_contestants()]
    assert {
        "frank-wolfe",
        "ncgs",
        "cgs",
        "nfwu-sg",
        "nfwu-svrg",
        "nfwu-spiderg",
        "nfwu-storm",
    } == set(names)
    texts = "".join(list_contestants())
    for rule in ("line-search", "adaptive", "open-loop", "option=1", "option=2"):
        assert rule in texts


def test_gaps_and_counts_are_those_of_a_second_evaluation():
    outcome = certified("frank-wolfe[step=open-loop,iterations=16]", 8)
    V, transcript = outcome.transcript.directions.T, outcome.transcript
    R, lo, gaps, order = 230.0 * math.sqrt(8), 0, {}, []
    for event in transcript.events():
        if event.kind == LO:
            lo += 1
            continue
        x = transcript.point(event)
        g = slope(x, V)
        order.append(x @ g + R * np.linalg.norm(g))
        gaps.setdefault(lo, []).append(order[-1])
        if event.kind == VALUE:
            assert event.number == pytest.approx(f(x, V))
    found = outcome.certificate
    least = min(min(some) for calls, some in gaps.items() if calls < 8)
    assert found.min_gap_over_diameter == pytest.approx(least / (2.0 * R))
    assert found.counts.lo == lo == 16
    assert [p.gap for p in outcome.answer_check.visited_points] == pytest.approx(order)


def test_the_line_search_comes_below_the_floor_right_after_T():
    """The adversary is no stronger than the theorem says: T + 1 calls are enough."""
    found = certified("frank-wolfe[iterations=20]", 12).certificate
    assert found.certified_for == "lo"
    assert found.calls_to_target == 13


def test_projected_gradient_is_certified_for_gradient_queries_alone():
    outcome = certified("projected-gradient", 12)
    found = outcome.certificate
    assert [passed.lo for passed in outcome.answer_check.visited_points] == [0] * len(
        outcome.answer_check.visited_points
    )
    assert found.certified
    assert found.certified_for == "gradient"
    assert len(found.findings) == 1
    assert "the algorithm projects" in found.findings[0]
    assert found.counts.po == 12


@given(number=st.integers(0, 2**32 - 1), T=st.integers(1, 8), foreign=st.booleans())
@settings(max_examples=30)
def test_random_linear_rules_of_lo_outputs_are_certified_for_lo(number, T, foreign):
    rule = LinearRule(number=number, foreign=foreign, iterations=T + 2)
    found = own(rule, T, d=2 * T + 60).certificate
    assert found.certified, found.findings
    assert found.certified_for == "lo", found.findings


@pytest.mark.parametrize("T", [4, 10])
def test_the_counter_example_is_refused_for_lo_and_certified_for_gradient_queries(T):
    outcome = own(Internal(descent=400 * T), T)
    found = outcome.certificate
    assert found.certified, found.findings
    assert found.certified_for == "gradient"
    assert "leaves the span" in found.findings[0]
    # Without the second condition of theorem 5.1 it is false: two LO calls reach the minimiser.
    after_two = [p.gap for p in outcome.answer_check.visited_points if p.lo == 2]
    assert min(after_two) <= 1e-3 * 230.0 * math.sqrt(T)
    assert outcome.answer_check.min_gap_before_call(T, "lo") < 0.08 * 230.0 * math.sqrt(T)
    assert found.calls_to_target >= T


def test_a_method_that_stops_early_is_certified_for_what_it_did():
    found = own(Walk(iterations=3)).certificate
    assert found.certified_for == "lo"
    assert found.counts.lo == 3


# --- cheats ---------------------------------------------------------------------------------------


CHEATS = {
    Peeks: "check (ii) fails",
    Draws: "the algorithm is random",
    DrawsElsewhere: "the algorithm is random",
    PastTheLedger: "the algorithm makes uncounted queries: the oracle answered "
    "20 fo instead of 10, 20 sfo instead of 10",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_caught_by_its_own_message(cheat):
    found = own(cheat()).certificate
    assert not found.certified
    assert found.certified_for is None
    assert found.findings[0].startswith(CHEATS[cheat])
    others = [message for other, message in CHEATS.items() if message != CHEATS[cheat]]
    assert not any(found.findings[0].startswith(message) for message in others)


def test_one_that_leaves_the_span_keeps_the_floor_for_gradient_queries():
    found = own(Leaves(), 20).certificate
    assert found.certified_for == "gradient"
    (finding,) = found.findings
    assert finding.startswith("the algorithm leaves the span of start and LO outputs")
    assert found.span_max_relative_distance > 1e-9


class Nudges(Walk):
    """Leaves the span by a little more, or less, than is allowed."""

    relative = 1e-8

    def at(self, ask, x, rng, t):
        if t != 5:
            return x
        aside = np.zeros(x.size)
        aside[0] = self.relative * np.linalg.norm(x)
        return x + aside


class NudgesLess(Nudges):
    relative = 1e-10


@pytest.mark.parametrize(("kind", "counted"), [(Nudges, "gradient"), (NudgesLess, "lo")])
def test_the_span_is_left_at_1e_minus_9(kind, counted):
    assert own(kind()).certificate.certified_for == counted


@dataclass(frozen=True, kw_only=True)
class Mends(Own):
    """Yields points that it never asks about."""

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            u = ask.lo(ask.gradient(x))
            x = combine(x, u, 2.0 / (t + 2.0))
            yield State(0.5 * x, at=x, output=0.25 * x)


def test_points_that_are_yielded_and_never_asked_count_too():
    outcome = own(Mends(), 10)
    assert outcome.certificate.certified_for == "lo"
    assert len(outcome.answer_check.visited_points) == 1 + 10 + 3 * 10


def test_an_algorithm_that_fails_is_told():
    class Fails(Walk):
        def at(self, ask, x, rng, t):
            raise KeyError("oops")

    with refused("own raised KeyError"):
        own(Fails())


# --- the two checks find what is wrong ------------------------------------------------------------


@pytest.fixture(scope="module")
def outcome():
    """Line search: every kind of event but projections."""
    return certified("frank-wolfe", 8)


def answers_of(outcome, transcript):
    V = np.ascontiguousarray(transcript.directions).T
    return check_answers(replace(make_resisting_chain(8), directions=V), transcript)


def test_a_changed_answer_fails_check_i(outcome):
    for kind in (GRADIENT, VALUE):
        transcript = copied(outcome.transcript)
        number = next(i for i, e in enumerate(transcript.events()) if e.kind == kind)
        if kind == GRADIENT:
            row = transcript.columns["answer"][number]
            transcript.rows[row] *= 1.0 + 1e-8
        else:
            transcript.columns["number"][number] *= 1.0 + 1e-8
        assert answers_of(outcome, transcript).error > 1e-9
    assert answers_of(outcome, outcome.transcript).error < 1e-12


def test_changed_directions_fail_check_i(outcome):
    transcript = copied(outcome.transcript)
    transcript.directions[[1, 2]] = transcript.directions[[2, 1]]
    assert answers_of(outcome, transcript).error > 1e-3


def queries_of(transcript, algorithm):
    return replay_queries(algorithm, make_resisting_chain(8), transcript, np.random.default_rng(0))


def test_another_algorithm_fails_check_ii(outcome):
    base = make_contestant("frank-wolfe", make_resisting_chain(8)).algorithm
    assert queries_of(outcome.transcript, base).departure == ""
    for changed, words in (
        (replace(base, iterations=7), "before the transcript ends"),
        (replace(base, iterations=9), "goes on after the transcript's end"),
        (replace(base, step="adaptive"), "event"),
        (replace(base, curvature=2.0 * base.curvature), "event"),
    ):
        assert words in queries_of(outcome.transcript, changed).departure


class OtherRounding:
    """Oracles seen from a machine that rounds otherwise: every vector that is handed in differs."""

    def __init__(self, ask):
        self.ask, self.n, self.D = ask, ask.n, ask.D
        self.noise = np.random.default_rng(0)

    def changed(self, x, by=1e-15):
        return x + by * self.noise.standard_normal(x.size)

    def gradient(self, x):
        return self.ask.gradient(self.changed(x, 1e-15 * np.linalg.norm(x)))

    def lo(self, g):
        return self.ask.lo(self.changed(g))

    def value(self, x):
        return self.ask.value(self.changed(x, 1e-15 * np.linalg.norm(x)))


@pytest.mark.parametrize("text", ["ncgs[option=1]", "ncgs[option=2]", "cgs", "frank-wolfe"])
def test_another_rounding_passes_check_ii(text):
    """The last LO input of an inner loop is all rounding, and its direction another one there."""
    one = make_contestant(text, make_resisting_chain(8))
    transcript = certify(one, 8).transcript

    class There(Walk):
        def run(self, ask, x, rng):
            return one.algorithm.run(OtherRounding(ask), x, rng)

    found = queries_of(transcript, There())
    assert found.departure == ""
    assert 1e-17 < found.error < 1e-12


def test_a_wrong_lo_output_fails_check_ii(outcome):
    algorithm = make_contestant("frank-wolfe", make_resisting_chain(8)).algorithm
    row = next(e.answer for e in outcome.transcript.events() if e.kind == LO)
    for change in (lambda u: -u, lambda u: 0.999 * u, lambda u: 1.001 * u):
        transcript = copied(outcome.transcript)
        transcript.rows[row] = change(transcript.rows[row])
        assert queries_of(transcript, algorithm).departure != ""


def test_a_wrong_projection_fails_check_ii():
    outcome = certified("projected-gradient", 8)
    algorithm = make_contestant("projected-gradient", make_resisting_chain(8)).algorithm
    transcript = copied(outcome.transcript)
    assert queries_of(transcript, algorithm).departure == ""
    row = [e.answer for e in transcript.events() if e.kind == PROX][3]
    transcript.rows[row] *= 1.0 + 1e-7
    assert "differs from the transcript's by 1e-07" in queries_of(transcript, algorithm).departure


def test_a_gap_below_the_floor_is_not_certified():
    longer = make_contestant("frank-wolfe[iterations=20]", make_resisting_chain(8))
    outcome = certify(longer, 8)
    transcript = copied(outcome.transcript)
    # As if no LO output had been given: what came after T of them now comes before.
    asked = transcript.columns["kind"] != LO
    columns = {name: column[asked] for name, column in transcript.columns.items()}
    certificate = build_outcome(
        longer,
        replace(make_resisting_chain(8), directions=transcript.directions.T),
        replace(transcript, columns=columns),
        outcome.certificate.counts,
        0,
        [],
    ).certificate
    assert not certificate.certified
    assert certificate.min_gap_over_diameter < 0.04
    assert any("the gap falls to" in finding for finding in certificate.findings)


# --- files ----------------------------------------------------------------------------------------


def copied(transcript):
    columns = {name: column.copy() for name, column in transcript.columns.items()}
    return Transcript(transcript.directions.copy(), transcript.rows.copy(), columns)


@pytest.fixture
def files(tmp_path, outcome):
    """A certificate and its transcript."""
    path = tmp_path / "fw.json"
    write_certificate(outcome, path)
    return path


def test_a_certificate_is_checked_from_its_files_alone(files, outcome, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    for path in (files, transcript_path(files)):
        shutil.move(path, other / path.name)
    named = []
    found = check_certificate(other / files.name, notify=named.append)
    assert found.certificate == outcome.certificate
    assert named == [outcome.certificate.algorithm]
    assert found.certificate.certified
    stored = json.loads((other / files.name).read_text())
    assert stored["schema"] == 1
    own = {k: v for k, v in stored.items() if k not in ("schema", "transcript", "digest")}
    assert own == json.loads(json.dumps(outcome.certificate.as_json()))


def test_writing_leaves_two_files_and_replaces_old_ones(files, outcome):
    write_certificate(outcome, files)
    assert sorted(path.name for path in files.parent.iterdir()) == ["fw.json", "fw.transcript.npz"]
    assert check_certificate(files).certificate.certified


def test_a_certificate_edited_by_one_digit_is_refused(files):
    text = files.read_text()
    digits = [i for i, letter in enumerate(text) if letter.isdigit()]
    rng = np.random.default_rng(0)
    for place in rng.choice(digits, size=40, replace=False):
        changed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
        if json.loads(changed) == json.loads(text):
            continue  # the 17th digit of a number need not change it
        files.write_text(changed)
        with pytest.raises(DataError):
            check_certificate(files)
    files.write_text(text)
    assert check_certificate(files).certificate.certified


def test_a_transcript_edited_by_one_bit_is_refused(files):
    beside = transcript_path(files)
    content = beside.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(content), size=20):
        changed = bytearray(content)
        changed[place] ^= 1
        beside.write_bytes(changed)
        with refused("edited or replaced", error=DataError):
            check_certificate(files)


def forged(path, **changes):
    """Change a certificate and give it a digest that fits, as a forger would."""
    content = json.loads(path.read_text()) | changes
    content["transcript"]["sha256"] = file_digest(transcript_path(path))
    content["digest"] = _digest(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "changes",
    [
        {"min_gap_over_diameter": 0.9},
        {"calls_to_target": 99},
        {"certified_for": "gradient"},
        {"queries": 7},
        {"counts": dict.fromkeys(("fo", "sfo", "sso", "hvp", "lo", "po", "fv", "llo"), 8)},
        {"smoothness": 1.0},
        {"directions_digest": "0" * 64},
        {"algorithm": "frank-wolfe[step=open-loop,iterations=8]"},
    ],
)
def test_a_forged_certificate_is_not_certified(files, changes):
    forged(files, **changes)
    certificate = check_certificate(files).certificate
    assert not certificate.certified
    assert certificate.certified_for is None
    assert certificate.findings


def test_a_certificate_that_was_refused_cannot_be_forged_into_one(tmp_path):
    outcome = certified("frank-wolfe", 8)
    for change in ("answer", "query"):
        transcript = copied(outcome.transcript)
        kind, column = (GRADIENT, "answer") if change == "answer" else (YIELD, "point")
        row = [e for e in transcript.events() if e.kind == kind][3]
        transcript.rows[getattr(row, column)] *= 1.0 + 1e-6
        path = tmp_path / f"{change}.json"
        write_certificate(replace(outcome, transcript=transcript), path)
        assert not check_certificate(path).certificate.certified


@pytest.mark.parametrize("cheat", [Draws, PastTheLedger])
def test_a_cheat_is_caught_from_its_files_too(tmp_path, cheat):
    """A forger strikes out what the online runs found: the replay finds it again."""
    algorithm = make_contestant(f"contenders:{cheat.__name__}", make_resisting_chain(6))
    path = tmp_path / "cheat.json"
    write_certificate(certify(algorithm, 6), path)
    forged(path, certified=True, certified_for="lo", findings=[])
    certificate = check_certificate(path).certificate
    assert not certificate.certified
    words = {Draws: "check (ii) fails", PastTheLedger: "uncounted queries"}[cheat]
    assert any(words in finding for finding in certificate.findings)


def test_directions_that_are_not_orthonormal_are_refused(tmp_path, outcome):
    transcript = copied(outcome.transcript)
    transcript.directions[2] *= 1.0 + 1e-9
    path = tmp_path / "c.json"
    write_certificate(replace(outcome, transcript=transcript), path)
    with refused("orthonormal", error=DataError):
        check_certificate(path)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: path.write_text("{"), "not a certificate"),
        (lambda path: path.write_text("[]"), "not a certificate"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "not a certificate"),
        (lambda path: path.write_text('{"schema": 1}'), "not a certificate"),
        (lambda path: transcript_path(path).unlink(), "cannot be read"),
        (lambda path: forged(path, horizon=9), "another horizon"),
        (lambda path: forged(path, schema=2), "schema 2"),
        (
            lambda path: forged(path, transcript={"file": "../x.npz", "sha256": ""}),
            "another folder",
        ),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(files, damage, words):
    damage(files)
    with refused(words, error=DataError):
        check_certificate(files)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", "pickle", "strings", "rows"])
def test_what_is_no_transcript_is_refused_and_never_executed(files, content):
    beside = transcript_path(files)
    if content == "pickle":
        np.savez(beside, directions=np.array([{}], dtype=object))
    elif content == "strings":
        np.savez(beside, directions=np.array(["a"]))
    elif content == "rows":
        with np.load(beside) as stored:
            arrays = dict(stored)
        arrays["point"][1] = 10_000
        np.savez(beside, **arrays)
    else:
        beside.write_bytes(content)
    forged(files)
    with refused("not a transcript", error=DataError):
        check_certificate(files)


# --- who may stand --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sfw", "randomised"),
        ("svfw[batch=2,period=2]", "randomised"),
        ("sagafw", "randomised"),
        ("ncgs-stochastic", "randomised"),
        ("ncgs-vr", "randomised"),
        ("storc", "randomised"),
        ("nfwu-page[refresh=0.5]", "randomised"),
        ("natasha15", "randomised"),
        ("nfwu-sg[restarts=3]", "restarts"),
        ("nfwu-svrg[probability=0.1]", "restarts"),
        ("nfwu-casvrg", "hessian"),
        ("nfwu-caspiderg", "hessian"),
    ],
)
def test_who_is_outside_the_theorem_is_refused_with_the_reason(text, words):
    with pytest.raises(RefusedError) as error:
        make_contestant(text, make_resisting_chain(5))
    assert words in str(error.value)
    assert "theorem 5.1" in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("frank-wolff", "'frank-wolfe'"),
        ("frank-wolfe[stp=open-loop]", "'step'"),
        ("ncgs[option=3]", "option=3"),
        ("nfwu-sg[step=2]", "step=2"),
        ("no_such_module:Method", "no module no_such_module"),
        ("contenders:Wolk", "'Walk'"),
        ("contenders:f", "needs x, V"),
        ("contenders:Walk[steps=3]", "steps"),
    ],
)
def test_what_cannot_be_made_is_refused(text, words):
    with pytest.raises(InputError) as error:
        make_contestant(text, make_resisting_chain(5))
    assert words in str(error.value)


def test_what_is_not_given_is_filled_in():
    problem = make_resisting_chain(30)
    D = problem.set.diameter
    found = {text: make_contestant(text, problem).algorithm for text in list_contestants()}
    assert found["frank-wolfe[step=open-loop]"].iterations == 30
    assert found["ncgs[option=2]"].smoothness == problem.L
    assert found["ncgs[option=2]"].eta == 1.0 / 30.0
    assert found["nfwu-sg"].step == pytest.approx(0.04 / (problem.L * D))
    cgs = found["cgs"]
    assert (cgs.restarts, cgs.period) == (1, 30)
    # li2019, theorem 1: eta_{t,k} = 2 L D_t^2/(N_t k), here with D_t = D
    assert cgs.eta(1, 7) == pytest.approx(2.0 * problem.L * D**2 / (30 * 7))
    given = make_contestant("frank-wolfe[iterations=7,curvature=3.0]", problem).algorithm
    assert (given.iterations, given.curvature) == (7, 3.0)
    assert make_contestant("frank-wolfe", problem, 12).algorithm.iterations == 12
