"""Catalogue of the papers' claims, mutants and errata, and the public `verify`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.base.checks import check_integer
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr, find_entry
from pfbench.base.selectors import Selector, is_user_defined
from pfbench.base.user_code import load_user_object
from pfbench.claims.methods.method_claims import current_claim_name
from pfbench.verification.claim import Claim, Erratum, Mutant, Paper
from pfbench.verification.paper_tables import load_table
from pfbench.verification.replay.small_cases import restrict_to_case
from pfbench.verification.subject import Subject
from pfbench.verification.user_claims import load_claims

if TYPE_CHECKING:  # what runs a verification is imported by it: claims are listed without it
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.storage.store import Store
    from pfbench.verification.session import Progress, Verification

PAPERS: Mapping[str, Paper] = MappingProxyType(
    {
        key: import_module(f"pfbench.claims.{key}").PAPER
        for key in load_table(Path(__file__).with_name("papers.toml"))
    }
)
"""Papers by key, in the order of ``papers.toml``."""

CLAIMS: Mapping[str, Claim] = MappingProxyType(
    {claim.name: claim for paper in PAPERS.values() for claim in paper.claims}
)
"""Claims by name, in the order of the papers."""

MUTANTS: Mapping[str, Mutant] = MappingProxyType(
    {mutant.name: mutant for paper in PAPERS.values() for mutant in paper.mutants}
)
"""Mutants by name."""

ERRATA: Mapping[str, Erratum] = MappingProxyType(
    {erratum.name: erratum for paper in PAPERS.values() for erratum in paper.errata}
)
"""Errata by name."""


def claim(name: str) -> Claim:
    """Return the claim named `name`, or the only claim of a user's file or module `name`.

    The name of a claim about a method's runs may have a case in brackets; see `make_case`.

    Raises
    ------
    InputError
        If the name is unknown (the nearest is suggested), or names several.
    """
    if is_user_defined(name):
        claims = load_claims(name).claims
        if len(claims) > 1:
            names = ", ".join(claim.name for claim in claims)
            raise InputError(f"{name} states several claims ({names}): name one, as FILE.py:NAME.")
        return claims[0]
    if isinstance(name, str) and "[" in name:
        selector = Selector.parse(name)
        return restrict_to_case(claim(selector.name), selector.parameters)
    name = current_claim_name(name) if isinstance(name, str) else name
    if isinstance(name, str) and name.startswith("methods-") and name not in CLAIMS:
        end = name.split("-", 2)[2:]  # of a method without this claim, such as one on a schedule
        existing = [k for k in CLAIMS if k.startswith("methods-") and k.split("-", 2)[2:] == end]
        if existing:
            raise InputError(f"unknown claim {name!r}: choose one of {', '.join(existing)}.")
    return find_entry("claim", name, CLAIMS)


def select_claims(names: Iterable[str] = (), effort: str = "quick") -> list[Claim]:
    """Return the claims to test: those named or, without names, all claims of the given effort.

    The name of a method or paper stands for all its claims, and a pattern like ``*-table1-*`` for
    all claims that match it. FILE.py, FILE.py:NAME and MODULE:NAME stand for user-defined claims.

    Raises
    ------
    InputError
        If a name or the effort is unknown (the nearest is suggested), or a pattern matches none.
    """
    from pfbench.verification.session import select_by_effort

    claims = select_by_effort(CLAIMS.values(), effort)
    chosen: dict[str, Claim] = {}
    for item in (claim for name in names for claim in _claims_by_name_or_file(name)):
        if chosen.setdefault(item.name, item).user_source != item.user_source:
            raise InputError(f"two claims are called {item.name}: rename one of them.")
    return list(chosen.values()) or claims


def methods_first_then_quickest_key(effort: str) -> Callable[[Claim], tuple[bool, float]]:
    """Return a sort key that puts claims about methods first, and quicker before slower ones.

    "Claims about methods" compare a method with its own source. These claims come first because
    they reveal most faults.
    """

    def rank(claim: Claim) -> tuple[bool, float]:
        return claim.paper != "methods", claim.seconds(effort)

    return rank


def _claims_by_name_or_file(name: str) -> list[Claim]:
    """Return the claims of which `name` is the name, the paper, the method or the user's file."""
    if is_user_defined(name):
        return list(load_claims(name).claims)
    if name in PAPERS:
        return list(PAPERS[name].claims)
    if "*" in name:
        fitting = [claim for claim in CLAIMS.values() if fnmatchcase(claim.name, name)]
        if not fitting:
            raise InputError(f"no claim fits {name!r}: `pfbench list claims` shows all names.")
        return fitting
    return claims_about(name) or [claim(name)]


def claims_about(method: str) -> list[Claim]:
    """Return the claims that test a catalogue method, in the order of the papers."""
    return [claim for claim in CLAIMS.values() if method and claim.algorithm == method]


