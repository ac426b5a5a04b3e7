"""Loading of user-defined claims from a file or a module, all of them or those of one name."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.base.user_code import load_user_object
from pfbench.verification.claim import Claim, Erratum, Mutant, Paper


def load_claims(reference: str) -> Paper:
    """Load the claims, planted faults and errata of a user's file.

    They are those that the file defines at its top level, directly, in a list or in a `Paper`. With
    NAME, the name of a claim or of a variable, only its claims are loaded, with the faults that
    they must catch and the errata about them.

    Parameters
    ----------
    reference
        FILE.py, FILE.py:NAME or MODULE:NAME.

    Raises
    ------
    InputError
        If the file cannot be imported, states no claim, or two claims have one name.
    """
    home, attribute = split_reference(reference)
    module = import_module_file(home)
    paper = collect_paper(vars(module).values())
    named: Iterable[Any] = [claim for claim in paper.claims if claim.name == attribute]
    if attribute and not named:
        if not hasattr(module, attribute):
            if not _names(module):
                raise InputError(_no_claims_message(home, module, False))
            raise unknown_name_error(f"name in {home}", attribute, _names(module))
        named = [getattr(module, attribute)]
    expected = collect_paper(named) if attribute else paper
    if not expected.claims:
        raise InputError(_no_claims_message(reference, module, bool(attribute)))
    return _attach_source(home, expected, paper)


@dataclass(frozen=True)
class UserClaimFile:
    """User's file or module that states claims.

    Attributes
    ----------
    file_or_module
        Path of the file, or name of the module.
    """

    file_or_module: str

    def claim(self, name: str) -> Claim:
        """Return the claim of this name, loaded from the file or module.

        If the path does not exist, as on another machine, the module with the file's name is
        loaded.
        """
        elsewhere = self.file_or_module.endswith(".py") and not Path(self.file_or_module).is_file()
        paper = load_claims(Path(self.file_or_module).stem if elsewhere else self.file_or_module)
        return next(claim for claim in paper.claims if claim.name == name)


def split_reference(reference: str) -> tuple[str, str]:
    """Split FILE:NAME or MODULE:NAME; return the file or module, and the name ("" if absent)."""
    home, _, attribute = reference.rpartition(":")
    if not home or attribute.endswith(".py"):
        home, attribute = reference, ""
    return home, attribute


def import_module_file(file_or_module: str) -> ModuleType:
    """Import a file or module, and return the module.

    Raises
    ------
    InputError
        If the file or module does not exist, or its import fails.
    """
    try:
        name = load_user_object(f"{file_or_module}:__name__")
    except InputError as error:
        raise InputError(str(error).replace(":__name__", "")) from error
    return importlib.import_module(name)


def _names(module: ModuleType) -> list[str]:
    return [name for name, var in vars(module).items() if isinstance(var, Claim | Paper)]


def collect_paper(values: Iterable[Any]) -> Paper:
    """Collect the distinct claims, mutants and errata in `values` as one paper, in order."""
    results: dict[int, Any] = {}
    first: Paper | None = None
    for item in _flatten_statements(values):
        parts: Iterable[Any] = (item,)
        if isinstance(item, Paper):
            first, parts = first or item, (*item.claims, *item.mutants, *item.errata)
        results |= {id(part): part for part in parts}
    kinds = {"claims": Claim, "mutants": Mutant, "errata": Erratum}
    members: dict[str, Any] = {
        name: tuple(item for item in results.values() if isinstance(item, kind))
        for name, kind in kinds.items()
    }
    key, title = (first.key, first.title) if first else ("", "")
    return Paper(key=key, title=title, **members)


def _flatten_statements(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the claims, mutants, errata and papers among values and nested containers, in order.

    Each container is visited once, since it may contain itself.
    """
    waiting, visited = [*values][::-1], set[int]()
    while waiting:
        item = waiting.pop()
        if isinstance(item, Claim | Mutant | Erratum | Paper):
            yield item
        elif isinstance(item, tuple | list | dict) and id(item) not in visited:
            visited.add(id(item))
            if not isinstance(item, dict):
                waiting += item[::-1]
            elif not {"__name__", "__builtins__"} & item.keys():
                waiting += [*item.values()][::-1]


def _no_claims_message(reference: str, module: ModuleType, is_named: bool) -> str:
    words = f"{reference} {'is' if is_named else 'states'} no claim"
    names = _names(module)
    if is_named and names:
        return f"{words}: name one of {', '.join(names)}, or the file alone."
    return f"{words}: make one with pf.claims.Claim(name=..., statement=..., check=...)."


def _attach_source(file_or_module: str, paper: Paper, everything: Paper) -> Paper:
    """Return a copy of a paper whose claims name the user's file or module as their source.

    Mutants and errata that belong to these claims are taken from `everything` that the file states.
    """
    source = UserClaimFile(
        str(Path(file_or_module).resolve()) if file_or_module.endswith(".py") else file_or_module
    )
    _check_names("claims", file_or_module, paper.claims)
    _check_names("mutants", file_or_module, everything.mutants)
    _check_names("errata", file_or_module, everything.errata)
    claims = {id(claim): replace(claim, user_source=source) for claim in paper.claims}

    def attach_claims(expected: Sequence[Claim]) -> tuple[Claim, ...]:
        return tuple(claims[id(claim)] for claim in expected if id(claim) in claims)

    return replace(
        paper,
        title=paper.title or everything.title or f"Claims of {Path(file_or_module).name}",
        claims=tuple(claims.values()),
        mutants=tuple(
            replace(mutant, expected_claims=attach_claims(mutant.expected_claims))
            for mutant in everything.mutants
            if attach_claims(mutant.expected_claims)
        ),
        errata=tuple(
            replace(erratum, claim=claims[id(erratum.claim)]) if erratum.claim else erratum
            for erratum in everything.errata
            if id(erratum.claim) in claims or (erratum.claim is None and erratum in paper.errata)
        ),
    )


def _check_names(
    subject: str, file_or_module: str, statement: Sequence[Claim | Mutant | Erratum]
) -> None:
    names = [item.name for item in statement]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{file_or_module} has two {subject} named {name}: rename one.")
