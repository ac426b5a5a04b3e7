"""Every claim, mutant and erratum of the papers, and the public `verify`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.base.checks import integer
from pfbench.base.errors import InputError
from pfbench.base.names import named, told
from pfbench.base.selectors import is_own
from pfbench.base.user_code import load
from pfbench.claims import (
    halbey2026,
    jaggi2013,
    kim2026,
    lacoste2016,
    li2019,
    methods,
    pethick2025,
    polytopes,
    qu2018,
    relatives,
    shen2019,
    wang2019,
)
from pfbench.claims.methods.stating import present_name
from pfbench.verification.claim import Claim, Erratum, Mutant, Paper
from pfbench.verification.own import check_ready, stated
from pfbench.verification.scales import Change, change
from pfbench.verification.subject import Subject

if TYPE_CHECKING:  # what runs a verification is imported by it: claims are listed without it
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.storage.store import Store
    from pfbench.verification.outcomes import Verification
    from pfbench.verification.session import Progress

PAPERS: Mapping[str, Paper] = MappingProxyType(
    {
        file.PAPER.key: file.PAPER
        for file in (
            *(shen2019, qu2018, li2019, wang2019, lacoste2016, jaggi2013, pethick2025),
            *(polytopes, relatives, kim2026, halbey2026, methods),
        )
    }
)
"""The papers by their keys."""

CLAIMS: Mapping[str, Claim] = MappingProxyType(
    {claim.name: claim for paper in PAPERS.values() for claim in paper.claims}
)
"""Every claim by its name, in the order of the papers."""

MUTANTS: Mapping[str, Mutant] = MappingProxyType(
    {mutant.name: mutant for paper in PAPERS.values() for mutant in paper.mutants}
)
"""Every mutant by its name."""

ERRATA: Mapping[str, Erratum] = MappingProxyType(
    {erratum.name: erratum for paper in PAPERS.values() for erratum in paper.errata}
)
"""Every erratum by its name."""


def claim(name: str) -> Claim:
    """Return a claim by its name, or somebody's own, which is the only one of its reference.

    Raises
    ------
    InputError
        If the name is unknown (the nearest is suggested), or names several.
    """
    if is_own(name):
        found = stated(name).claims
        if len(found) > 1:
            names = ", ".join(one.name for one in found)
            raise InputError(f"{name} states several claims ({names}): name one, as FILE.py:NAME.")
        return found[0]
    return named("claim", present_name(name) if isinstance(name, str) else name, CLAIMS)


def selected(names: Iterable[str] = (), effort: str = "quick") -> list[Claim]:
    """Return the claims to test: the named ones, else those of a quick or full verification.

    The name of a method stands for all claims about it, a pattern like ``*-table1-*`` for all that
    it fits, FILE.py, FILE.py:NAME or MODULE:NAME for the claims that somebody states there.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested), a pattern fits none, or the effort.
    """
    from pfbench.verification.session import of_effort

    every = of_effort(CLAIMS.values(), effort)
    chosen: dict[str, Claim] = {}
    for one in (one for name in names for one in _named(name)):
        if chosen.setdefault(one.name, one).home != one.home:
            raise InputError(f"two claims are called {one.name}: rename one of them.")
    check_ready(chosen.values(), effort)
    return list(chosen.values()) or every


def soonest_known(effort: str) -> Callable[[Claim], tuple[bool, float]]:
    """Return by what claims are ordered where something is to be known soon, the least first.

    Those that hold a method to its own source come first, as most faults show there, then what is
    quick.
    """

    def rank(one: Claim) -> tuple[bool, float]:
        return one.paper != methods.PAPER.key, one.seconds(effort)

    return rank


def _named(name: str) -> list[Claim]:
    """Return the claims that a name stands for."""
    if is_own(name):
        return list(stated(name).claims)
    if "*" in name:
        fitting = [one for one in CLAIMS.values() if fnmatchcase(one.name, name)]
        if not fitting:
            raise InputError(f"no claim fits {name!r}: `pfbench list claims` shows all names.")
        return fitting
    return claims_about(name) or [claim(name)]


def claims_about(method: str) -> list[Claim]:
    """Return the claims about a method of the catalogue, in the order of the papers."""
    return [one for one in CLAIMS.values() if method and one.algorithm == method]


def mutants_of(names: Iterable[str] = ()) -> list[Mutant]:
    """Return the mutants that one of these claims must catch; all if none is named.

    The name of a method stands for all claims about it.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested).
    """
    named = list(names)
    wanted = {one.name for name in named if not is_own(name) for one in _named(name)}
    ours = [m for m in MUTANTS.values() if not named or wanted & {c.name for c in m.expected}]
    return ours + [mutant for paper in own_papers(named) for mutant in paper.mutants]


def own_papers(names: Iterable[str]) -> list[Paper]:
    """Return what somebody states in the files and modules among some names."""
    return [stated(name) for name in dict.fromkeys(names) if is_own(name)]


def paper_of(claim: Claim) -> Paper:
    """Return the paper, or the file of somebody's own, that states a claim."""
    return stated(claim.home.place) if claim.home else PAPERS[claim.paper]


