"""Parameters with which a claim's method runs on its instances: set, or from its schedule."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np

from pfbench.algorithms.base import Algorithm as CatalogueAlgorithm
from pfbench.algorithms.base import get_parameters
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.names import find_entry
from pfbench.base.protocols import Algorithm, Problem
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.verification.claim import Claim
from pfbench.verification.instances import Instance
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.reproducibility import check_reproducible
from pfbench.verification.subject import NotTestable, instantiate_with_accepted_parameters
from pfbench.verification.trial import Trial
from pfbench.verification.units import is_float

Outcome = TypeVar("Outcome")

Given = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
"""Parameters of a method, or a function of the constants of a problem that returns them."""


FACTOR = 4
"""Factor between two consecutive horizons that are tested."""

_ROOM = 2.0
"""Factor between a longer horizon and the horizon for whose accuracy its instances are built."""

_HORIZONS = ("T", "iterations")
"""Names of arguments that are the number of steps."""


class ParameterNamespace(SimpleNamespace):
    """Parameters as attributes of an object, which the functions of a claim read."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        names = ", ".join(vars(self)) or "none"
        raise InputError(f"the claim reads {name}: state this parameter, too (stated: {names}).")


@dataclass(frozen=True, kw_only=True)
class MethodOnProblem:
    """Problem with a method instantiated for it.

    Attributes
    ----------
    problem
        The problem.
    constants
        Constants that the claim's functions get.
    parameters
        Parameters that the claim sets, as attributes.
    algorithm
        The method under test with these parameters.
    """

    problem: Problem
    constants: Any
    parameters: Any
    algorithm: Algorithm

    @property
    def steps(self) -> int | None:
        """Number of steps that the claim sets; None if the claim sets none."""
        iterations: int | None = self.parameters_set_by_claim.get("iterations")
        return iterations

    @property
    def parameters_set_by_claim(self) -> Mapping[str, Any]:
        """Parameters that the claim sets, by name."""
        parameters: Mapping[str, Any] = vars(self.parameters)
        return parameters


@dataclass(frozen=True, kw_only=True)
class ClaimSetting:
    """Parameters of a claim's method, and constants of the problem.

    Attributes
    ----------
    parameters
        Parameters of the method. With `epsilon` among them, the method's schedule, if any, sets the
        others.
    full
        Parameters that replace these in a full verification.
    constants
        Function of a problem that returns the constants for the claim's functions; by default
        `problem.constants(problem.start())`.
    """

    parameters: Given = field(default_factory=dict)
    full: Mapping[str, Any] = field(default_factory=dict)
    constants: Callable[[Any], Any] | None = None

    def horizon(self, effort: str) -> tuple[str, int] | None:
        """Return name and value of the parameter that sets the number of steps, or None.

        No other parameter may have been chosen for this number of steps. If they come from a
        function, the result is the integer default of its argument `T` or `iterations`. If they are
        a mapping, the result is `iterations`, provided that no other parameter is a number.
        """
        full = self.full if effort == "full" else {}
        if callable(self.parameters):
            parameters = inspect.signature(self.parameters).parameters
            defaults = {name: parameter.default for name, parameter in parameters.items()}
            if "iterations" in full:
                return None
        else:
            defaults = {**self.parameters, **full}
            if any(is_float(v) or type(v) is int for k, v in defaults.items() if k != "iterations"):
                return None
        return next(((k, defaults[k]) for k in _HORIZONS if type(defaults.get(k)) is int), None)

    def with_horizon(self, name: str, T: int) -> "ClaimSetting":
        """Return the setting with T steps; `name` is the parameter that `horizon` returns."""
        stem, fixed = self.parameters, {name: T}
        longer = partial(stem, **fixed) if callable(stem) else {**stem, **fixed}
        return replace(self, parameters=longer)

    def make_case(self, trial: Trial, problem: Any, **overrides: Any) -> MethodOnProblem:
        """Return a problem with the method instantiated for it.

        `overrides` are parameters that replace those of the claim.

        Raises
        ------
        NotTestable
            If the method refuses its parameters.
        """
        statement = problem.constants(problem.start())
        constants = statement if self.constants is None else self.constants(problem)
        horizon = self.horizon(trial.effort) if trial.horizon_multiple > 1 else None
        longer = {} if horizon is None else {horizon[0]: trial.horizon_multiple * horizon[1]}
        full = trial.choose_by_effort({}, dict(self.full))
        if callable(self.parameters):
            parameters = {**self.parameters(constants, **longer), **full, **overrides}
        else:
            parameters = {**self.parameters, **full, **longer, **overrides}
        epsilon = parameters.pop("epsilon", None)
        if epsilon is None or not has_schedule(trial.original_algorithm):
            algorithm = _with_fallback_constants(trial, statement, parameters)
        else:
            algorithm = trial.make_scheduled(epsilon, statement, **parameters)
            right = trial.original_algorithm.theory(epsilon, statement, **parameters)
            parameters = get_parameters(right)
        parameters |= {} if epsilon is None else {"epsilon": epsilon}
        return MethodOnProblem(
            problem=problem,
            constants=constants,
            parameters=ParameterNamespace(**parameters),
            algorithm=algorithm,
        )


