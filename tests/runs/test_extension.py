"""A run that is extended is the longer run made at once, bit for bit in everything but seconds."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers import assert_one_sentence, tiny_logistic, tiny_multiclass, tiny_recovery

from pfbench.algorithms.base import EXTENDED
from pfbench.algorithms.catalogue import ALGORITHMS, algorithm
from pfbench.algorithms.proximal import ProxGD
from pfbench.algorithms.stochastic_frank_wolfe import SFW
from pfbench.base.counts import Budget
from pfbench.base.errors import InputError, Refused
from pfbench.base.state import State
from pfbench.points import Factored, combine
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.runs.loop import checkpoint, renewal
from pfbench.runs.loop.checkpoint import Checkpoint
from pfbench.runs.loop.solve import resolved, solve
from pfbench.runs.loop.stop import Stop
from pfbench.runs.storage.damage import Damaged
from pfbench.sets import L1Penalty, WholeSpace, nuclear

# --- what is run ----------------------------------------------------------------------------------


def logistic(**options):
    plain = tiny_logistic(n=11, d=5, spread=1.0)
    kept = {"features": plain.features, "labels": plain.labels, "alpha": 0.05}
    return NonconvexLogistic(**kept | {"set": plain.set} | options)


PROBLEMS = {
    "ball": logistic,
    "penalty": lambda: logistic(set=WholeSpace(5), penalty=L1Penalty(0.01)),
    "whole": lambda: logistic(set=WholeSpace(5)),
    "factored": lambda: tiny_recovery(shape=(6, 5), n=13, radius=8.0, sigma=4.0),
    "matrix": lambda: tiny_multiclass(n=9, d=4, classes=3),
}

EPOCHS = {"batch": 2, "period": 3}
BATCH = {"batch": 3}
STEP = {"step": 0.1}
SLIDING = {"smoothness": 0.5}
RESTARTS = {"restarts": 5, "period": 3, "smoothness": 2.0, "curvature": 0.5, "delta": 1.0}

# Every algorithm, with what it needs beside `iterations`, and whether it renews at each iteration,
# each third one (the epochs above) or never.
ALWAYS, THIRD, NEVER = (lambda k: True), (lambda k: k % 3 == 0), (lambda k: False)
CASES = [
    *(("frank-wolfe", {"step": step}, ALWAYS) for step in ("line-search", "open-loop")),
    ("frank-wolfe", {"step": "adaptive", "curvature": 3.0}, ALWAYS),
    ("frank-wolfe", {"step": "backtracking"}, NEVER),
    ("sfw", BATCH | STEP, ALWAYS),
    ("sfw", BATCH | STEP | {"output": "last"}, ALWAYS),
    ("sfw", BATCH | {"step": 1.0}, ALWAYS),
    ("svfw", EPOCHS | STEP, THIRD),
    ("sagafw", BATCH | STEP, NEVER),
    ("nfwu-sg", BATCH | STEP, ALWAYS),
    ("nfwu-sg", BATCH | STEP | {"restarts": 2}, NEVER),
    ("nfwu-svrg", EPOCHS | STEP, THIRD),
    ("nfwu-svrg", EPOCHS | {"step": 1.0, "output": "last"}, THIRD),
    ("nfwu-svrg", {"batch": 2, "period": 1, "step": 0.1}, ALWAYS),
    ("nfwu-spiderg", EPOCHS | STEP, THIRD),
    ("nfwu-casvrg", EPOCHS | STEP, THIRD),
    ("nfwu-caspiderg", EPOCHS | STEP, THIRD),
    *(("ncgs", SLIDING | {"option": option}, NEVER) for option in (1, 2)),
    ("ncgs", SLIDING | {"tolerance": 0.05}, NEVER),
    ("ncgs-stochastic", SLIDING, NEVER),
    ("ncgs-stochastic", SLIDING | {"tolerance": 0.05}, NEVER),
    ("ncgs-vr", SLIDING | EPOCHS, THIRD),
    ("ncgs-vr", SLIDING | EPOCHS | {"tolerance": 0.02, "output": "weighted"}, THIRD),
    ("cgs", RESTARTS, THIRD),
    ("storc", RESTARTS | {"batch": 4}, THIRD),
    ("prox-gd", STEP, ALWAYS),
    ("prox-gd", STEP | {"output": "uniform"}, ALWAYS),
    ("projected-gradient", STEP, ALWAYS),
    ("prox-sgd", STEP | BATCH, ALWAYS),
    ("svrg", STEP | EPOCHS, THIRD),
    ("prox-svrg", STEP | EPOCHS, THIRD),
    ("projected-svrg", STEP | EPOCHS, THIRD),
    ("prox-svrg-plus", STEP | EPOCHS, THIRD),
    ("prox-svrg-plus", STEP | EPOCHS | {"snapshot": 4}, THIRD),
    ("saga", STEP | BATCH, NEVER),
    ("prox-saga", STEP | BATCH, NEVER),
    *(("sarah", STEP | EPOCHS | {"output": output}, THIRD) for output in ("uniform", "last")),
    *(("spider", STEP | EPOCHS | {"option": option}, THIRD) for option in (1, 2)),
    ("spider", {"step": 0.3, "option": 1, "tolerance": 0.05} | EPOCHS, THIRD),
    ("spiderboost", STEP | EPOCHS, THIRD),
    ("prox-spiderboost", STEP | EPOCHS | {"snapshot": 5}, THIRD),
    ("prox-spiderboost-m", STEP | EPOCHS, NEVER),
    ("asvrg", STEP | EPOCHS, NEVER),
    ("prox-asvrg", STEP | EPOCHS, NEVER),
    ("katyusha-ns", STEP | EPOCHS, NEVER),
    ("prox-katyusha-ns", STEP | EPOCHS, NEVER),
    ("rsag", STEP | BATCH, NEVER),
    ("prox-rsag", STEP | BATCH | {"output": "weighted"}, NEVER),
    # An epoch has subepochs * (snapshot // (subepochs * batch)) = 6 iterations.
    ("natasha15", STEP | {"sigma": 0.1, "snapshot": 7, "subepochs": 2}, lambda k: k % 6 == 0),
]
# Those whose iterates depend on how many there will be, unless a parameter says otherwise.
TOLERANT = ("ncgs", "ncgs-stochastic", "ncgs-vr")
RESTARTED = ("cgs", "storc")
LONGEST = 14


def anytime(case):
    name, given, _ = case
    if name in TOLERANT:
        return "tolerance" in given
    return name not in RESTARTED and not (name == "nfwu-sg" and "restarts" in given)


def chosen(case, iterations=LONGEST):
    name, given, _ = case
    return algorithm(name, **given | ({} if name in RESTARTED else {"iterations": iterations}))


def label(case):
    name, given, _ = case
    texts = [f"{key}={value}" for key, value in given.items() if isinstance(value, str | float)]
    return "-".join([name, *texts])


@cache
def problem(name):
    return PROBLEMS[name]()


@cache
def fitting(place):
    """The problems that a case can be run on, by name."""
    found = []
    for name in PROBLEMS:
        try:
            solve(problem(name), chosen(CASES[place], 1))
        except Refused:
            continue
        found.append(name)
    return found


every_case = pytest.mark.parametrize("place", range(len(CASES)), ids=map(label, CASES))

# --- what is compared -----------------------------------------------------------------------------


def bits(x):
    return x.values().tobytes() if isinstance(x, Factored) else x.tobytes()


def told(run):
    """Everything of a run but its seconds, each number with all its bits."""
    row = {key: value for key, value in run.as_json().items() if "seconds" not in key}
    place = run.columns.index("seconds")
    rows = [repr(row[:place] + row[place + 1 :]) for row in run.rows]
    at = run.checkpoint
    numbers = at and {
        name: value
        for name, value in vars(at).items()
        if "seconds" not in name and name != "arrays"
    }
    # A drawn output shares its list of atoms with the run, where nothing is moved from it.
    arrays = at and {name: a.tobytes() for name, a in at.arrays.items() if name != "output.sizes"}
    return repr(row), run.columns, rows, run.x is None or bits(run.x), repr(numbers), arrays


MEASURES = ("fw_gap", "value", "estimator_error", "gradient_mapping_sq")


def made(on, case, iterations=LONGEST, **options):
    fixed = {"measures": MEASURES, "every": 2, "seed": 3, "checkpoint": True}
    return solve(on, chosen(case, iterations), **fixed | options)


def carried(run):
    """The run as a store gives it back: without its points, its checkpoint from bytes."""
    checkpoint = Checkpoint.from_bytes("12345678", run.checkpoint.as_bytes("12345678"))
    return replace(run, x=None, checkpoint=checkpoint)


def budgets(on, case):
    """Some pairs of budgets, the second the larger one, that end a run anywhere."""
    rng = np.random.default_rng(len(label(case)))
    spent = made(on, case).counts.as_dict()
    for name in (name for name in ("sfo", "lo", "po", "fv") if spent[name]):
        less, more = np.sort(rng.integers(spent[name] + 2, size=2)).tolist()
        # The last pair mostly ends both runs in the same iteration.
        for pair in ((less, more), (less, less + 1)):
            yield [Budget(**{name: most}) for most in pair]


# --- what is said of each ------------------------------------------------------------------------


def test_every_algorithm_has_a_case_and_every_case_a_problem():
    assert {name for name, _, _ in CASES} == set(ALGORITHMS)
    assert all(fitting(place) for place in range(len(CASES)))


@every_case
def test_an_algorithm_says_when_it_renews(place):
    case = CASES[place]
    on = problem(fitting(place)[0])
    method, _ = resolved(on, chosen(case), on.start())
    assert [method.renews(k) for k in range(1, 20)] == [case[2](k) for k in range(1, 20)]
    assert method.anytime == anytime(case)
    # And `pfbench info` says the same in words, with exceptions.
    extended, remark = method.longer
    assert extended in EXTENDED
    kind = {ALWAYS: "every iteration", NEVER: "never"}.get(case[2], "each epoch")
    assert extended == kind or remark or getattr(method, "period", 0) == 1
    if case is next(other for other in CASES if other[0] == case[0]):
        assert extended == kind
    assert bool(remark) or (extended != "never" and anytime(case))


# --- budgets --------------------------------------------------------------------------------------


@every_case
def test_a_larger_budget(place):
    case = CASES[place]
    for on in map(problem, fitting(place)):
        for less, more in budgets(on, case):
            begun, alone = made(on, case, budget=less), made(on, case, budget=more)
            renewed = [k for k in range(1, begun.iterations + 1) if case[2](k)]
            extensible = renewed and (begun.status == "budget" or anytime(case))
            assert (begun.checkpoint is not None) == bool(extensible)
            if not extensible:
                continue
            assert begun.checkpoint.iterations == renewed[-1]
            # The checkpoint of what comes out is the same, too, so it can be extended again.
            assert told(made(on, case, budget=more, resume=carried(begun))) == told(alone)


@every_case
def test_to_ask_for_a_checkpoint_changes_nothing(place):
    for on in map(problem, fitting(place)):
        budget = Budget(sfo=60)
        asked, plain = (made(on, CASES[place], budget=budget, checkpoint=c) for c in (True, False))
        assert plain.checkpoint is None
        assert told(replace(asked, checkpoint=None)) == told(plain)


def test_certified_intervals_are_counted_once(monkeypatch):
    monkeypatch.setattr(nuclear, "_EXACT_ENTRIES", 0)
    on, probable = problem("factored"), 0.0
    for case in CASES:
        if case[0] not in ("nfwu-sg", "nfwu-svrg", "ncgs-vr") or case[2] is NEVER:
            continue
        for less in range(20, 60, 7):
            begun = made(on, case, budget=Budget(sfo=less))
            for more in (less + 1, less + 20):
                budget = Budget(sfo=more)
                if begun.checkpoint is not None:
                    extended = made(on, case, budget=budget, resume=carried(begun))
                    assert told(extended) == told(made(on, case, budget=budget))
                    probable = max(probable, extended.failure_probability)
    assert probable > 0.0


def test_after_a_time_limit():
    on, case = problem("ball"), ("sfw", BATCH | STEP, ALWAYS)
    begun = made(on, case, 10**7, time_limit=0.05)
    assert begun.status == "timeout"
    more = Budget(lo=begun.counts.lo + 5)
    extended = made(on, case, 10**7, budget=more, resume=carried(begun), measures=MEASURES)
    assert told(extended) == told(made(on, case, 10**7, budget=more))
    assert extended.seconds > begun.checkpoint.seconds > 0.0
    assert extended.oracle_seconds > 0.0
    # The time limit is that of the whole run.
    again = made(on, case, 10**7, time_limit=begun.seconds, resume=carried(begun))
    assert again.status == "timeout"
    assert again.iterations <= begun.iterations + 1


@pytest.mark.parametrize("every", [1, 3, 50])
def test_however_seldom_it_is_recorded(every):
    case = ("prox-svrg", STEP | EPOCHS, THIRD)
    for less in (30, 43, 57, 70):
        options = {"every": every, "measures": ["value"]}
        begun = made(problem("penalty"), case, budget=Budget(sfo=less), **options)
        extended = made(problem("penalty"), case, resume=carried(begun), **options)
        assert told(extended) == told(made(problem("penalty"), case, **options))


def test_a_target_stops_an_extended_run_where_it_stops_a_longer_one():
    on, case = problem("ball"), ("frank-wolfe", {"step": "line-search"}, ALWAYS)
    values = made(on, case, every=1).trace["value"]
    options = {"stop": Stop("value", values[7]), "every": 1}
    alone = made(on, case, **options)
    assert alone.status == "target"
    assert alone.checkpoint is None
    begun = made(on, case, budget=Budget(lo=alone.counts.lo - 1), **options)
    assert begun.status == "budget"
    assert told(made(on, case, resume=carried(begun), **options)) == told(alone)


def test_only_what_is_new_is_asked(monkeypatch):
    on, asked = problem("ball"), []
    whole = NonconvexLogistic.difference

    def counted(self, sample, x, y):
        asked.append(2 * len(sample))
        return whole(self, sample, x, y)

    monkeypatch.setattr(NonconvexLogistic, "difference", counted)
    case = ("svfw", EPOCHS | STEP, THIRD)
    begun = made(on, case, 11)
    asked.clear()
    made(on, case, 14, resume=carried(begun))
    # Two iterations of the epoch that had begun, and three more; a batch is 2.
    assert begun.checkpoint.iterations == 9
    assert asked == [4] * 5


# --- iterations -----------------------------------------------------------------------------------


@every_case
def test_what_is_anytime_begins_every_longer_run(place):
    case, differ = CASES[place], []
    if case[0] in RESTARTED:
        return
    for on in map(problem, fitting(place)):
        short, long = (made(on, case, T, every=1) for T in (7, 13))
        seconds = short.columns.index("seconds")
        rows = [
            [row[:seconds] + row[seconds + 1 :] for row in run.rows[:8]] for run in (short, long)
        ]
        differ.append(repr(rows[0]) != repr(rows[1]))
    # What is said to depend on T does.
    assert any(differ) != anytime(case)


@every_case
def test_more_iterations(place):
    case = CASES[place]
    for on in map(problem, fitting(place)):
        for less in (1, 6, 7):
            begun = made(on, case, less)
            if not (anytime(case) and any(case[2](k) for k in range(1, begun.iterations + 1))):
                assert case[0] in RESTARTED or begun.checkpoint is None
                continue
            assert told(made(on, case, 11, resume=carried(begun))) == told(made(on, case, 11))


# --- somebody's own methods -----------------------------------------------------------------------


def test_an_own_method_has_no_checkpoint_unless_it_says_when_it_renews(walk, dense):
    assert solve(dense, walk(), checkpoint=True).checkpoint is None

    class Renews(walk):
        anytime = True

        def renews(self, k):
            return True

        def run_from(self, ask, x, rng, first):
            for _ in range(first, self.iterations):
                at, x = x, combine(x, ask.lo(ask.gradient(x)), self.step)
                yield State(x, at)

        def run(self, ask, x, rng):
            return self.run_from(ask, x, rng, 0)

    alone = solve(dense, Renews(iterations=9), checkpoint=True)
    begun = solve(dense, Renews(iterations=4), checkpoint=True)
    assert told(solve(dense, Renews(iterations=9), resume=begun, checkpoint=True)) == told(alone)


def test_an_own_method_is_held_to_nothing_that_its_parent_says(dense):
    class Heavy(ProxGD):
        """Gradient steps with momentum: what its parent's say, and no longer true."""

        def run_from(self, ask, x, rng, first):
            before = x
            for _ in range(first, self.iterations):
                y = x + 0.5 * (x - before) / self.iterations
                before, x = x, ask.prox(y, ask.gradient(y), self.step)
                yield State(x, y)

    method = Heavy(iterations=5, step=0.1)
    assert not method.anytime
    assert not any(method.renews(k) for k in range(6))
    assert solve(dense, method, budget=Budget(fo=3), checkpoint=True).checkpoint is None