def titles_of(papers: Iterable[Paper]) -> dict[str, str]:
    """Return the titles of papers, by the keys that their claims' names begin with."""
    return {one.paper: paper.title for paper in papers for one in paper.claims}


def algorithm_and_claims(reference: str, names: Sequence[str]) -> tuple[Any, list[Claim]]:
    """Return the algorithm MODULE:NAME, and the claims that it is held to.

    They are the named ones, else those of its class attribute `claims`, else none.

    Raises
    ------
    InputError
        If it cannot be imported, is no algorithm, or a claim is unknown.
    """
    algorithm = load(reference)
    if not callable(getattr(algorithm, "run", None)):
        raise InputError(
            f"{reference} is no algorithm: it needs a method run(ask, x, rng) that yields states."
        )
    stated = names or getattr(algorithm, "claims", ())
    stated = (stated,) if isinstance(stated, str) else stated
    return algorithm, [one for name in dict.fromkeys(stated) for one in _named(name)]


def verify(
    names: Iterable[str] | None = None,
    *,
    effort: str = "quick",
    algorithm: Any = None,
    seed: int = 0,
    at_seed: int | None = None,
    jobs: int = 1,
    engine: "Engine | None" = None,
    store: "Store | Path | str | None" = None,
    progress: "Progress | None" = None,
) -> "Verification":
    """Put claims to the test, each in a process that can be killed.

    Parameters
    ----------
    names
        Claims, methods for all claims about them, or somebody's own FILE.py, FILE.py:NAME or
        MODULE:NAME; all claims of the chosen effort if it is not given.
    effort
        "quick" or "full".
    algorithm
        A class or an object to test in place of each claim's algorithm. Other processes import
        it, so it must stand in a module.
    seed
        Seed of every random stream.
    at_seed
        Draws the sizes and the start of runs at the size of use; 0 the usual ones. A fresh one if
        it is not given and `algorithm` is, else 0.
    jobs
        Number of processes of this machine.
    engine
        Where the checks are made, instead of those processes.
    store
        Where verdicts are kept and found, or its folder; without it, all are made now and none is
        kept.
    progress
        Is told each verdict as it comes, and whether it was made now (not found in the store).

    Returns
    -------
    Verification
        One verdict for each claim, in the order of the names or of the catalogue.

    Raises
    ------
    InputError
        If a name or an argument is unknown or out of range; nothing has run then.
    StorageError
        If the store cannot be written or read; what is stored already stays.
    """
    from pfbench.runs.engines.engine import LocalProcesses
    from pfbench.verification.session import Session, at_seed_of, check_engine

    integer("jobs", jobs, least=1)
    subject = Subject(algorithm=algorithm)
    subject.check_importable()
    chosen = selected(() if names is None else _listed(names), effort)
    if engine is not None:
        check_engine(engine)
    session = Session(
        engine=LocalProcesses(jobs) if engine is None else engine,
        effort=effort,
        seed=seed,
        at_seed=at_seed_of(at_seed, chosen, algorithm),
        store=_opened(store),
        progress=progress,
    )
    return session.verify(chosen, subject)


def _listed(names: Any) -> list[str]:
    """Return the names of claims as a list; a text is none, though it has letters."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(
            f'names={told(names)} must be a list of claims, as in ["{next(iter(CLAIMS))}"].'
        )
    found = list(names)
    if not found:
        raise InputError("names=[] names no claim: leave it out for all claims.")
    for name in found:
        if not isinstance(name, str):
            raise InputError(f"names: {told(name)} is no text: give the names of claims.")
    return found


def _opened(store: Any) -> "Store | None":
    from pfbench.runs.storage.store import Store

    if store is None or isinstance(store, Store):
        return store
    if not isinstance(store, str | Path) or not str(store):
        raise InputError(f"store={store!r} must be a Store or the path of its folder.")
    return Store(Path(store))


# --- one scale ------------------------------------------------------------------------------------

PUBLISHED: tuple[tuple[str, Claim, Claim], ...] = (
    ("qu2018 table 1", qu2018.theorem1.RATE, lacoste2016.rate.RATE),
    ("qu2018 table 2", qu2018.theorem2.RATE, shen2019.table1.TABLE["sg"]),
    ("qu2018 table 3", qu2018.theorem3.RATE, shen2019.table1.TABLE["svrg"]),
)
"""Published comparisons of complexities under different criteria."""


def changes() -> list[Change]:
    """Return the published comparisons whose winner depends on the criterion."""
    found = []
    for comparison, one, other in PUBLISHED:
        if one.orders and other.orders:
            found += [change(comparison, one.orders, other.orders, c) for c in one.orders.orders]
    return [one for one in found if one is not None]