def _with_fallback_constants(
    trial: Trial, constants: Any, parameters: Mapping[str, Any]
) -> Algorithm:
    """Return the method with a claim's parameters; the constants may supply missing parameters.

    An example is frank-wolfe[step=short], whose `smoothness` is L_f unless it is given.
    """
    try:
        return trial.make(**parameters)
    except NotTestable:
        complete = getattr(trial.algorithm, "explicit", None)
        if complete is not None:
            with suppress(
                Exception
            ):  # a user's class may raise anything; the first error is clearer
                return cast(Algorithm, complete(constants, **parameters))
        raise


@dataclass(frozen=True, kw_only=True)
class StatementCheck:
    """Base class of checks that run the method with parameters that the claim sets.

    Attributes
    ----------
    parameters
        Parameters of the method by name, or a function of the constants that returns them. With
        `epsilon` among them, the method's ``theory`` sets the others. In `bound` and `counts`, a
        mapping from labels to these states several settings.
    full
        Parameters that replace these in a full verification.
    constants
        Function of a problem that returns the constants for the functions of the claim; by default
        the constants of the problem.
    """

    parameters: Given | Mapping[str, Given] | None = None
    full: Mapping[str, Any] | None = None
    constants: Callable[[Any], Any] | None = None

    @cached_property
    def settings(self) -> dict[str, ClaimSetting]:
        """Settings by label; the label of a single setting is "".

        Raises
        ------
        InputError
            If `parameters` is neither a mapping nor a function.
        """
        value = {} if self.parameters is None else self.parameters
        if not (isinstance(value, Mapping) or callable(value)):
            raise InputError("parameters must be a mapping, or a function of the constants.")
        items = value.values() if isinstance(value, Mapping) else [None]
        is_plural = value and all(isinstance(item, Mapping) or callable(item) for item in items)
        by_label: Any = value if is_plural else {"": value}
        return {
            label: ClaimSetting(parameters=item, full=self.full or {}, constants=self.constants)
            for label, item in by_label.items()
        }

    @property
    def setting(self) -> ClaimSetting:
        """Setting of a check that has only one."""
        (setting,) = self.settings.values()
        return setting

    def check_testable(self, trial: Trial) -> None:
        """Raise an error, before any run, if the method or the claim does not fit an instance."""
        for _, problem in iterate_titled_problems(trial):
            for setting in self.settings.values():
                case = setting.make_case(trial, problem)
                check_required_oracles(case)
                self.check_case(case)

    def check_case(self, case: MethodOnProblem) -> None:
        """Raise an error if the functions of the claim cannot be evaluated for a case."""


def has_schedule(method: Any) -> bool:
    """Return whether a method has a schedule from a theorem, i.e. the Python method `theory`."""
    own = getattr(method, "theory", None)
    return own is not None and getattr(own, "__func__", own) is not _NONE


_NONE = vars(CatalogueAlgorithm)["theory"].__func__


def resolve_method(method: Any) -> Any:
    """Return the catalogue's method if a name is given, else the given method itself.

    Raises
    ------
    InputError
        If the catalogue has no method of that name.
    """
    return find_entry("algorithm", method, ALGORITHMS) if isinstance(method, str) else method


def make_compared_method(method: Any, parameters: Given | None, case: MethodOnProblem) -> Algorithm:
    """Return the method to compare with, instantiated for the problem of a case.

    The parameters of the other method are those of the claim, unless `parameters` is given.

    Raises
    ------
    NotTestable
        If the method refuses the parameters.
    """
    if parameters is None:
        return instantiate_with_accepted_parameters(method, **case.parameters_set_by_claim)
    reported = parameters(case.constants) if callable(parameters) else parameters
    return instantiate_with_accepted_parameters(method, tuple(reported), **reported)


