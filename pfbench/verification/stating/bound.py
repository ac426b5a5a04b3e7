"""A bound: what is measured along runs is at most a function of constants and parameters."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import choice
from pfbench.base.errors import InputError
from pfbench.points import keep
from pfbench.verification.evidence import Evidence
from pfbench.verification.instruments.slopes import Slope
from pfbench.verification.stating.horizons import along_horizons
from pfbench.verification.stating.quantity import Quantity, at_points, is_count
from pfbench.verification.stating.setting import (
    Case,
    Given,
    Setting,
    check_fit,
    check_function,
    drawn_seeds,
    instances,
    labelled,
    problems,
)
from pfbench.verification.statistics import (
    Decision,
    across,
    all_of,
    by_own_constant,
    by_schedule,
    decide_inequality,
    decide_mean,
    given,
)
from pfbench.verification.subject import Raised, Untestable
from pfbench.verification.trial import Trial

OVER = {
    "every": "each iterate x_t, t = 1, 2, ..., of every run",
    "step": "each step from x_t to x_{t+1}, t = 0, 1, ..., of every run",
    "least": "the least of x_0 .. x_t, at each t, of every run",
    "mean": "the mean of x_0 .. x_{T-1}, in expectation: so is a uniform output",
    "last": "x_T, in expectation",
    "output": "the output of a run, in expectation",
}
"""Over which points a bound is stated."""

_EACH = ("every", "step", "least")
"""Stated of every run, with a bound that is a function of t, too."""

RUNS = (80, 320)
"""How many runs are made at most on an instance, quick and full, where a bound does not say."""

_ROUNDING = 1e-9
"""Share of what is measured at the start below which a number on a longer run is rounding."""

_BATCH = 10
"""Runs between two looks at a mean."""

FREE = Slope(n=4, g=1.0, gap=10.0, L=1.0)
"""Where the draw of an output is seen of a method that no set forces: a slope on the line."""

Most = Callable[..., float]
"""Constants, parameters (and t) -> a bound."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The check of a bound; see `bound`."""

    kind: ClassVar[str] = "bound"
    takes: ClassVar[tuple[float, float]] = (5.0, 20.0)

    bounds: Mapping[str, Most]
    of: Any
    over: str
    settings: Mapping[str, Setting]
    runs: tuple[int, int]
    own_constant: bool
    pooled: bool

    def __call__(self, trial: Trial) -> Evidence:
        """Put it to the test on every instance, at the stated horizon and at longer ones.

        Of a step nothing is known of rounding, which longer runs meet as they converge.
        """
        settings = () if self.over == "step" else self.settings.values()
        return along_horizons(trial, settings, self.at_one_horizon)

    def at_one_horizon(self, trial: Trial) -> Evidence:
        """Put it to the test on every instance."""
        in_every_run = self.over in _EACH
        parts, runs = self._in_every_run(trial) if in_every_run else self._in_expectation(trial)
        decision = across({name: _all(by_label) for name, by_label in parts.items()})
        if is_count(self.of):
            decision = by_schedule(decision)
        if self.own_constant:
            decision = by_own_constant(decision)
        conditions = self._conditions(trial) if trial.stretch == 1 else {}
        if conditions:
            decision = given({"": decision}, conditions)
        return Evidence(decision, {"ratio": 1.0}, runs)

    def check(self, trial: Trial) -> None:
        """Refuse what cannot be tested, before any run.

        Raises
        ------
        InputError
            If an instance does not fit the method, the quantity is unknown, or a bound is no
            positive number.
        """
        for _, problem in problems(trial):
            for setting in self.settings.values():
                case = setting.on(trial, problem)
                check_fit(case)
                for most in self.bounds.values():
                    self._bound(most, case, 1)
            if not (is_count(self.of) or self.over == "step"):
                at_points(problem, self.of)(problem.start())

    def _bound(self, most: Most, case: Case, t: int, least: float = 0.0) -> float:
        """Return a bound for a case, at t if it is one for every t; `least` if it is below."""
        told = (case.constants, case.parameters, *((t,) if self.over in _EACH else ()))
        value = max(float(most(*told)), least)
        if not 0.0 < value < math.inf:
            raise InputError(
                f"the bound on {case.problem.name} is {value:g}: it must be positive and finite."
            )
        return value

    def _least(self, trial: Trial, case: Case) -> float:
        """Return the value below which a measured number is rounding; 0 at the stated horizon.

        A bound that falls by a factor each step is below it soon on longer runs.
        """
        if trial.stretch == 1 or is_count(self.of):
            return 0.0
        return _ROUNDING * abs(at_points(case.problem, self.of)(case.problem.start()))

    def largest(self, trial: Trial, case: Case, seed: int) -> float:
        """Return what is measured of one run over its bound, the largest of all bounds and t."""
        if self.over in _EACH:
            return max(
                measured / self._bound(most, case, t)
                for t, measured in self._measured(trial, case, seed)
                for most in self.bounds.values()
            )
        least = min(self._bound(most, case, 0) for most in self.bounds.values())
        return self._of_run(trial, case, seed) / least

    def values(self, case: Case) -> dict[str, float]:
        """Return the bounds on a case by label; of a bound for every t that at t = 1."""
        return {label: self._bound(most, case, 1) for label, most in self.bounds.items()}

    # --- every run --------------------------------------------------------------------------------

    def _in_every_run(self, trial: Trial) -> tuple[dict[str, dict[str, Decision]], int]:
        """Decide the bounds by instance and label; return the number of runs, too."""
        found: dict[str, dict[str, list[float]]] = {}
        runs = 0
        for name, one in instances(trial):
            ratios = found.setdefault("" if self.pooled else name, {})
            for label, setting in self.settings.items():
                for data, seed in drawn_seeds(trial, one, trial.pick(*self.runs)):
                    runs += 1
                    case = setting.on(trial, one.of_seed(data))
                    least = self._least(trial, case)
                    for t, measured in self._measured(trial, case, seed):
                        for of, most in self.bounds.items():
                            ratio = measured / self._bound(most, case, t, least)
                            ratios.setdefault(_joined(of, label), []).append(ratio)
        decided = {
            name: {label: decide_inequality(some) for label, some in ratios.items()}
            for name, ratios in found.items()
        }
        return decided, runs

    def _measured(self, trial: Trial, case: Case, seed: int) -> Iterator[tuple[int, float]]:
        """Yield each t of one run with what is measured there."""
        moves = islice(trial.moves(case.problem, case.algorithm, seed), case.steps)
        if self.over == "step":
            for t, (x, step) in enumerate(moves):
                yield t, float(self.of(case.problem, x, step.state.x))
            return
        measured, least = at_points(case.problem, self.of), math.inf
        for t, (x, step) in enumerate(moves):
            if self.over == "every":
                yield t + 1, measured(step.state.x)
            else:
                least = min(least, measured(x))
                yield t, least

    # --- in expectation ---------------------------------------------------------------------------

    def _in_expectation(self, trial: Trial) -> tuple[dict[str, dict[str, Decision]], int]:
        """Decide bounds of means over runs, by instance and label; return the runs, too."""
        found: dict[str, dict[str, Decision]] = {}
        runs = 0
        for name, problem in problems(trial):
            found[name] = {}
            for label, setting in self.settings.items():
                case = setting.on(trial, problem)
                for of, most in self.bounds.items():
                    where = _joined(of, label)
                    bound = self._bound(most, case, 0, self._least(trial, case))
                    purpose = _joined(name, where)
                    found[name][where], count = self._mean(trial, purpose, case, bound)
                    runs += count
        return found, runs

    def _mean(self, trial: Trial, purpose: str, case: Case, bound: float) -> tuple[Decision, int]:
        """Decide the bound of a mean over runs; return the number of runs, too."""

        def ratio(seed: int) -> float:
            return self._of_run(trial, case, seed) / bound

        if getattr(trial.own, "deterministic", False):
            return decide_inequality([ratio(0)]), 1
        most = trial.pick(*self.runs)
        if is_count(self.of):
            return _of_counts([ratio(seed) for seed in trial.seeds(most, purpose)]), most
        return trial.sequential(ratio, purpose=purpose, batch=_BATCH, most=most)

    def _of_run(self, trial: Trial, case: Case, seed: int) -> float:
        """Return what is measured of one run."""
        if is_count(self.of):
            *_, last = _moves(trial, case, seed)
            return float(last[1].counts().as_dict()[self.of])
        measured = at_points(case.problem, self.of)
        if self.over == "output":
            return measured(trial.run(case.problem, case.algorithm, seed=seed).x)
        moves = _moves(trial, case, seed)
        if self.over == "last":
            return measured(moves[-1][1].state.x)
        points = [x if step.state.at is None else keep(step.state.at) for x, step in moves]
        return float(np.mean([measured(x) for x in points]))

    def _conditions(self, trial: Trial) -> dict[str, Decision]:
        """Decide that an output is drawn uniformly, if that is what the bound is about.

        It is where a mean is taken, and the claim's own method declares it.
        """
        if self.over != "mean" or getattr(trial.own, "output", "") != "uniform":
            return {}
        problem, setting = next(problems(trial))[1], next(iter(self.settings.values()))
        sizes = setting.on(trial, problem).given
        minimises = "lo" in getattr(trial.own, "requires", ())
        return {"output": trial.draws_uniformly(None if minimises else FREE, **sizes)}


