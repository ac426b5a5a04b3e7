"""The checks of an algorithm: its declarations, an exact ledger, the set, its seeds, budgets."""

import inspect
from itertools import islice, pairwise
from typing import Any

import numpy as np

from pfbench.algorithms.base import parameters_of
from pfbench.base.assumptions import ASSUMPTIONS
from pfbench.base.counts import Budget, Counts
from pfbench.base.errors import Refused
from pfbench.base.protocols import Algorithm, Problem
from pfbench.base.state import OUTPUTS
from pfbench.checking.bypass import Bypass, Negated, accuse, guarded, in_words
from pfbench.checking.covariant import covariant, schedule_keeps_units
from pfbench.checking.examples import copies_of_old_points, moving_points
from pfbench.checking.findings import Examination, Skipped, Wrong, as_usual, in_brief, places
from pfbench.checking.trails import CALLS, Trail, Trails, entries, same_point
from pfbench.oracles import Ledger
from pfbench.oracles.bundle import VERBS
from pfbench.points import distance, form_of, is_finite, keep
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.normed import KINDS
from pfbench.problems.rows import synthetic_rows
from pfbench.problems.with_norm import Normed
from pfbench.runs.loop.ready import OF_PROBLEMS, ready
from pfbench.runs.loop.solve import solve
from pfbench.sets import L1Ball, L2Ball, WholeSpace
from pfbench.sets.named_norms import norm_of_vectors
from pfbench.verification.instruments.witness import Tally
from pfbench.verification.parameters import USUAL
from pfbench.verification.subject import make, takes_any

_SAMPLED = frozenset({"batch", "difference", "table", "hessian"})
"""Oracles that are asked at a sample; a method of full gradients need not say it draws none."""


def check_algorithm(
    algorithm: Any, examination: Examination, problem: Problem | None = None
) -> Problem | None:
    """Look at an algorithm, a class or an object; return the problem that it was tried on.

    Parameters
    ----------
    algorithm
        A class is made with the parameters that methods share, where they have no default.
    problem
        What it is tried on; a small convex problem that offers what it requires, if not given.
    """
    look = examination.look
    where = places(algorithm, "run")
    if not look("it declares what it is", _declared, algorithm, where=where):
        return problem
    if not look("it can be made", _made, algorithm, where=places(algorithm, "__init__")):
        return problem
    made = usual(algorithm)
    on = problem or small_problem(made)
    tried = Tried(made, on)
    if not look("the problem offers what it asks", tried.offered, where=where):
        return on
    if not look("it runs", tried.runs, where=where):
        return on
    for check, at in (
        ("it yields states, finite and in the set", tried.feasible),
        ("it asks only what it requires", tried.asks),
        ("its calls go through the oracles", tried.through_the_oracles),
        ("its iterates follow the answers", tried.follows),
        ("the same seed gives the same bits", tried.repeats),
        ("measures change neither counts nor bits", tried.untouched),
        ("a budget stops it before it is exceeded", tried.stopped),
        ("its start point stays as it was", tried.start_kept),
        ("it keeps the points that it needs", tried.kept),
        ("its output is what it declares", tried.output),
        ("a shorter run begins a longer one", tried.anytime),
        ("a smaller epsilon takes more", tried.schedule),
    ):
        look(check, at, where=where)
    look("its run is the same in other units", covariant, tried, where=where)
    look("its schedule is the same in other units", schedule_keeps_units, tried, where=where)
    return on


def usual(algorithm: Any) -> Algorithm:
    """Return an algorithm with usual values of the parameters that it needs."""
    if not inspect.isclass(algorithm):
        return algorithm  # type: ignore[no-any-return]
    needed = {"iterations", *getattr(algorithm, "needed", lambda: list(USUAL))()}
    wanted = {name: value for name, value in USUAL.items() if name in needed}
    return make(algorithm, wanted if takes_any(algorithm) else (), **wanted)


