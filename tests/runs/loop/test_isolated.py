"""A method in a process of its own: the same counts and bits, and nothing of the problem there."""

import gc
import json
import multiprocessing
import sys
from contextlib import closing

import numpy as np
import pytest
from helpers import tiny_logistic, tiny_multiclass, tiny_recovery

import pfbench as pf
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError, RefusedError
from pfbench.oracles import Ledger
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.wrapper import NormedProblem
from pfbench.runs.loop import isolated, messages, processes
from pfbench.runs.loop.drive import drive
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.steps import Steps
from pfbench.sets import L1Penalty, WholeSpace
from pfbench.sets.catalogue import vector_norm_ball
from pfbench.verification.replay.forms import list_method_forms


def logistic(d=5, **options):
    plain = tiny_logistic(n=11, d=d, spread=1.0)
    fields = {"features": plain.features, "labels": plain.labels, "alpha": 0.05}
    return NonconvexLogistic(**fields | {"set": plain.set} | options)


PROBLEMS = {
    "ball": logistic,
    "penalty": lambda: logistic(set=WholeSpace(5), penalty=L1Penalty(0.01)),
    "whole": lambda: logistic(set=WholeSpace(5)),
    **{
        kind: lambda kind=kind: NormedProblem(
            logistic(6, set=WholeSpace(6)), vector_norm_ball(kind, 6)
        )
        for kind in ("linf", "l2", "spectral")
    },
    "factored": lambda: tiny_recovery(shape=(6, 5), n=13, radius=8.0, sigma=4.0),
    "matrix": lambda: tiny_multiclass(n=9, d=4, classes=3),
}

CASES = [
    (name, form) for name, method in ALGORITHMS.items() for form in list_method_forms(method)[:1]
]
"""Every method, in its first form."""

SAMPLE = {
    "ball": ("frank-wolfe", "nfwu-spiderg", "saga"),
    "factored": ("frank-wolfe", "sagafw", "ncgs-vr", "spider-fw"),
    "penalty": ("prox-saga", "prox-spiderboost"),
}
"""Methods that keep a table, Hessians or an older point, and some that do not."""

