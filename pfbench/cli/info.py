"""``pfbench info``: print one item with its parameters, constants and counts."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import DataError
from pfbench.base.selectors import Selector, is_user_defined
from pfbench.cli import formatting, terminal
from pfbench.cli.catalogue import (
    CatalogueItem,
    find_item,
    get_parameters,
    make_user_item,
    report_spec_paths,
)
from pfbench.cli.options import AS_JSON, argument

if TYPE_CHECKING:
    from pfbench.base.parameters import Parameter
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.instances import Instance

Record = dict[str, Any]
"""Facts about an item, as a JSON object, which the terminal shows in the same order."""

_PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        "smooth": "a problem without set and penalty",
        "set": "a problem with a feasible set",
        "polytope": "a problem over a polytope",
        "norm": "a problem with a norm in place of a set",
    }
)
"""Kinds of problems that an algorithm may require, in words."""


def info(name: str = argument("NAME", default=...), as_json: bool = AS_JSON) -> None:
    """Show an item in full: parameters, constants, counts.

    NAME is an item from `pfbench list`, or your own, FILE.py:NAME. A problem may have parameters,
    as in "robust-matrix-recovery[source=digits]": its constants are then those on these data.
    """
    a_report = name.removeprefix("report:") in report_spec_paths()  # whose name may have a folder
    selector = Selector(name) if a_report else Selector.parse(name)
    own = is_user_defined(selector.name, _KINDS)
    if own:  # it is printed before it is imported
        terminal.announce_imports([selector.name])
    item = make_user_item(selector.name) if own else find_item(selector.name)
    facts = _KINDS[item.kind](replace(selector, name=item.name), item)
    terminal.show_record(item.record | facts, f"{item.name} ({item.kind})", as_json=as_json)


def _return_description(function: Any) -> str:
    """Return the description of a function's result, taken from its docstring."""
    text = formatting.docstring_summary(function).removeprefix("Return ")
    return text.replace("Refuse:", "none:", 1)


def _describe_parameters(parameters: "Mapping[str, Parameter]") -> list[Record]:
    """Return one record for each parameter of an item."""
    return [
        {
            "name": name,
            "default": None if parameter.is_required else parameter.default,
            "needed": parameter.is_required,
            "sources": list(parameter.sources),
            "about": parameter.description,
        }
        for name, parameter in parameters.items()
    ]


# --- algorithms and estimators --------------------------------------------------------------------


def _describe_algorithm(selector: Selector, item: CatalogueItem) -> Record:
    from pfbench.base.protocols import ASSUMPTIONS
    from pfbench.claims.catalogue import CLAIMS

    cls = item.object
    theory, guarantee = _describe_theory(cls), getattr(cls, "guarantee", None)
    use = (
        f'give only the accuracy, as in "{item.name}[epsilon=0.1]"; an explicit parameter replaces '
        "that of the schedule, and the schedule is then `explicit`"
    )
    return {
        "counts": getattr(cls, "counts", "not stated"),
        "deterministic": bool(getattr(cls, "deterministic", False)),
        "theory": theory,
        "use": use if theory else None,
        "promises": guarantee.description if guarantee else None,
        "scale_dependence": getattr(cls, "scale_dependence", "") or None,
        "claims": [claim.name for claim in CLAIMS.values() if claim.algorithm == item.name],
        "requires": {verb: _describe_requirement(verb) for verb in sorted(cls.requires)},
        "assumes": {name: ASSUMPTIONS[name] for name in sorted(getattr(cls, "assumes", ()))},
        "parameters": _describe_parameters(get_parameters(cls)),
    }


def _describe_theory(cls: Any) -> str | None:
    """Describe the parameter schedule of a method's theorem; None if there is no theorem."""
    from pfbench.algorithms import Algorithm

    if getdoc(getattr(cls, "theory", None)) in (None, getdoc(Algorithm.theory)):
        return None
    theory = formatting.docstring_summary(cls.theory)
    if hasattr(cls, "estimator_parameters"):
        theory += f"; {formatting.docstring_summary(cls.estimator_parameters)}"
    return theory.replace("Return ", "")


def _describe_requirement(verb: str) -> str:
    from pfbench.oracles import Oracles

    if verb.startswith("norm "):
        return f"the {verb}"
    return _PROBLEMS.get(verb) or _return_description(getattr(Oracles, verb))


def _describe_estimator(selector: Selector, item: CatalogueItem) -> Record:
    return {"parameters": _describe_parameters(get_parameters(item.object))}


