"""A bound: what is measured along runs is at most a function of constants and parameters."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import choice
from pfbench.base.errors import InputError
from pfbench.points import keep
from pfbench.verification.evidence import Evidence
from pfbench.verification.instances import Instance
from pfbench.verification.instruments.slopes import Slope
from pfbench.verification.stating.quantity import Quantity, at_points, is_count
from pfbench.verification.stating.setting import (
    Case,
    Given,
    Setting,
    check_fit,
    check_function,
    instances,
    problems,
)
from pfbench.verification.statistics import (
    Decision,
    across,
    by_own_constant,
    by_schedule,
    decide_inequality,
    given,
)
from pfbench.verification.subject import Broken, Untestable
from pfbench.verification.trial import Trial

OVER = {
    "every": "each iterate x_t, t = 1, 2, ..., of every run",
    "least": "the least of x_0 .. x_t, at each t, of every run",
    "mean": "the mean of x_0 .. x_{T-1}, in expectation: so is a uniform output",
    "last": "x_T, in expectation",
    "output": "the output of a run, in expectation",
}
"""Over which points a bound is stated."""

_EACH = ("every", "least")
"""Stated of every run, with a bound that is a function of t, too."""

_BATCH = 10
"""Runs between two looks at a mean."""

FREE = Slope(n=4, g=1.0, gap=10.0, L=1.0)
"""Where the draw of an output is seen of a method that no set forces: a slope on the line."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The check of a bound; see `bound`."""

    kind: ClassVar[str] = "bound"

    most: Callable[..., float]
    of: Quantity
    over: str
    setting: Setting
    runs: tuple[int, int]
    own_constant: bool

    def __call__(self, trial: Trial) -> Evidence:
        """Put it to the test on every instance."""
        parts, conditions, runs = dict[str, Decision](), dict[str, Decision](), 0
        if self.over in _EACH:
            for name, one in instances(trial):
                parts[name], count = self._each(trial, name, one)
                runs += count
        else:
            for name, problem in problems(trial):
                case = self.setting.on(trial, problem)
                parts[name], count = self._expected(trial, name, case)
                runs += count
                conditions = conditions or _uniform_output(trial, case, self.over)
        decision = across(parts)
        if is_count(self.of):
            decision = by_schedule(decision)
        if self.own_constant:
            decision = by_own_constant(decision)
        if conditions:
            decision = given({"": decision}, conditions)
        return Evidence(decision, {"ratio": 1.0}, runs)

    def check(self, trial: Trial) -> None:
        """Refuse what cannot be tested, before any run.

        Raises
        ------
        InputError
            If an instance does not fit the method, the quantity is unknown, or the bound is no
            positive number.
        """
        for _, problem in problems(trial):
            case = self.setting.on(trial, problem)
            check_fit(trial, case)
            if not is_count(self.of):
                at_points(problem, self.of)(problem.start())
            self._bound(case, 1)

    def _bound(self, case: Case, t: int) -> float:
        """Return the bound for a case, at t if it is one for every t."""
        told = (case.constants, case.parameters, *((t,) if self.over in _EACH else ()))
        value = float(self.most(*told))
        if not 0.0 < value < math.inf:
            raise InputError(
                f"the bound on {case.problem.name} is {value:g}: it must be positive and finite."
            )
        return value

    # --- every run --------------------------------------------------------------------------------

    def _each(self, trial: Trial, name: str, one: Instance) -> tuple[Decision, int]:
        """Decide the bound on an instance at every step of every run; return the runs, too."""
        chance = one.varies or not getattr(trial.own, "deterministic", False)
        seeds = trial.seeds(trial.pick(*self.runs), name) if chance else [0]
        ratios: list[float] = []
        for seed in seeds:
            ratios += self._ratios(trial, self.setting.on(trial, one.of_seed(seed)), seed)
        return decide_inequality(ratios), len(seeds)

    def _ratios(self, trial: Trial, case: Case, seed: int) -> Iterator[float]:
        """Yield what was measured over the bound, at each t of one run."""
        measured, least = at_points(case.problem, self.of), math.inf
        moves = islice(trial.moves(case.problem, case.algorithm, seed), case.steps)
        for t, (x, step) in enumerate(moves):
            if self.over == "every":
                yield measured(step.state.x) / self._bound(case, t + 1)
            else:
                least = min(least, measured(x))
                yield least / self._bound(case, t)

    # --- in expectation ---------------------------------------------------------------------------

    def _expected(self, trial: Trial, name: str, case: Case) -> tuple[Decision, int]:
        """Decide the bound of a mean over runs; return the number of runs, too."""
        most = self._bound(case, 0)

        def ratio(seed: int) -> float:
            return self._measured(trial, case, seed) / most

        if getattr(trial.algorithm, "deterministic", False):
            return decide_inequality([ratio(0)]), 1
        return trial.sequential(ratio, purpose=name, batch=_BATCH, most=trial.pick(*self.runs))

    def _measured(self, trial: Trial, case: Case, seed: int) -> float:
        """Return what is measured of one run."""
        if is_count(self.of):
            *_, last = _moves(trial, case, seed)
            return float(last[1].counts().as_dict()[str(self.of)])
        measured = at_points(case.problem, self.of)
        if self.over == "output":
            return measured(trial.run(case.problem, case.algorithm, seed=seed).x)
        moves = _moves(trial, case, seed)
        if self.over == "last":
            return measured(moves[-1][1].state.x)
        points = [x if step.state.at is None else keep(step.state.at) for x, step in moves]
        return float(np.mean([measured(x) for x in points]))


