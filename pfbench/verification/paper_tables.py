"""Reading of a paper's claims, mutants and errata from its modules and TOML files."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType, ModuleType
from typing import Any

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.names import find_entry
from pfbench.verification.claim import Claim, Erratum, Mutant, Paper
from pfbench.verification.dossier import Dossier, Quote


@cache
def _load_table(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_paper(key: str, title: str, modules: Sequence[ModuleType]) -> Paper:
    """Return a paper with the `CLAIMS`, `MUTANTS` and `ERRATA` of its modules, in order.

    The faults of ``faults.toml``, in the folder of the modules, are added as further mutants.

    Raises
    ------
    InputError
        If ``faults.toml`` names an unknown method or claim.
    """
    items = {
        subject: tuple(item for m in modules for item in getattr(m, subject.upper(), ()))
        for subject in ("claims", "mutants", "errata")
    }
    claims = {claim.name: claim for claim in items["claims"]}
    table = _load_table(Path(str(modules[0].__file__)).with_name("faults.toml"))
    package = str(modules[0].__package__)
    planted = tuple(_make_mutant(name, package, claims, **fields) for name, fields in table.items())
    return Paper(key=key, title=title, **{**items, "mutants": items["mutants"] + planted})


def _make_mutant(
    name: str,
    package: str,
    existing: Mapping[str, Claim],
    *,
    claims: Sequence[str],
    oracles: str = "",
    method: str = "",
    description: str = "",
    edits: Mapping[str, str] = MappingProxyType({}),
    part: str = "",
) -> Mutant:
    """Return the mutant that a table of ``faults.toml`` describes.

    `oracles` is MODULE:NAME of a wrapper of oracles, with a module of the paper's folder. Without
    it a method is edited: `part` is an attribute of the method, or MODULE:NAME; by default the
    method itself is edited.
    """
    expected = [find_entry("claim", claim, existing) for claim in claims]
    if oracles:
        return Mutant.from_oracles(name, resolve_name(f"{package}.{oracles}"), *expected)
    algorithm: Any = find_entry("algorithm", method, ALGORITHMS)
    edited = algorithm
    if part:
        edited = resolve_name(part) if ":" in part else getattr(algorithm, part)
    return Mutant.from_edits(algorithm, edited, name, description, edits, *expected)


def read_erratum(name: str, file: str, **fields: Any) -> Erratum:
    """Return an erratum with the texts of ``errata.toml`` in the folder of a module.

    Parameters
    ----------
    name
        Name of the erratum: a table of the file, with `as_printed`, `corrected` and `objection` of
        `Erratum`, and the fields of `Dossier`.
    file
        ``__file__`` of the module that examines the erratum.
    fields
        The other fields of `Erratum`: `examine`, and optionally `claim`, `printed_formula` and
        `corrected_formula`.

    Raises
    ------
    InputError
        If the file has no erratum of this name.
    """
    table = dict(find_entry("erratum", name, _load_table(Path(file).with_name("errata.toml"))))
    texts = {field: table.pop(field) for field in ("as_printed", "corrected", "objection")}
    quotes = tuple(Quote(**quote) for quote in table.pop("quotes", ()))
    derivation = tuple(table.pop("derivation"))
    dossier = Dossier(quotes=quotes, derivation=derivation, **table)
    return Erratum(name=name, dossier=dossier, **texts, **fields)
