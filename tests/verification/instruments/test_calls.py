"""Calls: those of a method to the oracles, and those of exact line search in condg."""

import numpy as np
import pytest

from pfbench.base.counts import COUNTED
from pfbench.claims.catalogue import CLAIMS
from pfbench.oracles import Ledger, Oracles
from pfbench.runs.loop.solve import solve
from pfbench.verification.instruments import condg_call
from pfbench.verification.instruments.condg_call import CondgCall
from pfbench.verification.instruments.oracle_tally import ComponentTally
from pfbench.verification.replay import problems
from pfbench.verification.replay.problems import RippledLogCosh, make_l2_ball_problem
from pfbench.verification.subject import ClaimBroken
from pfbench.verification.trial import Trial

LAM, ETA = 0.4, 0.02


def walked(problem, l, u, part, gap):  # noqa: E741
    """Return where Frank-Wolfe comes to a gap by a part of line search's steps, and its LO."""
    x, calls = u, 0
    while True:
        g = l + (x - u) / LAM
        v, calls = problem.lo(g), calls + 1
        if g @ (x - v) <= gap:
            return x, calls
        x = x + part * min(1.0, LAM * (g @ (x - v)) / ((x - v) @ (x - v))) * (v - x)


@pytest.fixture(
    params=[problems.make_l2_ball_problem(n=3), problems.make_l1_ball_problem((3,), n=1)],
    ids=["ball", "l1"],
)
def asked(request):
    problem = request.param
    u = problem.start()
    return problem, 3.0 * problem.gradient(u) + np.linspace(-0.4, 0.5, len(u)), u


def test_the_way_of_exact_line_search_is_told_from_another(asked):
    there, calls = walked(*asked, 1.0, ETA)
    right = CondgCall(*asked, LAM, ETA, there)
    assert calls > 3
    assert (right.exact_line_search_calls, right.is_answer_off_line_search_path) == (calls, False)
    assert right._gap(there)[0] <= ETA
    further = CondgCall(*asked, LAM, ETA, walked(*asked, 1.0, 0.2 * ETA)[0])
    assert (further.exact_line_search_calls, further.is_answer_off_line_search_path) == (
        calls,
        False,
    )
    for part in (0.5, 0.97):
        other = CondgCall(*asked, LAM, ETA, walked(*asked, part, ETA)[0])
        assert (other.exact_line_search_calls, other.is_answer_off_line_search_path) == (None, True)


def test_what_line_search_does_not_come_to_soon_is_not_said_to_be_elsewhere(asked):
    problem, l, u = asked  # noqa: E741
    exact = CondgCall(problem, l, u, LAM, ETA, problem.prox(u, l, LAM))
    assert exact.exact_line_search_calls is None or exact._gap(exact.answer)[0] < 1e-9 * ETA
    assert not exact.is_answer_off_line_search_path


def test_where_rounding_decides_the_path_no_answer_strays(monkeypatch):
    """Of calls of some fifty steps of exact line search a rounding at the start changes the way."""
    rng = np.random.default_rng(0)
    problem, found = problems.make_l2_ball_problem((10,), n=3), []
    for _ in range(20):
        u, l = rng.normal(size=10), 6.0 * rng.normal(size=10)  # noqa: E741
        u *= rng.uniform(0.9, 1.0) / np.linalg.norm(u)
        x, lam, eta = u + 1e-14, 1.0 / 60.0, 1e-3
        for _ in range(250):
            g = l + (x - u) / lam
            v = problem.lo(g)
            gap, d = float(g @ (x - v)), v - x
            if gap <= eta:
                break
            x = x + min(1.0, gap * lam / float(d @ d)) * d
        found.append((problem, l, u, lam, eta, x))
    assert not any(CondgCall(*one).is_answer_off_line_search_path for one in found)
    monkeypatch.setattr(condg_call, "_TIE_MARGIN", 0.0)
    assert any(CondgCall(*one).is_answer_off_line_search_path for one in found)


# --- the tally of components ----------------------------------------------------------------------


def test_it_counts_every_verb_as_the_ledger_does():
    problem, ledger = make_l2_ball_problem(), Ledger()
    witness = ComponentTally(problem)
    ask = Oracles(witness, ledger, problem.set.diameter)
    x, y, S = problem.start(), 0.5 * problem.start(), np.array([0, 2])
    answers = [
        ask.gradient(x) - problem.gradient(x),
        ask.batch(S, x) - problem.batch(S, x),
        ask.difference(S, x, y) - problem.difference(S, x, y),
        ask.value(x) - problem.value(x),
        ask.lo(x) - problem.lo(x),
        ask.prox(x, y, 0.1) - problem.prox(x, y, 0.1),
        ask.local_lo(x, y, 0.1) - problem.local_lo(x, y, 0.1),
    ]
    H, table = ask.hessian(x), ask.table(x)
    answers += [H.product(x, y) - problem.hessian(x).product(x, y), H.batch(S, x, y) * 0.0]
    answers += [table.difference(S, x), table.replace(S, x), table.mean - problem.table(x).mean]
    assert all(not np.any(answer) for answer in answers)
    assert witness.charged == ledger.counts_array
    assert all(witness.charged[COUNTED.index(kind)] for kind in COUNTED)


def test_it_lacks_what_the_backend_lacks():
    class NoTable:
        n, unconstrained = 3, False

        def lo(self, g):
            return g

    witness = ComponentTally(NoTable())
    assert hasattr(witness, "lo")
    assert not hasattr(witness, "table")
    assert witness.unconstrained is False


def test_a_witnessed_run_has_the_bits_of_another():
    trial = Trial(CLAIMS["methods-count-nfwu-casvrg"])
    algorithm = trial.make(iterations=7, step=0.2, batch=2, period=3)
    run, plain = (
        trial.run(make_l2_ball_problem(), algorithm, seed=4),
        solve(make_l2_ball_problem(), algorithm, seed=4),
    )
    assert run.counts == plain.counts
    assert np.array_equal(run.x, plain.x)


@pytest.mark.parametrize("verb", ["gradient", "hessian", "table"])
def test_a_call_beside_the_ledger_is_found(verb):
    class Beside:
        name, output, deterministic = "beside", "last", True
        requires = frozenset({"gradient"})

        def run(self, ask, x, rng):
            from pfbench.base.protocols import State

            ask.gradient(x)
            getattr(ask._backend, verb)(x)
            yield State(x)

    trial = Trial(CLAIMS["methods-count-prox-gd"])
    with pytest.raises(ClaimBroken, match="but the ledger counts"):
        trial.run(RippledLogCosh(), Beside())
    with pytest.raises(ClaimBroken, match="but the ledger counts"):
        list(trial.follow(RippledLogCosh(), Beside()))