def small_problem(algorithm: Algorithm) -> Problem:
    """Return a small problem that offers what the algorithm requires."""
    features, labels = synthetic_rows(rows=23, columns=4, seed=1)
    normed = "norm" in algorithm.requires
    whole = normed or "smooth" in algorithm.requires
    ball = L1Ball(4, 1.5) if "polytope" in algorithm.requires else L2Ball(4, 1.5)
    found = LogCosh(features, labels, WholeSpace(4) if whole else ball)
    if not normed:
        return found
    kinds = (kind for kind in KINDS if f"norm {kind}" in algorithm.requires)
    return Normed(found, norm_of_vectors(next(kinds, "linf"), 4))


def _declared(algorithm: Any) -> str:
    for attribute in ("name", "requires", "deterministic", "output", "run"):
        if not hasattr(algorithm, attribute):
            raise Wrong(f"an attribute {attribute}", "it has none")
    if isinstance(algorithm.requires, str):
        raise Wrong(
            "`requires` to be a set of names",
            f"the text {algorithm.requires!r}: write frozenset({{{algorithm.requires!r}}})",
        )
    unknown = set(algorithm.requires) - set(VERBS) - set(OF_PROBLEMS)
    if unknown:
        raise Wrong(
            f"`requires` to name oracles ({', '.join(VERBS)}), set, norm or smooth",
            f"{', '.join(sorted(unknown))}, which is no oracle",
        )
    output = algorithm.output
    if inspect.isclass(algorithm) and isinstance(output, property):
        output = "last"  # seen once it is made
    if output not in OUTPUTS:
        raise Wrong(f"the output {' or '.join(OUTPUTS)}", f"{output!r}")
    odd = set(getattr(algorithm, "assumes", ())) - set(ASSUMPTIONS)
    if odd:
        raise Wrong(f"`assumes` to name {', '.join(ASSUMPTIONS)}", ", ".join(sorted(odd)))
    if not isinstance(algorithm.deterministic, bool | property):
        raise Wrong("`deterministic` true or false", repr(algorithm.deterministic))
    return f"requires {', '.join(sorted(algorithm.requires))}; output {output}"


def _made(algorithm: Any) -> str:
    made = as_usual(usual, algorithm)
    given = {k: v for k, v in parameters_of(made).items() if v is not None}
    return ", ".join(f"{name}={value}" for name, value in given.items()) or "it has no parameters"