METHODS = '''
import gc
import os
import sys
from collections import deque
from dataclasses import dataclass

import numpy as np

import pfbench as pf


@dataclass(frozen=True, kw_only=True)
class Cheat(pf.Algorithm):
    """Finds the problem in its memory, and asks it behind the ledger's back."""

    name = "cheat"
    requires = frozenset({"gradient"})
    iterations: int

    def run(self, ask, x, rng):
        (problem,) = [
            one for one in gc.get_objects() if type(one).__name__ == "NonconvexLogistic"
        ][:1]
        for _ in range(self.iterations):
            x = x - 0.1 * problem.gradient(x)
            yield pf.State(problem.set.project(x))


class Walking(Cheat):
    """Follows frames, and what its oracles refer to, as far as they lead."""

    def run(self, ask, x, rng):
        frame, reached, known = sys._getframe(), {}, set()
        waiting = deque([ask, rng, self])
        while frame is not None:
            waiting += frame.f_locals.values()
            frame = frame.f_back
        while waiting and not {"Ledger", "NonconvexLogistic"} <= known:
            one = waiting.popleft()
            if id(one) not in reached and not issubclass(type(one), type | type(gc)):
                reached[id(one)] = one
                known.add(type(one).__name__)
                waiting += gc.get_referents(one)
        if not waiting:
            known |= {type(one).__name__ for one in gc.get_objects()}
        wanted = {"Ledger", "Oracles", "NonconvexLogistic"} & known
        ask.gradient(x)
        yield pf.State(x)
        raise RuntimeError(f"reached {sorted(wanted)} of {len(reached)}")


class Endless(Cheat):
    """Asks nothing, and never yields."""

    def run(self, ask, x, rng):
        while True:
            pass
        yield


class Plain(Cheat):
    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = x - 1e-3 * ask.gradient(x)
            yield pf.State(x)


class Dead(Cheat):
    """Ends its process."""

    def run(self, ask, x, rng):
        os._exit(3)
        yield


class Stateful(Cheat):
    """Takes the problem along when it is pickled, and keeps no state of its own."""

    def __getstate__(self):
        raise SystemExit(4)

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            ask.gradient(x)
            yield pf.State(x)


class Text(str):
    def __reduce__(self):
        return os._exit, (5,)


class Reducing(Cheat):
    """Sends an object that runs something where it is unpickled."""

    def run(self, ask, x, rng):
        yield pf.State(x, Text("x"))


class Forking(Cheat):
    """Goes on in two processes."""

    def run(self, ask, x, rng):
        os.fork()
        for _ in range(self.iterations):
            ask.gradient(x)
            yield pf.State(x)


class Seeing(Cheat):
    def run(self, ask, x, rng):
        own = rng.bit_generator.seed_seq
        seen = getattr(own, "entropy", None) or vars(own)
        assert "987654321" not in repr(seen), "987654321 is seen"
        assert "987654321" not in repr(rng.bit_generator.state)
        for one in rng.spawn(self.iterations):
            x = x + 1e-3 * one.random(x.shape)
            yield pf.State(x)


class Forging(Cheat):
    """Writes other entries into the storage of its point than its factors have."""

    def run(self, ask, x, rng):
        x = x.copy()
        x._trail.values[:] = 7.0
        yield pf.State(x)


class Clinging(Cheat):
    """Goes on where the run is over."""

    def run(self, ask, x, rng):
        while True:
            try:
                ask.gradient(x)
                yield pf.State(x)
            except BaseException:
                ask.gradient(x)


class Caught(Cheat):
    """Goes on where an oracle refuses it, and names the arguments of oracles."""

    requires = frozenset({"gradient", "table"})

    def run(self, ask, x, rng):
        table = ask.table(x=x)
        try:
            ask.gradient(np.zeros(99))
        except Exception as error:
            assert "queried at" in str(error)
        try:
            ask.lo(x)
        except Exception as error:
            assert "requires" in str(error)
        for _ in range(self.iterations):
            ask.gradient(x=x)
            table.replace(np.array([0]), x=x)
            yield pf.State(x)
'''


@pytest.fixture
def methods(tmp_path, monkeypatch):
    """A module of somebody's methods, which another process finds, too."""
    name = f"isolated_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(METHODS)
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__(name)
    sys.modules.pop(name, None)


def outcome(problem, algorithm, **options):
    run = solve(problem, algorithm, seed=3, measures=("value",), **options)
    seconds = run.columns.index("seconds")
    rows = [row[:seconds] + row[seconds + 1 :] for row in map(tuple, run.rows)]
    x = run.x if isinstance(run.x, np.ndarray) else run.x.factors()
    return run.status, run.counts, rows, [np.asarray(part).tobytes() for part in x]


def same(kind, names=None, iterations=7):
    """Compare the runs of methods that fit a problem; return which were compared."""
    compared = set()
    for name, given in CASES:
        if names and name not in names:
            continue
        short = {"iterations": iterations} if "iterations" in ALGORITHMS[name].parameters() else {}
        algorithm = pf.algorithm(name, **given | short)
        try:
            here = outcome(PROBLEMS[kind](), algorithm)
        except (RefusedError, InputError):
            continue
        assert outcome(PROBLEMS[kind](), algorithm, isolated=True) == here, name
        compared.add(name)
    return compared


@pytest.mark.parametrize("kind", SAMPLE)
def test_counts_and_bits_are_those_of_a_usual_run(kind):
    assert len(same(kind, SAMPLE[kind])) >= 2