def select_mutants(claim_names: Iterable[str] = ()) -> list[Mutant]:
    """Return the mutants that one of the named claims must catch; without names, all mutants.

    The name of a method stands for all claims about it.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested).
    """
    named = list(claim_names)
    expected = {
        claim.name
        for name in named
        if not is_user_defined(name)
        for claim in _claims_by_name_or_file(name)
    }
    mutants = [
        m for m in MUTANTS.values() if not named or expected & {c.name for c in m.expected_claims}
    ]
    return mutants + [mutant for paper in load_user_papers(named) for mutant in paper.mutants]


def load_user_papers(claim_and_module_names: Iterable[str]) -> list[Paper]:
    """Load the papers of all names that are user files or modules; ignore all other names."""
    return [
        load_claims(name) for name in dict.fromkeys(claim_and_module_names) if is_user_defined(name)
    ]


def find_paper(claim: Claim) -> Paper:
    """Return the paper, or the user file, that states a claim."""
    return (
        load_claims(claim.user_source.file_or_module) if claim.user_source else PAPERS[claim.paper]
    )


def paper_titles(papers: Iterable[Paper]) -> dict[str, str]:
    """Return a dict from a paper's key to its title; a claim's name begins with the key."""
    return {claim.paper: paper.title for paper in papers for claim in paper.claims}


def load_algorithm_and_claims(reference: str, names: Sequence[str]) -> tuple[Any, list[Claim]]:
    """Return the algorithm that MODULE:NAME names, and the claims on which it is to be tested.

    The claims are those in `names`. If there are none, they are those of the algorithm's class
    attribute `claims`, if it has one.

    Raises
    ------
    InputError
        If it cannot be imported, is not an algorithm, or a claim is unknown.
    """
    algorithm = load_user_object(reference)
    if not callable(getattr(algorithm, "run", None)):
        raise InputError(
            f"{reference} is not an algorithm: it needs a method run(ask, x, rng) that yields "
            "states."
        )
    statement = names or getattr(algorithm, "claims", ())
    statement = (statement,) if isinstance(statement, str) else statement
    return algorithm, [
        claim for name in dict.fromkeys(statement) for claim in _claims_by_name_or_file(name)
    ]


def verify(
    names: Iterable[str] | None = None,
    *,
    effort: str = "quick",
    algorithm: Any = None,
    seed: int = 0,
    case_seed: int | None = None,
    jobs: int = 1,
    engine: "Engine | None" = None,
    store: "Store | Path | str | None" = None,
    progress: "Progress | None" = None,
) -> "Verification":
    """Verify claims, each in a process that can be killed; return one verdict for each claim.

    Parameters
    ----------
    names
        Claims, methods for all claims about them, or user-defined claims FILE.py, FILE.py:NAME or
        MODULE:NAME; by default all claims of the chosen effort.
    effort
        "quick" or "full".
    algorithm
        A class or an object to test instead of each claim's algorithm. Other processes import it,
        so it must be defined in a module.
    seed
        Seed of every random stream.
    case_seed
        Seed of the sizes and the start of full-size runs; 0 selects the usual ones. By default
        random if there is an `algorithm`, else 0.
    jobs
        Number of worker processes on this machine.
    engine
        Engine that executes the checks, instead of worker processes.
    store
        Store of verdicts, or its folder; without it, all are computed now and none is stored.
    progress
        Called with each verdict, and whether it was computed now (not cached).

    Returns
    -------
    Verification
        One verdict for each claim, in the order of the names or of the catalogue.

    Raises
    ------
    InputError
        If a name or an argument is unknown or out of range; no check has run in this case.
    StorageError
        If the store cannot be written or read; entries that were stored before remain.
    """
    from pfbench.runs.engines.engine import MultiProcessEngine
    from pfbench.verification.added_searches import search_counterexamples
    from pfbench.verification.session import Session, check_engine, choose_zero_or_random_case_seed

    check_integer("jobs", jobs, minimum=1)
    subject = Subject(algorithm=algorithm)
    subject.check_importable()
    chosen = select_claims(() if names is None else _names_as_list_or_raise(names), effort)
    if engine is not None:
        check_engine(engine)
    session = Session(
        engine=MultiProcessEngine(jobs) if engine is None else engine,
        effort=effort,
        seed=seed,
        case_seed=choose_zero_or_random_case_seed(case_seed, chosen, algorithm),
        store=_open_store(store),
        progress=progress,
    )
    done = session.verify(chosen, subject)
    return done if algorithm is not None else search_counterexamples(session, done)


def _names_as_list_or_raise(names: Any) -> list[str]:
    """Return the claim names as a list; raise an error if `names` is a single string."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(
            f'names={brief_repr(names)} must be a list of claims, as in ["{next(iter(CLAIMS))}"].'
        )
    name_list = list(names)
    if not name_list:
        raise InputError("names=[] names no claim: to verify all claims, leave out names.")
    for name in name_list:
        if not isinstance(name, str):
            raise InputError(f"names must be strings, got {brief_repr(name)}.")
    return name_list


def _open_store(store: Any) -> "Store | None":
    from pfbench.runs.storage.store import Store

    if store is None or isinstance(store, Store):
        return store
    if not isinstance(store, str | Path) or not str(store):
        raise InputError(f"store={store!r} must be a Store or the path of its folder.")
    return Store(Path(store))