def test_a_backend_with_a_memory_of_its_own_is_not_extended(dense, monkeypatch):
    class Remembers:
        n = dense.n
        gradient, lo = dense.gradient, dense.lo

    method = algorithm("frank-wolfe", step="open-loop", iterations=5)
    assert solve(dense, method, checkpoint=True).checkpoint is not None
    monkeypatch.setattr(type(dense), "open", lambda self, rng: Remembers())
    assert solve(dense, method, checkpoint=True).checkpoint is None


def test_a_point_that_has_moved_on_is_not_saved():
    class Wanders(SFW):
        """Takes two more steps before it yields the next state."""

        def renews(self, k):
            return True

        def run_from(self, ask, x, rng, first):
            for _ in range(first, self.iterations):
                for _ in range(3):
                    x = combine(x, ask.lo(ask.gradient(x)), self.step)
                yield State(x)

    method = Wanders(iterations=5, batch=3, step=0.1)
    for steps, there in ((6, True), (7, False), (8, False), (9, True)):
        run = solve(problem("factored"), method, budget=Budget(lo=steps), checkpoint=True)
        assert run.status == "budget"
        # Once the sequence stands at a later point, that of the last state cannot be gone on from.
        assert (run.checkpoint is not None) == there


def test_a_large_point_has_no_checkpoint(monkeypatch):
    case = ("nfwu-svrg", EPOCHS | STEP, THIRD)
    for name, most in (("factored", 13 * 8), ("ball", 5 * 8)):
        run = made(problem(name), case)
        assert run.checkpoint.nbytes > most
        with monkeypatch.context() as patch:
            patch.setattr(renewal, "MOST_BYTES", most)
            assert made(problem(name), case).checkpoint is None


