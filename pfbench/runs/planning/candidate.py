"""Adding a method to a suite: its parameters, and which of them are tuned."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.base.selectors import Selector
from pfbench.base.user_code import load_user_object
from pfbench.runs.planning.spec_fields import PROJECTING
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.template import fill_template, placeholder_names
from pfbench.runs.planning.tune import TunedMethod


@dataclass(frozen=True)
class CandidateInterface:
    """Requirements and parameters of a method, as plain data.

    Attributes
    ----------
    requires
        Requirements on a problem.
    required_parameters
        Names of the parameters without default.
    defaults
        Integer default values, by name.
    """

    requires: frozenset[str] = frozenset()
    required_parameters: tuple[str, ...] = ()
    defaults: Mapping[str, int] = field(default_factory=dict)


def read_candidate_interface(name: str) -> CandidateInterface:
    """Return the interface of a method; MODULE:NAME is imported."""
    kind: Any = load_user_object(name) if ":" in name else ALGORITHMS[name]
    try:
        parameters = inspect.signature(kind).parameters if callable(kind) else {}
    except ValueError:
        parameters = {}
    return CandidateInterface(
        getattr(kind, "requires", frozenset()),
        tuple(name for name, item in parameters.items() if item.default is item.empty),
        {name: item.default for name, item in parameters.items() if isinstance(item.default, int)},
    )


def add_candidate(
    suite: Spec, text: str, interface: CandidateInterface | None = None
) -> tuple[Spec, tuple[str, ...]]:
    """Return a suite with a method added, and the labels of the method in it.

    A catalogue method without parameters keeps its entries in the suite, if it has any. Required
    parameters that the selector lacks are taken from the suite's ``[candidate]``; for a method
    without linear minimisation, its table ``projecting`` takes precedence. If a parameter has
    several values there, the method is tuned over them like all others. A text may contain the name
    of another parameter in braces, as in ``ceil(n/{batch})``. It stands for the value of that
    parameter, or for 1 if the class has no such parameter. A MODULE:NAME is imported to read its
    interface, unless `interface` is passed: inform the user before.

    Raises
    ------
    InputError
        If there is no such method, or the suite has several studies.
    """
    if len(suite.studies) != 1:
        raise InputError(f"the suite {suite.name} has several studies: name one with one study.")
    study, selector = suite.study, Selector.parse(text)
    own = ":" in selector.name
    if not own and selector.name not in ALGORITHMS:
        raise unknown_name_error("algorithm", selector.name, ALGORITHMS)
    labels = _candidate_labels(study, selector.name)
    if labels and not selector.texts:
        return suite, labels
    label = selector.name.rpartition(":")[2] if own else str(selector)
    if interface is None:
        interface = read_candidate_interface(selector.name)
    required = _collect_required_parameters(selector, interface, suite.candidate)
    fill_templates = _fill_templates({**interface.defaults, **selector.texts, **required}, required)
    tried = {name: value for name, value in fill_templates.items() if isinstance(value, list)}
    if not tried:
        label = _make_unused_label(label, study.labels)
        methods = (
            *study.algorithms,
            LabelledSelector(label, _with_parameters(selector, fill_templates)),
        )
        return suite.map_studies(lambda study: replace(study, algorithms=methods)), (label,)
    if study.tune is None:
        raise InputError(f"the suite {suite.name} has lists in [candidate]: add a [tune].")
    label = _make_unused_label(label, [method.label for method in study.tune.methods])
    braces = fill_templates | {name: f"{{{name}}}" for name in tried}
    tuned = TunedMethod(label, _with_parameters(selector, braces), tried)
    tune = replace(study.tune, methods=(*study.tune.methods, tuned))
    return suite.map_studies(lambda study: replace(study, tune=tune)), (tuned.tuned_label,)


def _candidate_labels(study: Study, name: str) -> tuple[str, ...]:
    """Return the labels of all entries of a method in a study, including tuned ones."""
    named = [(entry.label, entry.selector) for entry in study.algorithms]
    named += [(method.tuned_label, method.selector) for method in study.tuned_methods]
    return tuple(label for label, text in named if text.partition("[")[0].strip() == name)


def _collect_required_parameters(
    selector: Selector, interface: CandidateInterface, available: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the available values of parameters that a class requires and its selector lacks."""
    if "epsilon" in selector.texts:
        return {}
    if "lo" not in interface.requires:
        available = {**available, **available.get(PROJECTING, {})}
    lacking = available.keys() - selector.texts
    return {name: available[name] for name in interface.required_parameters if name in lacking}


def _fill_templates(values: Mapping[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with names in braces replaced, except names of tuned parameters."""
    values = {
        key: f"{{{key}}}" if isinstance(value, list) else value for key, value in values.items()
    }

    def fill(subject: str, text: str) -> str:
        names = placeholder_names(text, location=f"candidate.{subject}")
        existing = dict.fromkeys(names, 1) | values
        return fill_template(
            text, location=f"candidate.{subject}", values_source="the method", values=existing
        )

    return {
        name: fill(name, parameter) if isinstance(parameter, str) else parameter
        for name, parameter in parameters.items()
    }


def _with_parameters(selector: Selector, values: Mapping[str, Any]) -> str:
    """Return a selector with additional parameters."""
    pairs = [f"{name}={value}" for name, value in {**selector.texts, **values}.items()]
    return f"{selector.name}[{','.join(pairs)}]" if pairs else selector.name


def _make_unused_label(label: str, used: list[str] | tuple[str, ...]) -> str:
    """Return a label that is not in use."""
    return label if label not in used else f"{label} (compared)"