def _of_counts(ratios: list[float]) -> Decision:
    """Decide a bound of the mean of counts, of which none is taken to be above twice the bound.

    A schedule often makes them the same in each run, and the bound itself. So where no run is above
    the bound it holds in so many runs, and no more is said of the mean.
    """
    found = decide_mean(ratios, 1.0, most=2.0)
    every = decide_inequality(ratios)
    if found.verdict != "inconclusive" or every.verdict == "violated":
        return found
    return replace(found, verdict="holds", reason=f"It is kept in each of {len(ratios)} runs.")


def _all(by_label: Mapping[str, Decision]) -> Decision:
    """Return the decision on all labels of an instance."""
    return by_label[""] if set(by_label) == {""} else all_of(by_label)


def _joined(*labels: str) -> str:
    return ", ".join(filter(None, labels))


def _moves(trial: Trial, case: Case, seed: int) -> list[Any]:
    """Return the steps of a run, each with the iterate before it; as many as the claim sets."""
    moves = list(islice(trial.moves(case.problem, case.algorithm, seed), case.steps))
    if not moves:
        raise Raised("it makes no step")
    if case.steps is not None and len(moves) < case.steps:
        raise Untestable(
            f"it yields {len(moves)} states in {case.steps} iterations, and one each is needed"
        )
    return moves