# --- what is refused ------------------------------------------------------------------------------

CASE = ("svfw", EPOCHS | STEP, THIRD)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 4}, "another seed"),
        ({"every": 3}, "another every"),
        ({"measures": ["value", "fw_gap"]}, "another measures"),
        ({"case": ("svfw", EPOCHS | {"step": 0.2}, THIRD)}, "another parameters"),
        ({"case": ("projected-svrg", EPOCHS | STEP, THIRD)}, "another algorithm"),
        ({"case": ("ncgs", SLIDING | {"tolerance": 0.1}, NEVER)}, "can not be extended"),
        ({"on": "factored"}, "not one of this problem"),
    ],
)
def test_another_run_is_refused(other, words):
    begun = made(problem("ball"), CASE, 8)
    options = {"on": "ball", "case": CASE} | other
    on, case = problem(options.pop("on")), options.pop("case")
    with pytest.raises(InputError, match=words) as error:
        made(on, case, resume=begun, **options)
    assert_one_sentence(error)


def test_less_than_was_spent_is_refused():
    on, begun = problem("ball"), made(problem("ball"), CASE, 8)
    for options in ({"iterations": 7}, {"budget": Budget(sfo=begun.counts.sfo - 1)}):
        with pytest.raises(InputError, match="gone further than this budget") as error:
            made(on, CASE, resume=begun, **options)
        assert_one_sentence(error)
    enough = {"budget": Budget(sfo=begun.counts.sfo)}
    assert told(made(on, CASE, resume=begun, **enough)) == told(made(on, CASE, **enough))


