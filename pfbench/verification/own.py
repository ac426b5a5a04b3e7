"""Claims of somebody's own: all that a file, or one name in it, states."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from pfbench.base.errors import InputError, PfbenchError
from pfbench.base.failures import ended, place_of, placed
from pfbench.base.names import unknown
from pfbench.base.user_code import load
from pfbench.verification.claim import Claim, Erratum, Mutant, Paper
from pfbench.verification.subject import Untestable
from pfbench.verification.trial import Trial, method_of


def stated(reference: str) -> Paper:
    """Return what somebody's own file states: claims, planted faults, errata.

    It is all that stands at the top of the file, by itself, in a list or in a `Paper`. Of one name
    it is what that names, with the faults that its claims must catch and the errata about them.

    Parameters
    ----------
    reference
        FILE.py, FILE.py:NAME or MODULE:NAME.

    Raises
    ------
    InputError
        If it cannot be imported, states no claim, or two of one name.
    """
    home, attribute = parted(reference)
    module = module_of(home)
    every = _gathered(vars(module).values())
    wanted = every
    if attribute:
        if not hasattr(module, attribute):
            if not _names(module):
                raise InputError(_without_claims(home, module, False))
            raise unknown(f"name in {home}", attribute, _names(module))
        wanted = _gathered([getattr(module, attribute)])
    if not wanted.claims:
        raise InputError(_without_claims(reference, module, bool(attribute)))
    return _at_home(home, wanted, every)


@dataclass(frozen=True)
class File:
    """A file or module of somebody's own that states claims.

    Attributes
    ----------
    place
        Its path, or the module's name.
    """

    place: str

    def claim(self, name: str) -> Claim:
        """Return a claim by its name, as other processes find it.

        Where another machine has the file elsewhere, it is the module of its name.
        """
        elsewhere = self.place.endswith(".py") and not Path(self.place).is_file()
        found = stated(Path(self.place).stem if elsewhere else self.place)
        return next(one for one in found.claims if one.name == name)


def check_ready(claims: Iterable[Claim], effort: str) -> None:
    """Refuse claims of somebody's own that cannot be tested, before any run.

    Raises
    ------
    InputError
        If an instance cannot be made or does not fit the method, or a function that he states
        raises.
    """
    for one in claims:
        if one.home is None:
            continue
        look = getattr(one.check, "check", None)
        try:
            if one.algorithm:
                method_of(one)
            if look is None:
                for made in one.instances:
                    made.example()
            else:
                look(Trial(one, effort=effort))
        except (PfbenchError, Untestable) as error:
            raise InputError(f"the claim {one.name} is refused: {ended(error)}") from error
        except Exception as error:
            words = placed(f"{type(error).__name__}: {error}", place_of(error))
            raise InputError(f"the claim {one.name} fails with {words}") from error


def parted(reference: str) -> tuple[str, str]:
    """Return the file or module, and the name in it."""
    home, _, attribute = reference.rpartition(":")
    if not home or attribute.endswith(".py"):
        home, attribute = reference, ""
    return home, attribute


def module_of(home: str) -> ModuleType:
    """Import a file or module.

    Raises
    ------
    InputError
        If there is none, or its import fails.
    """
    try:
        name = load(f"{home}:__name__")
    except InputError as error:
        raise InputError(str(error).replace(":__name__", "")) from error
    return importlib.import_module(name)


def _names(module: ModuleType) -> list[str]:
    return [name for name, one in vars(module).items() if isinstance(one, Claim | Paper)]


def _gathered(values: Iterable[Any]) -> Paper:
    """Return what is stated among some values, each once, in their order."""
    found: dict[int, Any] = {}
    first: Paper | None = None
    for one in _flat(values):
        parts: Iterable[Any] = (one,)
        if isinstance(one, Paper):
            first, parts = first or one, (*one.claims, *one.mutants, *one.errata)
        found |= {id(part): part for part in parts}
    every = list(found.values())
    return Paper(
        key=first.key if first else "",
        title=first.title if first else "",
        claims=tuple(one for one in every if isinstance(one, Claim)),
        mutants=tuple(one for one in every if isinstance(one, Mutant)),
        errata=tuple(one for one in every if isinstance(one, Erratum)),
    )


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """Yield what is stated among values, and what lists and mappings among them hold, in order.

    A container is visited once: it may hold itself.
    """
    waiting, seen = [*values][::-1], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, Claim | Mutant | Erratum | Paper):
            yield one
        elif isinstance(one, tuple | list | dict) and id(one) not in seen:
            seen.add(id(one))
            if not isinstance(one, dict):
                waiting += one[::-1]
            elif not {"__name__", "__builtins__"} & one.keys():
                waiting += [*one.values()][::-1]


def _without_claims(reference: str, module: ModuleType, named: bool) -> str:
    words = f"{reference} {'is' if named else 'states'} no claim"
    known = _names(module)
    if named and known:
        return f"{words}: name one of {', '.join(known)}, or the file alone."
    return f"{words}: make one with pf.claims.Claim(name=..., statement=..., check=...)."


def _at_home(home: str, wanted: Paper, every: Paper) -> Paper:
    """Return what is wanted, each claim with the file by which others find it."""
    place = File(str(Path(home).resolve()) if home.endswith(".py") else home)
    _check_names("claims", home, wanted.claims)
    _check_names("mutants", home, every.mutants)
    _check_names("errata", home, every.errata)
    claims = {id(one): replace(one, home=place) for one in wanted.claims}

    def moved(expected: Sequence[Claim]) -> tuple[Claim, ...]:
        return tuple(claims[id(one)] for one in expected if id(one) in claims)

    return replace(
        wanted,
        title=wanted.title or every.title or f"Claims of {Path(home).name}",
        claims=tuple(claims.values()),
        mutants=tuple(
            replace(one, expected=moved(one.expected))
            for one in every.mutants
            if moved(one.expected)
        ),
        errata=tuple(
            replace(one, claim=claims[id(one.claim)]) if one.claim else one
            for one in every.errata
            if id(one.claim) in claims or (one.claim is None and one in wanted.errata)
        ),
    )


def _check_names(what: str, home: str, stated: Sequence[Claim | Mutant | Erratum]) -> None:
    names = [one.name for one in stated]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{home} has two {what} of the name {name}: rename one of them.")
