"""With what a claim's method runs on its instances: parameters, or its theorem's schedule."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from pfbench.algorithms.base import Algorithm as CatalogueAlgorithm
from pfbench.algorithms.base import parameters_of
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError, Refused
from pfbench.base.names import named
from pfbench.base.protocols import Algorithm, Problem
from pfbench.runs.loop.ready import ready
from pfbench.verification.claim import Claim
from pfbench.verification.instances import Instance
from pfbench.verification.instruments.draws import Unscripted, branches
from pfbench.verification.repeats import check_repeats
from pfbench.verification.subject import Untestable, make
from pfbench.verification.trial import Trial
from pfbench.verification.units import is_real

Outcome = TypeVar("Outcome")

Given = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
"""Parameters of a method, or a function of the constants of a problem that returns them."""


FACTOR = 4
"""Factor between two horizons that are tried."""

_ROOM = 2.0
"""Factor between a longer horizon and the one for whose accuracy its instances are made."""

_HORIZONS = ("T", "iterations")
"""Names of an argument that is the number of steps."""


class Named(SimpleNamespace):
    """Parameters by name, as a bound reads them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(vars(self)) or "none"
        raise InputError(f"a claim asks for the parameter {name}, and states {known}.")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem with the method made for it.

    Attributes
    ----------
    problem
        The problem.
    constants
        What the claim's functions take for its constants.
    parameters
        The parameters that the claim sets, by name.
    algorithm
        The method under test with these parameters.
    """

    problem: Problem
    constants: Any
    parameters: Any
    algorithm: Algorithm

    @property
    def steps(self) -> int | None:
        """The number of steps that the claim sets; None if it sets none."""
        found: int | None = vars(self.parameters).get("iterations")
        return found

    @property
    def given(self) -> Mapping[str, Any]:
        """The parameters that the claim sets."""
        found: Mapping[str, Any] = vars(self.parameters)
        return found


@dataclass(frozen=True, kw_only=True)
class Setting:
    """With what a method runs.

    Attributes
    ----------
    parameters
        Its parameters; with `epsilon` among them its theorem's schedule sets those that are not
        given, if it has one.
    full
        Those that a full verification has in place of these.
    constants
        A function of a problem that returns what the claim's functions take for its constants;
        `problem.constants(problem.start())` if not given.
    """

    parameters: Given = field(default_factory=dict)
    full: Mapping[str, Any] = field(default_factory=dict)
    constants: Callable[[Any], Any] | None = None

    def horizon(self, effort: str) -> tuple[str, int] | None:
        """Return the name and the value of the parameter that can set any horizon; None if none.

        That is an argument `T` or `iterations` of a function, or `iterations` where there is no
        other number: any other might have been chosen for it.
        """
        full = self.full if effort == "full" else {}
        if callable(self.parameters):
            known = inspect.signature(self.parameters).parameters
            stated = {name: one.default for name, one in known.items()}
            if "iterations" in full:
                return None
        else:
            stated = {**self.parameters, **full}
            if any(is_real(v) or type(v) is int for k, v in stated.items() if k != "iterations"):
                return None
        return next(((k, stated[k]) for k in _HORIZONS if type(stated.get(k)) is int), None)

    def on(self, trial: Trial, problem: Any, **more: Any) -> Case:
        """Return the method made for a problem; `more` are further parameters.

        Raises
        ------
        Untestable
            If the method refuses its parameters.
        """
        stated = problem.constants(problem.start())
        constants = stated if self.constants is None else self.constants(problem)
        horizon = self.horizon(trial.effort) if trial.stretch > 1 else None
        longer = {} if horizon is None else {horizon[0]: trial.stretch * horizon[1]}
        if callable(self.parameters):
            given = {**self.parameters(constants, **longer), **trial.pick({}, dict(self.full))}
        else:
            given = {**self.parameters, **trial.pick({}, dict(self.full)), **longer}
        given |= more
        epsilon = given.pop("epsilon", None)
        if epsilon is None or not has_schedule(trial.own):
            algorithm = trial.make(**given)
        else:
            algorithm = trial.scheduled(epsilon, stated, **given)
            given = parameters_of(trial.own.theory(epsilon, stated, **given))
        given |= {} if epsilon is None else {"epsilon": epsilon}
        return Case(
            problem=problem, constants=constants, parameters=Named(**given), algorithm=algorithm
        )


def labelled(parameters: Given | Mapping[str, Given] | None, **more: Any) -> dict[str, Setting]:
    """Return settings by label, a single one without; `more` is what else a `Setting` has.

    Raises
    ------
    InputError
        If they are neither a mapping nor a function.
    """
    given = {} if parameters is None else parameters
    if not (isinstance(given, Mapping) or callable(given)):
        raise InputError("parameters must be a mapping, or a function of the constants.")
    several = isinstance(given, Mapping) and all(
        isinstance(one, Mapping) or callable(one) for one in given.values()
    )
    by_label: Any = given if given and several else {"": given}
    return {label: Setting(parameters=one, **more) for label, one in by_label.items()}


def has_schedule(method: Any) -> bool:
    """Return whether a method has a theorem's schedule of its own."""
    own = getattr(method, "theory", None)
    return own is not None and getattr(own, "__func__", own) is not _NONE