def instance_titles(claim: Claim) -> list[str]:
    """Return a distinct title for each instance of a claim, or "" for a single instance."""
    names = [instance.name for instance in claim.instances]
    if len(names) == 1:
        return [""]
    return [
        name if names.count(name) == 1 else f"{name} {names[: k + 1].count(name)}"
        for k, name in enumerate(names)
    ]


def iterate_instances(trial: Trial) -> Iterator[tuple[str, Instance]]:
    """Yield the title of each instance of the claim, and the instance.

    The instances are adapted to the number of steps of the trial's runs.

    Raises
    ------
    NotTestable
        If the claim has no instance.
    """
    if not trial.claim.instances:
        raise NotTestable(
            "the claim has no instance to test: state `instances`, or search by `pfbench falsify`"
        )
    for title, instance in zip(instance_titles(trial.claim), trial.claim.instances, strict=True):
        if trial.horizon_multiple > 1:
            instance = adapt_instance_to_longer_horizon(instance, trial.horizon_multiple)
        yield title, instance


def adapt_instance_to_longer_horizon(instance: Instance, horizon_multiple: int) -> Instance:
    """Return the instance with its default `T` or `epsilon` adapted to longer runs.

    A correct method reaches the accuracy in the first part of the run. The rest of the run may show
    late faults.
    """
    parameters = inspect.signature(instance.build).parameters
    changed: dict[str, Any] = {}
    for name in instance.free_parameter_names:
        default = parameters[name].default
        if name in _HORIZONS and type(default) is int:
            changed[name] = horizon_multiple * default
        elif name == "epsilon" and is_float(default):
            changed[name] = default / math.sqrt(max(horizon_multiple / _ROOM, 1.0))
    return replace(instance, parameters={**instance.parameters, **changed}) if changed else instance


def is_run_random(trial: Trial, instance: Instance) -> bool:
    """Return whether runs of the claim's method on an instance depend on random numbers."""
    return instance.varies or not getattr(trial.original_algorithm, "deterministic", False)


def draw_seeds(trial: Trial, instance: Instance, count: int) -> list[tuple[int, int]]:
    """Return `count` pairs (data seed, seed of the run), or one pair if nothing is random."""
    if not is_run_random(trial, instance):
        return [(0, 0)]
    key = instance.stream_key
    return list(zip(trial.seeds(count, key), trial.seeds(count, f"{key} runs"), strict=True))


def iterate_titled_problems(trial: Trial) -> Iterator[tuple[str, Any]]:
    """Yield, for each instance of the claim, its title and one of its problems.

    A seed of the trial determines random data.
    """
    for name, instance in iterate_instances(trial):
        yield name, instance.build_seeded(trial.seeds(1, instance.stream_key)[0])


def enumerate_outcomes(
    trial: Trial, case: MethodOnProblem, outcome: Callable[[Any], Outcome]
) -> Iterator[tuple[float, Outcome]]:
    """Yield the probability and the outcome of a run for every sequence of the method's draws.

    See `enumerate_draws`.

    Raises
    ------
    MethodFailed
        If the method also raises on a NumPy generator.
    NotTestable
        If the method's draws cannot be enumerated.
    """
    try:
        check_reproducible(trial, case.problem, case.algorithm, case.steps)
        yield from enumerate_draws(outcome)
    except NotEnumerable as error:
        for _ in islice(trial.follow(case.problem, case.algorithm), case.steps):
            pass
        raise NotTestable(f"the draws cannot be enumerated: {error}") from error


def check_required_oracles(case: MethodOnProblem) -> None:
    """Raise an error if a problem lacks an oracle that the method of the case requires.

    Raises
    ------
    InputError
        If the problem lacks an oracle that the method requires.
    """
    try:
        run = resolve_run(case.problem, case.algorithm)
        run.check_requirements(case.problem.open(np.random.default_rng(0)))
    except RefusedError as error:
        raise InputError(str(error)) from error


def check_signature(subject: str, function: Any, arguments: str) -> None:
    """Raise an error if `function` cannot be called with arguments such as "c, a, t".

    Raises
    ------
    InputError
        If it is not a function, or takes another number of arguments.
    """
    count = len(arguments.split(","))
    try:
        inspect.signature(function).bind(*[None] * count)
    except (TypeError, ValueError) as error:
        raise InputError(f"{subject} must be a function of ({arguments}).") from error
