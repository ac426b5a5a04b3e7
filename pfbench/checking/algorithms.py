"""Checks of an algorithm: its declarations, counts, feasibility, seeds and budgets."""

import inspect
from collections import Counter
from itertools import islice, pairwise
from typing import Any

import numpy as np

from pfbench.base.counts import Budget, Counts
from pfbench.base.errors import RefusedError
from pfbench.base.protocols import ASSUMPTIONS, Algorithm, Problem
from pfbench.base.state import OUTPUT_RULES
from pfbench.base.status import Status
from pfbench.checking.findings import (
    CheckFailed,
    CheckRunner,
    CheckSkipped,
    check_construction,
    format_brief,
    locate_methods,
    require,
)
from pfbench.checking.traced_runs import (
    NegatedBackend,
    RunRecord,
    RunRecords,
    UncountedCallDetector,
    fail_on_expired_point,
    format_counts,
    make_expiring_points_problem,
    point_entries,
    points_identical,
    record_private_reads,
    refuse_uncounted_calls,
)
from pfbench.checking.unit_invariance import check_schedule_units, check_unit_invariance
from pfbench.oracles.bundle import ORACLES
from pfbench.points import distance, infer_format, is_finite, keep
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.moments import KINDS
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.problems.wrapper import NormedProblem
from pfbench.runs.loop.resolved_run import PROBLEM_ORACLES, resolve_run
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.steps import ObservedBackend
from pfbench.sets import L1Ball, L2Ball, WholeSpace
from pfbench.sets.body import ConvexBody
from pfbench.sets.catalogue import vector_norm_ball
from pfbench.verification.instruments.oracle_tally import ComponentTally, sample_of_call
from pfbench.verification.statements.setting import has_schedule
from pfbench.verification.subject import (
    accepts_any_parameters,
    instantiate_with_accepted_parameters,
)
from pfbench.verification.units import USUAL

_SAMPLED = frozenset({"batch", "difference", "table", "hessian"})
"""Oracles that take a sample; a method that queries none need not declare `deterministic`."""

_MOST_SEEDS, _CHANCE = 40, 1e-12
"""Largest number of runs that look for components never drawn, and chance of a false alarm."""


def check_algorithm(
    algorithm: Any, runner: CheckRunner, problem: Problem | None = None
) -> Problem | None:
    """Check an algorithm (a class or an object), and return the problem that it ran on.

    Parameters
    ----------
    algorithm
        The algorithm; a class is instantiated with usual values of its required parameters.
    problem
        The problem to run on; by default a small convex problem that meets its requirements.
    """
    look = runner.run_check
    points, at_init = locate_methods(algorithm, "run"), locate_methods(algorithm, "__init__")
    if not look("it declares what it is", _check_declarations, algorithm, locations=points):
        return problem
    if not look(
        "it can be instantiated",
        check_construction,
        with_test_parameters,
        algorithm,
        locations=at_init,
    ):
        return problem
    created = with_test_parameters(algorithm)
    on = problem or make_small_problem(created)
    tried = AlgorithmChecks(created, on)
    checks = (
        ("the problem offers its oracles", tried.check_problem_offers_oracles),
        ("it runs", tried.check_run),
        ("it yields states, finite and in the set", tried.check_feasibility),
        ("it queries only what it requires", tried.check_declared_oracles),
        ("its calls go through the oracles", tried.check_all_computations_counted),
        ("its iterates depend on the answers", tried.check_negated_f_changes_run),
        ("the same seed gives the same bits", tried.check_reproducibility),
        ("measures change neither counts nor bits", tried.check_trace_invariance),
        ("it draws every component", tried.check_every_component_drawn),
        ("a budget stops it before it is exceeded", tried.check_budget_stop),
        ("its start point stays as it was", tried.check_start_unchanged),
        ("it keeps the points that it needs", tried.check_copies_needed_points),
        ("its output is what it declares", tried.check_output),
        ("a shorter run starts like a longer one", tried.check_anytime),
        ("a smaller epsilon needs more iterations", tried.check_iterations_grow_with_accuracy),
    )
    for number, (check, point) in enumerate(checks):
        if not look(check, point, locations=points) and number < 2:  # the others need both
            return on
    look("its run is the same in other units", check_unit_invariance, tried, locations=points)
    look("its schedule is the same in other units", check_schedule_units, tried, locations=points)
    return on