_NONE = vars(CatalogueAlgorithm)["theory"].__func__


def method_named(method: Any) -> Any:
    """Return a method: by its name in the catalogue, or itself.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    return named("algorithm", method, ALGORITHMS) if isinstance(method, str) else method


def beside(method: Any, parameters: Given | None, case: Case) -> Algorithm:
    """Return another method for a case, with those of the claim's parameters if not given others.

    Raises
    ------
    Untestable
        If it refuses them.
    """
    if parameters is None:
        return make(method, **case.given)
    told = parameters(case.constants) if callable(parameters) else parameters
    return make(method, tuple(told), **told)


def titles(claim: Claim) -> list[str]:
    """Return what the instances of a claim are called, each by another name; "" if there is one."""
    names = [one.name for one in claim.instances]
    if len(names) == 1:
        return [""]
    return [
        name if names.count(name) == 1 else f"{name} {names[: k + 1].count(name)}"
        for k, name in enumerate(names)
    ]


def instances(trial: Trial) -> Iterator[tuple[str, Instance]]:
    """Yield the instances of a claim, each made for the trial's horizon, with what they are called.

    Raises
    ------
    Untestable
        If there is none.
    """
    if not trial.claim.instances:
        raise Untestable("the claim names no instance")
    for title, one in zip(titles(trial.claim), trial.claim.instances, strict=True):
        yield title, one if trial.stretch == 1 else lengthen_instance(one, trial.stretch)


def lengthen_instance(one: Instance, stretch: int) -> Instance:
    """Return an instance that is as hard for a longer run: its free `T` or `epsilon` are changed.

    A right method reaches its accuracy after a part of the run, and the rest shows what comes late.
    """
    known = inspect.signature(one.build).parameters
    changed: dict[str, Any] = {}
    for name in one.takes:
        default = known[name].default
        if name in _HORIZONS and type(default) is int:
            changed[name] = stretch * default
        elif name == "epsilon" and is_real(default):
            changed[name] = default / math.sqrt(max(stretch / _ROOM, 1.0))
    return replace(one, parameters={**one.parameters, **changed}) if changed else one


def chance(trial: Trial, one: Instance) -> bool:
    """Return whether chance enters runs of the claim's method on an instance."""
    return one.varies or not getattr(trial.own, "deterministic", False)


def drawn_seeds(trial: Trial, one: Instance, count: int) -> list[tuple[int, int]]:
    """Return so many pairs of seeds, of an instance's data and of a run; one if chance is out."""
    if not chance(trial, one):
        return [(0, 0)]
    data, runs = trial.seeds(count, one.key), trial.seeds(count, f"{one.key} runs")
    return list(zip(data, runs, strict=True))


def problems(trial: Trial) -> Iterator[tuple[str, Any]]:
    """Yield a problem for each instance; its data are of this trial, if it draws any."""
    for name, one in instances(trial):
        yield name, one.of_seed(trial.seeds(1, one.key)[0])


def enumerated(
    trial: Trial, case: Case, outcome: Callable[[Any], Outcome]
) -> Iterator[tuple[float, Outcome]]:
    """Yield the chance and the outcome of every sequence of draws; see `branches`.

    Raises
    ------
    Raised
        If the method raises, too, on a stream of numpy's.
    Untestable
        If its draws cannot be enumerated.
    """
    try:
        check_repeats(trial, case.problem, case.algorithm, case.steps)
        yield from branches(outcome)
    except Unscripted as error:
        for _ in islice(trial.follow(case.problem, case.algorithm), case.steps):
            pass
        raise Untestable(f"its draws cannot be enumerated: {error}") from error


def check_fit(case: Case) -> None:
    """Refuse a method that does not fit a problem.

    Raises
    ------
    InputError
        If the problem lacks what it requires.
    """
    try:
        ready(case.problem, case.algorithm).check_offered(
            case.problem.open(np.random.default_rng(0))
        )
    except Refused as error:
        raise InputError(str(error)) from error


def check_function(what: str, function: Any, arguments: int) -> None:
    """Refuse what cannot be called with so many arguments: constants, parameters, and so on.

    Raises
    ------
    InputError
        If it is no function, or takes another number.
    """
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be a function of {arguments} arguments.") from error