@pytest.mark.long
def test_of_every_method_counts_and_bits_are_those_of_a_usual_run():
    """On a kind of problem that it fits, half on vectors and half on matrices if they can."""
    compared, kinds = {kind: set() for kind in PROBLEMS}, [*PROBLEMS]
    for names, order in (([*ALGORITHMS][::2], kinds), ([*ALGORITHMS][1::2], kinds[::-1])):
        left = {*names}
        for kind in order:
            compared[kind] |= same(kind, left, iterations=4) if left else set()
            left -= compared[kind]
        assert not left
    of_matrices = compared.pop("factored") | compared.pop("matrix")
    assert len(of_matrices) >= 15
    assert len(set.union(*compared.values())) >= 25


def test_what_finds_the_problem_in_its_memory_finds_nothing(methods):
    problem, cheat = tiny_logistic(), methods.Cheat(iterations=3)
    run = solve(problem, cheat)
    assert (run.status, run.counts.sfo) == ("finished", 0)
    alone = solve(problem, cheat, isolated=True)
    assert alone.status == "error"
    assert "unpack" in alone.stop_reason


def test_what_walks_frames_and_references_reaches_no_counter(methods):
    problem, method = tiny_logistic(), methods.Walking(iterations=1)
    inside = solve(problem, method).stop_reason
    assert "reached ['Ledger'" in inside
    assert "'NonconvexLogistic'" in inside
    apart = solve(problem, method, isolated=True)
    assert "reached [] of" in apart.stop_reason
    assert apart.counts.fo == 1


@pytest.mark.parametrize(
    "method",
    ["nfwu-spiderg[iterations=50,step=0.1,batch=2,period=3]", "frank-wolfe[output=weighted]"],
)
def test_the_budget_ends_it_at_the_same_call(method):
    options = {"budget": pf.Budget(sfo=60), "every": 1}
    algorithm = pf.algorithm(method)
    here = outcome(tiny_recovery(), algorithm, **options)
    assert here[0] == "budget"
    assert outcome(tiny_recovery(), algorithm, isolated=True, **options) == here


@pytest.mark.parametrize("status", ["target", "budget", "finished"])
def test_runs_of_one_method_have_one_process_however_they_end(methods, monkeypatch, status):
    started, problem = [], tiny_logistic()

    def start(*arguments):
        started.append(arguments)
        return processes.start_process(*arguments)

    monkeypatch.setattr(isolated, "start_process", start)
    budget = pf.Budget(fo=2) if status == "budget" else None
    below = problem.value(problem.start()) - 1e-9
    stop = pf.Stop("value", below) if status == "target" else None
    with closing(isolated.isolate(methods.Plain(iterations=3))) as remote:
        run = resolve_run(problem, remote, "value")
        runs = [drive(run, Ledger(budget), seed=seed, stop=stop) for seed in range(3)]
    assert {one.status for one in runs} == {status}
    assert len({one.counts for one in runs}) == len(started) == 1


def test_a_process_survives_a_garbage_collection_while_it_ends_a_run(methods, monkeypatch):
    def receive(*arguments, wait=isolated._receive_from_method):
        gc.collect()  # ends the generator of the run before
        return wait(*arguments)

    with closing(isolated.isolate(methods.Plain(iterations=3))) as remote:
        first = remote._started
        monkeypatch.setattr(isolated, "_receive_from_method", receive)
        for _ in range(3):
            cycle = [Steps(tiny_logistic(), remote)]
            next(cycle[0].states)
            cycle.append(cycle)
        assert remote._started is first


def test_a_method_that_goes_on_after_its_run_loses_its_process(methods):
    with closing(isolated.isolate(methods.Clinging(iterations=3))) as remote:
        run = resolve_run(tiny_logistic(), remote)
        for _ in range(2):
            assert drive(run, Ledger(pf.Budget(fo=2)), seed=0).counts.fo == 2
        assert remote._started is None


def test_a_method_that_asks_nothing_is_ended_by_the_clock(methods):
    run = solve(tiny_logistic(), methods.Endless(iterations=3), time_limit=0.5, isolated=True)
    assert run.status == "timeout"


def test_refusals_are_raised_where_the_method_is(methods):
    run = solve(tiny_logistic(), methods.Caught(iterations=3), isolated=True)
    assert (run.status, run.counts.fo) == ("finished", 3), run.stop_reason


