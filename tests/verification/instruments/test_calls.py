"""Calls of a method to the oracles, as they are tallied."""

import numpy as np
import pytest

from pfbench.base.counts import COUNTED
from pfbench.claims.catalogue import CLAIMS
from pfbench.oracles import Ledger, Oracles
from pfbench.runs.loop.solve import solve
from pfbench.verification.instruments.oracle_tally import ComponentTally
from pfbench.verification.replay.problems import RippledLogCosh, make_l2_ball_problem
from pfbench.verification.subject import ClaimBroken
from pfbench.verification.trial import Trial


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