def with_test_parameters(algorithm: Any) -> Algorithm:
    """Instantiate an algorithm class with test values for its required parameters.

    Parameters with a default keep it. An object is returned unchanged.
    """
    if not inspect.isclass(algorithm):
        return algorithm  # type: ignore[no-any-return]
    parameters = inspect.signature(algorithm).parameters.values()
    defaults = {p.name for p in parameters if p.default is not p.empty}
    needed = {"iterations", *getattr(algorithm, "list_required_parameters", lambda: list(USUAL))()}
    expected = {name: USUAL[name] for name in USUAL if name in needed - defaults}
    return instantiate_with_accepted_parameters(
        algorithm, expected if accepts_any_parameters(algorithm) else (), **expected
    )


def make_small_problem(algorithm: Algorithm) -> Problem:
    """Return a small test problem that offers all oracles that the algorithm requires."""
    features, labels = draw_synthetic_rows(rows=23, columns=4, seed=1)
    ball: ConvexBody = L2Ball(4, 1.5)
    normed = "norm" in algorithm.requires
    is_complete = normed or "smooth" in algorithm.requires
    if "polytope" in algorithm.requires:  # short steps with L = 2 end where a vertex is dropped
        features, labels = draw_synthetic_rows(rows=23, columns=4, seed=27)
        features, ball = 2.5 * features, L1Ball(4)
    cosh = LogCosh(features, labels, WholeSpace(4) if is_complete else ball)
    if not normed:
        return cosh
    kinds = (kind for kind in KINDS if f"norm {kind}" in algorithm.requires)
    return NormedProblem(cosh, vector_norm_ball(next(kinds, "linf"), 4))


def _check_declarations(algorithm: Any) -> str:
    for attribute in ("name", "requires", "deterministic", "output", "run"):
        needed = f"algorithms must have the attribute `{attribute}`"
        require(hasattr(algorithm, attribute), needed, "none")
    requires, output = algorithm.requires, algorithm.output
    text = f"the string {requires!r}: write frozenset({{{requires!r}}})"
    require(not isinstance(requires, str), "`requires` must be a set of strings", text)
    if inspect.isclass(algorithm) and inspect.isdatadescriptor(output):
        # A property is seen once it is made; a class with slots has its defaults in its signature.
        default = getattr(inspect.signature(algorithm).parameters.get("output"), "default", output)
        output = default if isinstance(default, str) else "last"
    for name, values, allowed in (
        ("requires", requires, (*ORACLES, *PROBLEM_ORACLES, "sample")),
        ("output", [output], OUTPUT_RULES),
        ("assumes", getattr(algorithm, "assumes", ()), ASSUMPTIONS),
    ):
        unknown = ", ".join(sorted(map(str, {*values} - {*allowed})))
        require(not unknown, f"`{name}` may contain only {', '.join(allowed)}", unknown)
    is_flag = isinstance(algorithm.deterministic, bool | property)
    needed = "`deterministic` must be True or False"
    require(is_flag, needed, repr(algorithm.deterministic))
    return f"requires {', '.join(sorted(requires))}; output {output}"


def _describe_refusal(problem: Any, algorithm: Any) -> str:
    """Describe what the algorithm requires and the problem does not offer; return "" if nothing."""
    try:
        run = resolve_run(problem, algorithm)
        run.check_requirements(problem.open(np.random.default_rng(0)))
    except RefusedError as error:
        return str(error)
    return ""