def bound(
    most: Most | Mapping[str, Most],
    of: Quantity | Callable[[Any, Any, Any], float],
    *,
    over: str = "mean",
    parameters: Given | Mapping[str, Given] | None = None,
    full: Mapping[str, Any] | None = None,
    constants: Callable[[Any], Any] | None = None,
    runs: tuple[int, int] = RUNS,
    own_constant: bool = False,
    pooled: bool = False,
) -> Bound:
    """Return the check that something measured along runs is at most a bound.

    Parameters
    ----------
    most
        The bound: a function of the constants of the problem and the parameters that are set here
        (by attribute, as in ``lambda c, a: 4 * c.L * c.delta / a.iterations``); stated of every
        run, of t, too. Or several of these, each under a label, which must all hold.
    of
        What is measured: a measure by name, ``suboptimality``, a kind of call as ``sfo`` (of the
        whole run), or a function of problem and point; of a step a function of problem, x_t and
        x_{t+1}.
    over
        Over which points, one of `OVER`.
    parameters
        Of the method: by name, or a function of the constants that returns them so; with `epsilon`
        among them, its own ``theory`` sets the others. Or several of these, each under a label.
    full
        Those in place of them in a full verification.
    constants
        Returns of a problem what the functions take for its constants, if not its own.
    runs
        How many runs are made at most on an instance, quick and full; of every run so many.
    own_constant
        Whether a constant in the bound is no paper's: then the verdict is *holds* at
        best.
    pooled
        Whether a bound of every run is decided on all instances together: then it is near its bound
        where one is, and they are not told apart.

    Raises
    ------
    InputError
        If `over` is unknown, or a function takes another number of arguments.
    """
    choice("over", over, OVER)
    bounds = dict(most) if isinstance(most, Mapping) else {"": most}
    for one in bounds.values():
        check_function("the bound", one, 3 if over in _EACH else 2)
    if over == "step" or not isinstance(of, str):
        check_function("of", of, 3 if over == "step" else 2)
    if pooled and over not in _EACH:
        raise InputError(f"pooled goes with over={', '.join(_EACH)}: leave it out.")
    return Bound(
        bounds=bounds,
        of=of,
        over=over,
        settings=labelled(parameters, full=full or {}, constants=constants),
        runs=runs,
        own_constant=own_constant,
        pooled=pooled,
    )