def test_a_function_which_knows_the_problem_is_refused():
    def method(ask, x, rng):
        yield pf.State(x)

    with pytest.raises(InputError, match="needs a class"):
        pf.solve(tiny_logistic(), method, isolated=True)


def test_what_cannot_be_sent_is_refused():
    class Local(pf.Algorithm):
        name = "local"
        requires = frozenset({"gradient"})
        iterations = 3

        def run(self, ask, x, rng):
            yield pf.State(x)

    with pytest.raises(InputError, match="make Local a dataclass at the top level of a file"):
        solve(tiny_logistic(), Local(), isolated=True)


def test_what_a_method_is_pickled_by_is_not_run_where_the_problem_is(methods):
    run = solve(tiny_logistic(), methods.Stateful(iterations=2), isolated=True)
    assert (run.status, run.counts.fo) == ("finished", 2), run.stop_reason


def test_the_random_stream_does_not_tell_its_seed_and_spawns_the_same(methods):
    """By the seed a method could draw the data of its problem again."""
    problem, method = tiny_logistic(), methods.Seeing(iterations=3)
    run = solve(problem, method, seed=987654321, isolated=True)
    assert run.status == "finished", run.stop_reason
    assert "987654321 is seen" in solve(problem, method, seed=987654321).stop_reason
    assert outcome(problem, method, isolated=True) == outcome(problem, method)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Dead", "ended with status 3"),
        ("Forking", "out of turn"),
        ("Reducing", "cannot be sent"),
        # Its value would be measured on the entries, and its gap on the factors.
        ("Forging", "differ from the product of its factors"),
    ],
)
def test_what_is_no_answer_ends_the_run_as_an_error(methods, name, says):
    problem = tiny_recovery() if name == "Forging" else tiny_logistic()
    run = solve(problem, getattr(methods, name)(iterations=300), isolated=True)
    assert run.status == "error"
    assert says in run.stop_reason


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"bare": 1},
        {"array": ["O", [2], "C"]},
        {"array": ["<f8", [-1], "C"]},
        {"array": ["<f8", [9], "C"]},
        {"shared": ["Pattern", 4]},
        {"shared": ["Popen", 4]},
        {"object": ["Popen", {"args": "ls"}]},
        {"object": ["RankOne", {"u": 1, "v": 2, "scale": 1.0, "pattern": None}]},
        {"object": ["State", {"x": 1, "y": 2}]},
        {"object": ["Atoms", {"left": None, "right": None, "atom_count": 9, "newest": None}]},
    ],
)
def test_what_is_no_plain_data_is_refused(data):
    with pytest.raises(InputError, match="sends invalid data"):
        receive(json.dumps([0, [], [], data]).encode())


@pytest.mark.parametrize("head", [b"", b"[]", b"[0, [[1, null]], [], 1]", b"[1, [], [], 1]"])
def test_what_is_no_message_of_this_turn_is_refused(head):
    """Of patterns, which are read by compiled loops, the method's process sends none."""
    assert receive(b"[0, [], [], 1]") == 1
    with pytest.raises(InputError, match="sends invalid data"):
        receive(head)


def receive(head):
    here, there = multiprocessing.Pipe()
    with closing(here), closing(there):
        there.send_bytes(len(head).to_bytes(8, "little") + head)
        return messages.PipeEnd(here, is_problem=True).receive()


def test_a_factored_run_goes_on_after_its_atoms_are_compressed():
    """The point in the method's process names its last atom by the number before."""
    problem = pf.problem("robust-matrix-recovery", source="synthetic", rank=1, rows=30, columns=30)
    method = pf.algorithm("frank-wolfe", step="open-loop", iterations=90)
    alone, inside = (pf.solve(problem, method, isolated=where) for where in (True, False))
    assert (alone.status, alone.stop_reason) == (inside.status, inside.stop_reason)
    assert alone.iterations == 90
    assert alone.final == inside.final