class AlgorithmChecks(RunRecords):
    """Checks of an algorithm by short runs on a problem."""

    def check_problem_offers_oracles(self) -> str:
        """Check that the problem offers the oracles that the algorithm requires."""
        refusal = _describe_refusal(self.problem, self.algorithm)
        needed = "the problem must offer everything that the method's `requires` names"
        require(not refusal, needed, refusal)
        size = "a sampler" if self.problem.n is None else f"n = {self.problem.n}"
        return f"{self.problem.name}, {size}, points of shape {self.problem.shape}"

    def check_run(self) -> str:
        """Check that the algorithm runs and yields at least one state."""
        states, total = self.seed_zero_run.states, self.seed_zero_run.total
        require(states, "the method must yield a state for each iteration", "no state")
        return f"{len(states)} iterations: {format_counts(total)}"

    def check_feasibility(self) -> str:
        """Check that the points that the run yields are finite and in the feasible set.

        These are the iterates, the outputs and, if the output is not the last iterate, the points
        `at` of the gradient estimates.
        """
        states, problem = self.seed_zero_run.states, self.problem
        form = infer_format(problem.start(), problem.name)
        outside = "it is outside the set" + getattr(self.algorithm, "iterates_note", "")
        for k, state in enumerate(states, 1):
            parts = {"iterate": state.x, "output": state.output}
            if self.algorithm.output != "last":
                parts["point `at`"] = state.at
            for name, x in parts.items():
                if x is None and name != "iterate":
                    continue
                point = f"the {name} of iteration {k}"
                if not form.is_point(x):
                    needed = f"{point} must be a point of the problem, {form.points_text}"
                    raise CheckFailed(needed, form.describe(x))
                require(is_finite(x), f"{point} must be finite", "it is not finite", x=x)
                needed = f"{point} must be in the feasible set {problem.set.name}"
                require(problem.set.contains(x), needed, outside, x=x)
        return f"{len(states)} iterates"

    def check_declared_oracles(self) -> str:
        """Check that the algorithm queries only the oracles that it declares in `requires`."""
        _, tally = self._run_with_tally()
        # `asks` says what a run with these parameters requires, where that is more.
        allowed = set(getattr(self.algorithm, "asks", self.algorithm.requires))
        extra = ", ".join(sorted(tally.calls - allowed))
        needed = f"the method may query only what `requires` names ({', '.join(sorted(allowed))})"
        require(not extra, needed, f"the method also queries {extra}: add this to `requires`")
        return f"the method queried {', '.join(sorted(tally.calls))}"

    def check_all_computations_counted(self) -> str:
        """Check that all evaluations of the problem go through the counting oracles."""
        with UncountedCallDetector(self.problem) as bypass:
            run, tally = self._run_with_tally()
        refuse_uncounted_calls(bypass, self.accessed_privates, Counts(*tally.charged), run.total)
        return f"{format_counts(run.total)}, all counted"

    def _run_with_tally(self) -> tuple[RunRecord, ComponentTally]:
        """Return the record of a run of the algorithm, and the tally of its oracle calls."""
        tallies: list[ComponentTally] = []

        def answer(backend: Any) -> ComponentTally:
            tallies.append(ComponentTally(backend))
            return tallies[0]

        return self.record_run(wrap_backend=answer), tallies[0]

    def check_negated_f_changes_run(self) -> str:
        """Check that the iterates change if the oracles are replaced by those of -f."""
        other = self.record_run(wrap_backend=NegatedBackend)
        start = self.problem.start()
        if not any(distance(state.x, start) for state in self.seed_zero_run.states):
            raise CheckSkipped("the method does not leave its start point on this problem")
        needed = "the iterates must change if the oracles answer for -f in place of f"
        observed = "the iterates are identical: the method's steps do not depend on the oracles"
        require(not self.seed_zero_run.has_same_iterates(other), needed, observed)
        return "the iterates differ if the oracles answer for -f"

    def check_reproducibility(self) -> str:
        """Check that runs with equal seeds have equal iterates.

        Other seeds must change the iterates of a randomised algorithm, but not those of a
        deterministic one.
        """
        first, second = self.seed_zero_run, self.record_run()
        needed = "two runs with the same seed must have equal iterates and calls"
        observed = "the runs differ: draw from `rng` alone, and keep nothing from run to run"
        require(first.has_same_iterates(second) and first.counts == second.counts, needed, observed)
        records = [self.record_run(seed=seed) for seed in (1, 2, 3)]
        same = all(first.has_same_iterates(other) for other in records)
        if self.algorithm.deterministic:
            needed = "all seeds must give equal iterates, as the method is declared deterministic"
            require(same, needed, "two seeds give different iterates")
            return "bit for bit, with any seed"
        if not same:
            return "bit for bit"
        if not _SAMPLED & set(self.algorithm.requires):
            return "bit for bit with all seeds: if it draws nothing, set deterministic = True"
        require(
            self.problem.n in (None, 1) or not self._queries_partial_batches(),
            "different seeds must give different iterates, as the method is not declared "
            "deterministic",
            "four seeds give equal iterates: draw from `rng`, or set deterministic = True",
        )
        return "bit for bit with all seeds: on this problem, no draw changes an iterate"

    def _list_sampled_indices(self, seed: int = 0) -> list[Any]:
        """Return the sorted component indices of each sample that a run queries."""
        samples = list[Any]()

        def note(verb: str, arguments: tuple[Any, ...], _answer: Any) -> None:
            sample = sample_of_call(verb, arguments)
            if sample is not None:
                samples.append(np.sort(getattr(sample, "indices", sample)))

        self.record_run(seed=seed, wrap_backend=lambda part: ObservedBackend(part, note))
        return samples

    def _queries_partial_batches(self) -> bool:
        """Return whether the run queries an oracle with a sample that lacks some component."""
        n = self.problem.n
        return any(np.unique(indices).size < n for indices in self._list_sampled_indices())

    def check_every_component_drawn(self) -> str:
        """Check that a method that draws uniformly draws each component.

        A method with other probabilities draws some components seldom; nothing is said of it.
        """
        n, draws, runs = self.problem.n or 0, Counter[int](), set[frozenset[Any]]()
        for seed in range(_MOST_SEEDS if n and _SAMPLED & set(self.algorithm.requires) else 0):
            batches = {tuple(indices.tolist()) for indices in self._list_sampled_indices(seed)}
            draws.update(i for batch in batches for i in batch if frozenset(batches) not in runs)
            runs.add(frozenset(batches))
            if n * (1.0 - 1.0 / n) ** draws.total() < _CHANCE:
                break
        else:
            raise CheckSkipped(f"the method draws {draws.total()} components, too few to decide")
        missing = [str(i) for i in range(n) if not draws[i]]
        needed = f"each of the {n} components must be drawn"
        observed = f"in {draws.total()} draws, all but {', '.join(missing)} are drawn alike"
        require(not missing or min(draws.values()) <= draws.total() / n / 4, needed, observed)
        return f"{draws.total()} draws of {n - len(missing)} of {n} components"

    def check_trace_invariance(self) -> str:
        """Check that a run has the same counts and result with and without a recorded objective."""
        # The budget of the iterations that are looked at, for what would run on.
        spent = self.seed_zero_run.total.as_dict()
        enough = Budget(**{name: max(1, number) for name, number in spent.items()})
        plain = solve(self.problem, self.algorithm, budget=enough)
        traced = solve(self.problem, self.algorithm, budget=enough, measures="objective")
        errors = [run.stop_reason for run in (plain, traced) if run.status == Status.ERROR]
        require(not errors, "a run must end without an error", "".join(errors[:1]))
        require(
            plain.counts == traced.counts and points_identical(plain.x, traced.x),
            "a method must make the same run, whether or not the objective is recorded",
            "the counts or the result of the run differ",
            x=plain.x,
        )
        return f"{plain.iterations} iterations: {format_counts(plain.counts)}"

    def check_budget_stop(self) -> str:
        """Check that a run with a budget stops before it exceeds the budget."""
        uppers = []
        for name, spent in self.seed_zero_run.total.as_dict().items():
            for limit in sorted({0, spent // 3, spent - 1} if spent else ()):
                run = self.record_run(budget=Budget(**{name: limit}))
                value, point = getattr(run.total, name), {f"budget {name}": limit}
                require(
                    value <= limit, f"{name} calls must not exceed {limit}", f"{value}", **point
                )
                # A run of as many states may query more only after the last of them.
                is_over = any(getattr(counts, name) > limit for counts in run.counts)
                is_short = len(run.states) < self.max_states
                require(
                    not is_over and (run.exhausted_budget or not is_short),
                    "a run must end when its budget is spent",
                    "the run goes on",
                    **point,
                )
                full_counts = self.seed_zero_run.counts
                require(
                    len(run.states) <= sum(getattr(c, name) <= limit for c in full_counts),
                    "the method must yield no state after the budget refuses a call",
                    "the method catches BudgetExhausted and goes on: do not catch it",
                    **point,
                )
                require(
                    self.seed_zero_run.has_same_iterates(run, len(run.states)),
                    "up to its end, a run with a budget must equal a run without one",
                    "the runs differ: an algorithm must not read its budget",
                    **point,
                )
            if spent:
                uppers.append(name.upper())
        return f"budgets of {', '.join(uppers)}" if uppers else "the method makes no oracle call"

    def check_start_unchanged(self) -> str:
        """Check that the algorithm does not change the array of its start point in place."""
        x0 = keep(self.problem.start())
        if isinstance(x0, np.ndarray) and self.problem.set.contains(x0 + 0.1):
            x0 = x0 + 0.1  # not 0, which some faults would leave as it is
        before = point_entries(x0).copy()
        if not isinstance(x0, np.ndarray):
            raise CheckSkipped("the points are not arrays, so no method can change them in place")

        def begin(ask: Any, x: Any, rng: Any) -> Any:
            return self.algorithm.run(ask, x0, rng)

        run = record_private_reads(self.problem, self.algorithm, begin=begin)
        for _ in islice(run, self.max_states):
            pass
        needed = "the method must not change its start point"
        observed = "the method changes its start point in place: move a copy with combine"
        require(np.array_equal(point_entries(x0), before), needed, observed, start=before)
        return "unchanged"

    def check_copies_needed_points(self) -> str:
        """Check that the algorithm copies each point that it still reads after its next step."""
        on = make_expiring_points_problem()
        if refusal := _describe_refusal(on, self.algorithm):
            raise CheckSkipped(f"the method cannot run on factored matrices: {refusal}")
        with fail_on_expired_point("move"):
            for step in islice(record_private_reads(on, self.algorithm), self.max_states):
                keep(step.state.x)
        return "it copies the points that it reads later"

    def check_output(self) -> str:
        """Check the weights of a weighted output, and the points `at` that an output is drawn from.

        The weights are >= 0, and not all 0. A point `at` is no new iterate, except if an oracle was
        queried there or elsewhere than at earlier iterates.
        """
        method, states, queried = self.algorithm, self.seed_zero_run.states, set[bytes]()

        def note(verb: str, arguments: tuple[Any, ...], _answer: Any) -> None:
            if verb.partition(".")[0] in {"gradient", *_SAMPLED}:
                points = (a for a in arguments if isinstance(a, np.ndarray))
                queried.update(a.tobytes() for a in points if a.dtype.kind == "f")

        self.record_run(wrap_backend=lambda backend: ObservedBackend(backend, note))
        *earlier, last = [self.problem.start(), *(state.x for state in states)]
        if states[-1].at is not None and isinstance(last, np.ndarray) and queried:
            before, new = {x.tobytes() for x in earlier}, last.tobytes()
            is_used = states[-1].estimate is not None or method.output != "last"
            is_new = states[-1].at.tobytes() == new and new not in before >= queried
            require(
                not (is_new and is_used),
                "State.at must be the point of the gradient estimate",
                "it is the new iterate, where no gradient was queried: State(x, at, estimate)",
            )
        if method.output == "weighted":
            weights = [float(method.output_weight(k)) for k in range(1, len(states) + 1)]
            if min(weights) < 0.0 or not 0.0 < sum(weights) < np.inf:
                needed = "the weights p_k of a weighted output must be at least 0, and not all 0"
                at_fault = locate_methods(method, "output_weight")
                raise CheckFailed(needed, format_brief(np.array(weights)), {}, at_fault)
        own = sum(state.output is not None for state in states)
        return f"{method.output}" + (f"; {own} states set their own `output`" if own else "")

    def check_anytime(self) -> str:
        """Check that a shorter run of an anytime algorithm equals the beginning of a longer one."""
        method = self.algorithm
        if not getattr(method, "anytime", False):
            raise CheckSkipped("the method does not declare anytime = True")
        if getattr(method, "iterations", None) is None:
            raise CheckSkipped("the method has no parameter `iterations`")
        methods = (instantiate_with_accepted_parameters(method, (), iterations=T) for T in (7, 13))
        short, long = (self.record_run(algorithm=algorithm) for algorithm in methods)
        if not short.has_same_iterates(long, min(len(short.states), len(long.states))):
            raise CheckFailed(
                "a run of 7 iterations must equal the start of a run of 13, as anytime is declared",
                "the iterates differ",
                {"iterations": 7},
                locate_methods(method, "run", "anytime"),
            )
        return "the run of 7 iterations is the start of that of 13"

    def check_iterations_grow_with_accuracy(self) -> str:
        """Check that the prescribed number of iterations does not fall as epsilon decreases.

        For a large epsilon, which a schedule may refuse, the number may fall to a half.
        """
        kind = type(self.algorithm)
        if not has_schedule(kind):
            raise CheckSkipped("it has no theorem's schedule")
        constants, reported, counts = self.problem.constants(self.problem.start()), [], list[Any]()
        for epsilon in (100.0, 10.0, 1.0, 0.1, 0.05, 0.01):
            try:
                reported.append(getattr(kind.theory(epsilon, constants), "iterations", None))
            except Exception as error:
                if epsilon > 0.1:
                    continue
                if not isinstance(error, RefusedError | TypeError | OverflowError):
                    raise
                raise CheckSkipped(f"the schedule refuses epsilon={epsilon}: {error}") from error
            counts += [(epsilon, reported[-1])] if reported[-1] is not None else []
        if any(b < (a / 2 if epsilon > 0.1 else a) for (epsilon, a), (_, b) in pairwise(counts)):
            raise CheckFailed(
                "a smaller epsilon must not lead to fewer iterations",
                ", ".join(f"{count} for epsilon = {epsilon:g}" for epsilon, count in counts),
                {},
                locate_methods(self.algorithm, "theory"),
            )
        return f"{', '.join(map(str, reported[-3:]))} iterations for epsilon = 0.1, 0.05, 0.01"