def _moves(trial: Trial, case: Case, seed: int) -> list[Any]:
    """Return the steps of a run, each with the iterate before it; as many as the claim sets."""
    moves = list(islice(trial.moves(case.problem, case.algorithm, seed), case.steps))
    if not moves:
        raise Broken("it makes no step")
    if case.steps is not None and len(moves) < case.steps:
        raise Untestable(
            f"it yields {len(moves)} states in {case.steps} iterations, and one each is needed"
        )
    return moves


def _uniform_output(trial: Trial, case: Case, over: str) -> dict[str, Decision]:
    """Decide that an output is drawn uniformly, if the claim's own method declares that."""
    if over != "mean" or getattr(case.algorithm, "output", "") != "uniform":
        return {}
    minimises = "lo" in getattr(trial.own, "requires", ())
    return {"output": trial.draws_uniformly(None if minimises else FREE, **case.given)}


def bound(
    most: Callable[..., float],
    of: Quantity,
    *,
    over: str = "mean",
    parameters: Given | None = None,
    full: Mapping[str, Any] | None = None,
    epsilon: float | None = None,
    constants: Callable[[Any], Any] | None = None,
    runs: tuple[int, int] = (80, 320),
    own_constant: bool = False,
) -> Bound:
    """Return the check that something measured along runs is at most a bound.

    Parameters
    ----------
    most
        The bound: a function of the constants of the problem and the parameters that are set here
        (by attribute, as in ``lambda c, a: 4 * c.L * c.delta / a.iterations``); stated of every
        run, of t, too.
    of
        What is measured: a measure by name, ``suboptimality``, a kind of call as ``sfo`` (of the
        whole run), or a function of problem and point.
    over
        Over which points, one of `OVER`.
    parameters
        Of the method: by name, or a function of the constants that returns them so.
    full
        Those in place of them in a full verification.
    epsilon
        Accuracy for the method's own ``theory``, which sets what is not among the parameters.
    constants
        Returns of a problem what the functions take for its constants, if not its own.
    runs
        How many runs are made at most on an instance, quick and full; of every run so many.
    own_constant
        Whether a constant in the bound is no paper's: then nothing makes it tight.

    Raises
    ------
    InputError
        If `over` is unknown, or a function takes another number of arguments.
    """
    choice("over", over, OVER)
    check_function("most", most, 3 if over in _EACH else 2)
    if not isinstance(of, str):
        check_function("of", of, 2)
    setting = Setting(
        parameters=parameters or {}, full=full or {}, epsilon=epsilon, constants=constants
    )
    return Bound(most=most, of=of, over=over, setting=setting, runs=runs, own_constant=own_constant)