# --- problems -------------------------------------------------------------------------------------


def _describe_problem_item(selector: Selector, item: CatalogueItem) -> Record:
    from pfbench.problems import PROBLEMS

    built_in = item.object is PROBLEMS.get(item.name)
    parameters = item.object.parameters() if built_in else get_parameters(item.object)
    facts = {
        "sources": list(item.object.data_source_names) if built_in else [],
        "selector": str(selector),
        "built": None,
        "parameters": _describe_parameters(parameters),
    }
    required = [name for name, parameter in parameters.items() if parameter.is_required]
    missing = [name for name in required if name not in selector.parameters]
    if missing and not built_in:
        return facts | {"not_built": f"it needs {', '.join(missing)}"}
    try:
        return facts | {"built": _describe_problem(selector)}
    except DataError as error:
        if selector.parameters:
            raise
        return facts | {"not_built": str(error)}


def _describe_problem(selector: Selector) -> Record:
    """Return the facts about a problem: size, properties, constants and measures."""
    from pfbench.base.constants import MEANING as CONSTANTS
    from pfbench.base.protocols import ASSUMPTIONS, list_known_assumptions
    from pfbench.measures.catalogue import MEANING, available_measures
    from pfbench.runs.planning.name_resolution import select_problem

    problem = select_problem(str(Selector(selector.name, selector.texts)))
    result, best = problem.constants(problem.start()), problem.best_known
    return {
        "shape": list(problem.shape),
        "n": problem.n,
        "digest": problem.digest,
        "best_known": None if best is None else {"value": best[0], "source": best[1]},
        "properties": {name: ASSUMPTIONS[name] for name in sorted(list_known_assumptions(problem))},
        "constants": [
            {
                "name": name,
                "value": getattr(result, name),
                "meaning": CONSTANTS[name],
                "derivation": derivation,
            }
            for name, derivation in result.derivations.items()
        ],
        "measures": {
            name: MEANING[name].summary if name in MEANING else ""
            for name in available_measures(problem)
        },
    }


# --- sets, measures, data sets, reports -----------------------------------------------------------


def _describe_set(selector: Selector, item: CatalogueItem) -> Record:
    cls = item.object
    answers = (
        {"prox": _return_description(cls.prox)}
        if item.kind != "set"
        else {
            "diameter": formatting.docstring_summary(cls.diameter),
            "linear_minimisation": _return_description(cls.lo),
            "projection": _return_description(cls.project),
        }
    )
    return {
        "points": cls.points,
        **answers,
        "python": cls.required_arguments or None,
        "problems": dict(_problems_and_parameters_accepting(item)),
        "parameters": _describe_parameters(get_parameters(cls)),
    }


def _problems_and_parameters_accepting(set_or_penalty: CatalogueItem) -> Iterator[tuple[str, str]]:
    """Yield the problems that accept a set or penalty, each with the parameter that selects it."""
    from pfbench.problems import PROBLEMS

    kind, cls = set_or_penalty.kind, set_or_penalty.object
    for problem in PROBLEMS.values():
        is_only_set = problem.only_set == set_or_penalty.name
        if (kind == "set" and is_only_set) or (
            not cls.required_arguments and problem.accepts_every(kind, cls.points)
        ):
            yield problem.name, "its only set" if is_only_set else f"{kind}={set_or_penalty.name}"


def _describe_measure(selector: Selector, item: CatalogueItem) -> Record:
    from pfbench.measures.catalogue import BRACKETS, MEANING, MEASURES

    everywhere = item.name in MEASURES or item.name not in MEANING
    return {"interval": item.name in BRACKETS, "everywhere": everywhere}


def _describe_data_set(selector: Selector, item: CatalogueItem) -> Record:
    from pfbench.problems.data.cache import cache_folder, file_paths
    from pfbench.problems.data.catalogue import data_set
    from pfbench.problems.data.management import status

    record, state = data_set(item.name), status(item.name)
    put = record.file and f", or store its file as {file_paths(record.file, cache_folder())[0]}"
    fetch = f"run `pfbench data fetch {item.name}`{put}" if state.state == "absent" else None
    return {
        "url": state.url,
        "citation": record.citation,
        "terms": record.terms,
        "task": record.task,
        "shape": list(record.shape),
        "rows": record.rows,
        "classes": record.classes,
        "nonzeros": record.nonzeros,
        "state": state.state,
        "fetch": fetch,
        "verified": state.verified,
        "verified_by": state.method,
        "path": state.path and str(state.path),
        "bytes": state.size,
    }