def test_a_checkpoint_that_is_not_the_runs_own_is_refused():
    begun, same = made(problem("ball"), CASE, 8), made(problem("ball"), CASE, 8)
    for run in (replace(begun, checkpoint=None), replace(begun, checkpoint=same.checkpoint)):
        with pytest.raises(InputError, match=r"no checkpoint|end than its checkpoint"):
            made(problem("ball"), CASE, resume=run)


def test_a_checkpoint_is_used_as_often_as_one_likes():
    for name in ("factored", "ball"):
        begun, alone = made(problem(name), CASE, 8), made(problem(name), CASE)
        for _ in range(2):
            assert told(made(problem(name), CASE, resume=begun)) == told(alone)


# --- its bytes ------------------------------------------------------------------------------------


def test_bytes_that_are_not_whole_are_never_read_as_if_they_were():
    kept = made(problem("factored"), CASE).checkpoint
    data = kept.as_bytes("abcdefgh")
    same = Checkpoint.from_bytes("abcdefgh", data)
    assert repr(same) == repr(kept)
    assert data == kept.as_bytes("abcdefgh")
    rng = np.random.default_rng(0)
    for place in rng.integers(len(data), size=300).tolist():
        wrong = bytearray(data)
        wrong[place] ^= 1 << int(rng.integers(8))
        try:
            found = Checkpoint.from_bytes("abcdefgh", bytes(wrong))
        except Damaged:
            continue
        # Times and the like of the archive are no content.
        assert found.as_bytes("abcdefgh") == data
    for length in (0, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(Damaged):
            Checkpoint.from_bytes("abcdefgh", data[:length])


def test_a_part_that_is_missing_or_another_is_told(tmp_path):
    kept = made(problem("factored"), CASE).checkpoint
    (tmp_path / "kept").write_bytes(kept.as_bytes("abcdefgh"))
    with np.load(tmp_path / "kept") as file:
        parts = {name: file[name] for name in file.files}
    for name in parts:
        for other in ({}, {name: parts[name][:0]}, {name: parts[name].astype(np.float32)}):
            np.savez(
                tmp_path / "wrong.npz", **{k: v for k, v in parts.items() if k != name}, **other
            )
            with pytest.raises(Damaged, match=r"wrong content|incomplete"):
                Checkpoint.from_bytes("abcdefgh", (tmp_path / "wrong.npz").read_bytes())


def test_another_key_or_version_is_told(monkeypatch):
    kept = made(problem("ball"), CASE).checkpoint
    with pytest.raises(Damaged, match="wrong key"):
        Checkpoint.from_bytes("hgfedcba", kept.as_bytes("abcdefgh"))
    data = kept.as_bytes("abcdefgh")
    monkeypatch.setattr(checkpoint, "SCHEMA", 2)
    with pytest.raises(Damaged, match="wrong schema version"):
        Checkpoint.from_bytes("abcdefgh", data)
