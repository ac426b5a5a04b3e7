"""Reading of a paper's claims, mutants and errata from its modules and TOML files."""

import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.names import find_entry
from pfbench.verification import units as named_units
from pfbench.verification.claim import Claim, Dossier, Erratum, Mutant, Paper, Quote
from pfbench.verification.instruments.overrides import OracleEdit
from pfbench.verification.units import Formula, PowerProductFunction, formula
from pfbench.verification.user_claims import collect_paper


def read_listed_paper(package: str) -> Paper:
    """Return a paper of the catalogue; ``papers.toml`` lists its title and its modules."""
    folder = Path(str(sys.modules[package].__file__)).parent
    return read_paper(package, **load_table(folder.with_name("papers.toml"))[folder.name])


def read_paper(package: str, title: str, modules: str) -> Paper:
    """Return a paper with the claims, mutants and errata in the folder of `package`.

    The claims are those that the modules define at their top level, in the order in which `modules`
    names them. The mutants and errata are the tables of ``faults.toml`` and ``errata.toml``.

    Raises
    ------
    InputError
        If a table names an unknown method or claim.
    """
    files = [import_module(f"{package}.{name}") for name in modules.split()]
    folder = Path(str(files[0].__file__)).parent
    claims = collect_paper(value for file in files for value in vars(file).values()).claims
    existing = {claim.name: claim for claim in claims}
    faults = load_table(folder / "faults.toml").items()
    errata = load_table(folder / "errata.toml").items()
    return Paper(
        key=package.rpartition(".")[2],
        title=title,
        claims=claims,
        mutants=tuple(_make_mutant(name, package, existing, **fields) for name, fields in faults),
        errata=tuple(_make_erratum(name, package, existing, **fields) for name, fields in errata),
    )


def load_table(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, or an empty table if the file does not exist."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _make_mutant(
    name: str,
    package: str,
    existing: Mapping[str, Claim],
    *,
    claims: Sequence[str],
    oracles: str | Mapping[str, str] = "",
    names: str = "builtins",
    method: str = "",
    description: str = "",
    edits: Mapping[str, str] = MappingProxyType({}),
    part: str = "",
) -> Mutant:
    """Return the mutant that a table of ``faults.toml`` describes.

    `oracles` is MODULE:NAME of a wrapper of oracles, with a module of the paper's folder, or a
    table of the expressions of an `OracleEdit`. Without it a method is edited: `part` is an
    attribute of the method, or MODULE:NAME; by default the method itself is edited.
    """
    expected = [find_entry("claim", claim, existing) for claim in claims]
    if isinstance(oracles, Mapping):
        edit = OracleEdit(description, names, tuple(oracles.items()))
        return Mutant.from_oracles(name, edit, *expected)
    if oracles:
        return Mutant.from_oracles(name, resolve_name(f"{package}.{oracles}"), *expected)
    algorithm: Any = find_entry("algorithm", method, ALGORITHMS)
    edited = algorithm
    if part:
        edited = resolve_name(part) if ":" in part else getattr(algorithm, part)
    return Mutant.from_edits(algorithm, edited, name, description, edits, *expected)


def _make_erratum(
    name: str,
    package: str,
    existing: Mapping[str, Claim],
    *,
    examine: str,
    parameters: Mapping[str, Any] | None = None,
    claim: str = "",
    derivation: Sequence[str],
    quotes: Sequence[Mapping[str, str]] = (),
    **fields: Any,
) -> Erratum:
    """Return the erratum that a table of ``errata.toml`` describes.

    The table has the fields of `Erratum` and of its `Dossier`. Functions are named MODULE:NAME,
    with a module of the paper's folder. `parameters` are arguments of `examine`.
    """
    dossier = {name: fields.pop(name) for name in _DOSSIER if name in fields}
    quoted = tuple(Quote(**quote) for quote in quotes)
    examination = resolve_name(f"{package}.{examine}")
    formulas: dict[str, Any] = {
        form: _make_formula(package, **fields.pop(form)) for form in _FORMULAS if form in fields
    }
    return Erratum(
        name=name,
        examine=partial(examination, **parameters) if parameters else examination,
        claim=find_entry("claim", claim, existing) if claim else None,
        dossier=Dossier(quotes=quoted, derivation=tuple(derivation), **dossier),
        **formulas,
        **fields,
    )


_DOSSIER = ("conclusion", "assumption", "instance", "readings")
_FORMULAS = ("printed_formula", "corrected_formula")


def _make_formula(
    package: str,
    *,
    unit: Any,
    function: str = "",
    powers: Mapping[str, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    units: Mapping[str, Any] | None = None,
) -> Formula:
    """Return a formula of ``errata.toml``: a function of the package, or a product of powers.

    A unit is a name in `units`, such as VALUE, or the powers of the units of f and x.
    """
    source = (
        resolve_name(f"{package}.{function}") if function else PowerProductFunction(powers or {})
    )
    argument_units = {name: _find_unit(value) for name, value in (units or {}).items()}
    return formula(source, _find_unit(unit), parameters, **argument_units)


def _find_unit(value: Any) -> Any:
    return getattr(named_units, value) if isinstance(value, str) else tuple(value)