class Tried(Trails):
    """An algorithm on a problem, looked at."""

    def offered(self) -> str:
        """Check: the problem has the oracles that the algorithm asks."""
        try:
            on = ready(self.problem, self.algorithm)
            on.check_offered(self.problem.open(np.random.default_rng(0)))
        except Refused as error:
            raise Wrong("a problem that offers what it requires", str(error)) from error
        return f"{self.problem.name}, n = {self.problem.n}, points of shape {self.problem.shape}"

    def runs(self) -> str:
        """Check: it runs, and yields states."""
        if not self.plain.states:
            raise Wrong("it to yield a state for each iteration", "it yielded none")
        return f"{len(self.plain.states)} iterations: {in_words(self.plain.total)}"

    def feasible(self) -> str:
        """Check: iterates, and what the output is drawn from, are finite points of the set."""
        states, problem = self.plain.states, self.problem
        form = form_of(problem.start(), problem.name)
        for k, state in enumerate(states, 1):
            parts = {"iterate": state.x, "output": state.output}
            if self.algorithm.output != "last":
                parts["point `at`"] = state.at
            for name, x in parts.items():
                if x is None and name != "iterate":
                    continue
                said = f"the {name} of iteration {k}"
                if not form.is_point(x):
                    raise Wrong(f"{said} to be a point, {form.points}", form.said(x))
                if not is_finite(x):
                    raise Wrong(f"{said} to be finite", "it is not finite", {"x": x})
                if not problem.set.contains(x):
                    raise Wrong(
                        f"{said} in the set {problem.set.name}", "it is outside the set", {"x": x}
                    )
        return f"{len(states)} iterates"

    def asks(self) -> str:
        """Check: it asks no verb that it does not require."""
        _, tally = self._tallied()
        # `asks` says what a run with these parameters requires, where that is more.
        allowed = set(getattr(self.algorithm, "asks", self.algorithm.requires))
        extra = tally.asked - allowed
        if extra:
            raise Wrong(
                f"it to ask what `requires` names ({', '.join(sorted(allowed))})",
                f"it asks {', '.join(sorted(extra))}, which it does not require",
            )
        return f"it asked {', '.join(sorted(tally.asked))}"

    def through_the_oracles(self) -> str:
        """Check: what is computed of the problem is what the ledger has counted."""
        with Bypass(self.problem) as bypass:
            run, tally = self._tallied()
        accuse(bypass, self.touched, Counts(*tally.spent), run.total)
        return f"{in_words(run.total)}, all counted"

    def _tallied(self) -> tuple[Trail, Tally]:
        """Return a run, and the tally of what it asked."""
        made: list[Tally] = []

        def answer(backend: Any) -> Tally:
            made.append(Tally(backend))
            return made[0]

        return self.trail(answer=answer), made[0]

    def follows(self) -> str:
        """Other answers lead to other iterates."""
        other = self.trail(answer=Negated)
        start = self.problem.start()
        if not any(distance(state.x, start) for state in self.plain.states):
            raise Skipped("it does not leave the start on this problem")
        if self.plain.same(other):
            raise Wrong(
                "other iterates where the oracles answer for -f",
                "the same bits: what it moves along does not come from the oracles",
            )
        return "where the oracles answer for -f, it goes another way"

    def repeats(self) -> str:
        """Check: a seed says all that is random; what is deterministic depends on none."""
        first = self.plain
        if not first.same(self.trail()):
            raise Wrong(
                "the same iterates from the same seed",
                "two runs with one seed differ: draw from "
                "`rng` alone, and keep nothing from run to run",
            )
        others = [self.trail(seed=seed) for seed in (1, 2, 3)]
        same = all(first.same(other) for other in others)
        if self.algorithm.deterministic:
            if not same:
                raise Wrong(
                    "the same iterates from all seeds, as it is declared deterministic",
                    "two seeds differ",
                )
            return "bit for bit, whatever the seed"
        samples = _SAMPLED & set(self.algorithm.requires)
        if same and not samples:
            return "bit for bit from all seeds: if it draws nothing, say deterministic = True"
        if same and self.problem.n > 1:
            raise Wrong(
                "other iterates from other seeds, as it is not declared deterministic",
                "the same bits from four seeds: draw from `rng`, or say deterministic = True",
            )
        return "bit for bit"

    def untouched(self) -> str:
        """Check: a traced run is the run that is not traced."""
        # The budget of the iterations that are looked at, for what would run on.
        spent = self.plain.total.as_dict()
        enough = Budget(**{name: max(1, number) for name, number in spent.items()})
        plain = solve(self.problem, self.algorithm, budget=enough)
        traced = solve(self.problem, self.algorithm, budget=enough, measures="objective")
        if plain.status == "error":
            raise Wrong("a run without an error", plain.stop_reason)
        if plain.counts != traced.counts or not same_point(plain.x, traced.x):
            raise Wrong("a traced run to be as one that is not", "it differs", {"x": plain.x})
        return f"{plain.iterations} iterations: {in_words(plain.counts)}"

    def stopped(self) -> str:
        """Check: it ends with the last iterate before the call that would exceed a budget."""
        told = []
        for name, spent in self.plain.total.as_dict().items():
            for limit in sorted({0, spent // 3, spent - 1} if spent else ()):
                run = self.trail(budget=Budget(**{name: limit}))
                found = getattr(run.total, name)
                at = {f"budget {name}": limit}
                if found > limit:
                    raise Wrong(f"at most {limit} {name.upper()}", f"{found}", at)
                if any(getattr(one, name) > limit for one in run.counts) or not run.spent:
                    raise Wrong("its run to end as budget", "it goes on", at)
                if len(run.states) > sum(getattr(one, name) <= limit for one in self.plain.counts):
                    raise Wrong(
                        "no iterate after a call was refused",
                        "it catches the exception and goes on: let it pass",
                        at,
                    )
                if not self.plain.same(run, len(run.states)):
                    raise Wrong(
                        "the same iterates as without a budget, up to its end",
                        "they differ: an algorithm does not see its budget",
                        at,
                    )
            if spent:
                told.append(name.upper())
        return f"budgets of {', '.join(told)}" if told else "it makes no call"

    def start_kept(self) -> str:
        """Check: it moves a copy of its start."""
        x0 = keep(self.problem.start())
        if isinstance(x0, np.ndarray) and self.problem.set.contains(x0 + 0.1):
            x0 = x0 + 0.1  # not 0, which some faults would leave as it is
        before = entries(x0).copy()
        rng = np.random.default_rng(0)
        ask = guarded(self.problem, self.problem.open(rng), Ledger(CALLS))
        if not isinstance(x0, np.ndarray):
            raise Skipped("points are moved by combine alone")
        for _ in islice(self.algorithm.run(ask, x0, rng), self.most):
            pass
        if not np.array_equal(entries(x0), before):
            raise Wrong(
                "its start point as it was",
                "it changes its start point in place: move a copy with combine",
                {"start": before},
            )
        return "unchanged"

    def kept(self) -> str:
        """Check: it keeps a copy of each point that it needs later than the next one."""
        on = moving_points()
        try:
            ready(on, self.algorithm).check_offered(on.open(np.random.default_rng(0)))
        except Refused as error:
            raise Skipped(f"factored matrices do not fit: {error}") from error
        rng = np.random.default_rng(0)
        with copies_of_old_points("move"):
            ask = guarded(on, on.open(rng), Ledger(CALLS))
            for state in islice(self.algorithm.run(ask, on.start(), rng), self.most):
                keep(state.x)
        return "old points are copies"

    def output(self) -> str:
        """Check: the output is the last iterate, or one of those among which it is drawn."""
        method, states = self.algorithm, self.plain.states
        if method.output == "weighted":
            weights = [float(method.output_weight(k)) for k in range(1, len(states) + 1)]
            if min(weights) < 0.0 or not 0.0 < sum(weights) < np.inf:
                raise Wrong(
                    "weights p_k >= 0, not all 0, of a weighted output",
                    in_brief(np.array(weights)),
                    {},
                    places(method, "output_weight"),
                )
        own = sum(state.output is not None for state in states)
        return f"{method.output}" + (f", and its own in {own} states" if own else "")

    def anytime(self) -> str:
        """Where it says so, no iterate depends on how many there will be."""
        method = self.algorithm
        if not getattr(method, "anytime", False):
            raise Skipped("it is not declared anytime")
        if getattr(method, "iterations", None) is None:
            raise Skipped("it has no iterations")
        runs = [self.trail(algorithm=make(method, (), iterations=T)) for T in (7, 13)]
        if not runs[0].same(runs[1], min(len(run.states) for run in runs)):
            raise Wrong(
                "the run of 7 iterations to begin that of 13, as it is declared anytime",
                "their iterates differ",
                {"iterations": 7},
                places(method, "run", "anytime"),
            )
        return "the run of 7 iterations begins that of 13"

    def schedule(self) -> str:
        """Check: the theorem's schedule has no fewer iterations for a smaller epsilon."""
        kind = type(self.algorithm)
        if not hasattr(kind, "theory"):
            raise Skipped("it has no theorem's schedule")
        constants, told = self.problem.constants(self.problem.start()), []
        for epsilon in (0.1, 0.05, 0.01):
            try:
                made = kind.theory(epsilon, constants)
            except (Refused, TypeError, OverflowError) as error:
                raise Skipped(f"refused: {error}") from error
            told.append(getattr(made, "iterations", None))
        counts = [one for one in told if one is not None]
        if any(a > b for a, b in pairwise(counts)):
            raise Wrong(
                "no fewer iterations for a smaller epsilon",
                f"{counts} for 0.1, 0.05, 0.01",
                {},
                places(self.algorithm, "theory"),
            )
        return f"{', '.join(map(str, told))} iterations for 0.1, 0.05, 0.01"