def _describe_spec(selector: Selector, item: CatalogueItem) -> Record:
    """Return the facts about a report or a suite."""
    from pfbench.runs.planning.spec import load_spec

    spec = load_spec(Path(item.source))
    return {
        "runs": len(spec.runs()),
        "about": " ".join(spec.introduction.split()),
        "studies": [
            {
                "title": study.title,
                "key": study.key,
                "about": " ".join(study.introduction.split()),
                "runs": len(set(study.runs())),
                "seeds": list(study.seeds),
                "settings": [setting.title for setting in study.settings],
                "measures": list(study.measures),
                "problems": {entry.label: entry.selector for entry in study.problems},
                "algorithms": {entry.label: entry.selector for entry in study.algorithms},
            }
            for study in spec.studies
        ],
    }


# --- claims and errata ----------------------------------------------------------------------------


def describe_erratum(erratum: "Erratum") -> Record:
    """Return the record of an erratum, with its evidence."""
    from pfbench.verification.claim import CONCLUSIONS

    record = {
        "name": erratum.name,
        "claim": erratum.claim.name if erratum.claim else None,
        erratum.quotation_label: erratum.as_printed,
        "corrected": erratum.corrected,
        "how to object": erratum.objection,
    }
    dossier = erratum.dossier
    if dossier is None:
        return record
    return record | {
        "conclusion": f"{dossier.conclusion}: {CONCLUSIONS[dossier.conclusion]}",
        "assumed": dossier.assumption or "nothing",
        "smallest instance": dossier.instance,
        "printed": {quote.location: f"“{quote.text}”" for quote in dossier.quotes},
        "why": " ".join(dossier.derivation),
        "other readings": dict(dossier.readings),
    }


def _describe_paper(selector: Selector, item: CatalogueItem) -> Record:
    from pfbench.claims.catalogue import PAPERS

    paper = PAPERS[item.name]
    return {
        "claims": [claim.name for claim in paper.claims],
        "errata": [erratum.name for erratum in paper.errata],
    }


def describe_claim(claim: "Claim") -> Record:
    """Return the record of a claim, with the instances on which it is tested."""
    from pfbench.claims.catalogue import find_paper
    from pfbench.verification.claim import KINDS
    from pfbench.verification.homogeneity import check_claim_units

    name, kind, paper = claim.name, claim.kind, find_paper(claim)
    admitted = [f"{a:g} to {b:g} times the {name}" for name, (a, b) in claim.admits.items()]
    return {
        "paper": paper.title,
        "claim_kind": kind,
        "claim_kind_meaning": KINDS[kind],
        "statement": claim.statement,
        "algorithm": claim.method or None,
        "assumes": list(claim.assumptions) or ["finite constants"],
        "schedule": claim.schedule,
        "admits": ", ".join(admitted),
        "disputed": claim.disputed or None,
        "units": check_claim_units(claim).sentence,
        "mutants": [m.name for m in paper.mutants if name in {c.name for c in m.expected_claims}],
        "errata": [e.name for e in paper.errata if e.claim and e.claim.name == name],
        "seconds": {effort: claim.seconds(effort) for effort in ("quick", "full")},
        "instances": [_describe_instance(instance) for instance in claim.instances],
    }


def _describe_instance(instance: "Instance") -> Record:
    """Return the record of a test instance: description, parameters and finite constants."""
    from pfbench.base.constants import MEANING

    example = instance.example()
    result = example.constants(example.start()) if hasattr(example, "constants") else None
    return {
        "name": instance.name,
        "about": " ".join(instance.description.split()).removeprefix("Return "),
        "parameters": {name: str(value) for name, value in instance.parameters.items()},
        "constants": [
            {
                "name": name,
                "value": getattr(result, name),
                "derivation": result.derivations.get(name, "as made"),
            }
            for name in MEANING
            if result is not None and math.isfinite(getattr(result, name))
        ],
    }


_KINDS: Mapping[str, Callable[[Selector, CatalogueItem], Record]] = MappingProxyType(
    {
        "algorithm": _describe_algorithm,
        "problem": _describe_problem_item,
        "set": _describe_set,
        "penalty": _describe_set,
        "estimator": _describe_estimator,
        "measure": _describe_measure,
        "data": _describe_data_set,
        "report": _describe_spec,
        "suite": _describe_spec,
        "paper": _describe_paper,
        "claim": lambda selector, item: describe_claim(item.object),
    }
)
