"""Everything that has a name, of every kind, with a line about it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType

from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.base.plugins import GROUPS
from pfbench.cli.item import NAMESAKES, Item
from pfbench.cli.own import plugged
from pfbench.cli.words import first_line


def _items(kind: str, where: str, source: str = "source", about: str = "summary") -> Iterator[Item]:
    """Yield what the mapping MODULE:NAME holds, which is imported only now."""
    for name, one in resolve_name(where).items():
        yield Item(name, kind, getattr(one, source), getattr(one, about), one)


def sets() -> Iterator[Item]:
    """Yield the feasible sets and the penalties."""
    yield from _items("set", "pfbench.sets.catalogue:SETS")
    yield from _items("penalty", "pfbench.sets.catalogue:PENALTIES")


def estimators() -> Iterator[Item]:
    """Yield the gradient estimators."""
    for name, one in resolve_name("pfbench.estimators.catalogue:ESTIMATORS").items():
        yield Item(name, "estimator", one.source, first_line(one), one)


def reports() -> Iterator[Item]:
    """Yield the known reports."""
    for name, path in specs().items():
        yield _spec("report", name, path)


def suite_items() -> Iterator[Item]:
    """Yield the suites that methods are compared on."""
    for name, path in suites().items():
        yield _spec("suite", name, path)


def _spec(kind: str, name: str, path: Path) -> Item:
    from pfbench.runs.planning.spec import read_spec

    try:
        summary = read_spec(path).title
    except InputError as error:
        summary = f"damaged: {error}"
    return Item(name, kind, str(path), summary)


MAIN_REPORT = "gradient-estimators"
"""What ``pfbench report`` draws if it is asked for nothing else."""

PAPER = "paper"
"""The folder of the reports at the scale of a paper, which take hours."""

KINDS: Mapping[str, Callable[[], Iterator[Item]]] = MappingProxyType(
    {
        "algorithms": partial(_items, "algorithm", "pfbench.algorithms:ALGORITHMS"),
        "problems": partial(_items, "problem", "pfbench.problems:PROBLEMS"),
        "sets": sets,
        "estimators": estimators,
        "measures": partial(_items, "measure", "pfbench.measures:MEANING"),
        "claims": partial(_items, "claim", "pfbench.claims.catalogue:CLAIMS", about="statement"),
        "reports": reports,
        "suites": suite_items,
        "data": partial(_items, "data", "pfbench.problems.data.catalogue:DATA_SETS", "home"),
    }
)
"""What ``pfbench list`` takes, with what of ours it then shows."""


def listed(kinds: str) -> list[Item]:
    """Return what ``pfbench list`` shows of one of `KINDS`: ours first, then plug-ins."""
    ours, kind = list(KINDS[kinds]()), kinds.removesuffix("s")
    return [*ours, *(plugged(kind, {item.name for item in ours}) if kind in GROUPS else ())]


def find(name: str) -> Item:
    """Return the one thing of this name; ``KIND:NAME`` tells namesakes apart.

    A set goes before a penalty of the same name, an algorithm before an estimator.

    Raises
    ------
    InputError
        If there is none (the nearest name of any kind is suggested), or several.
    """
    from pfbench.problems.data.catalogue import EDITIONS

    if name == "movielens":
        name = EDITIONS["latest-small"].name
    kind, _, plain = name.rpartition(":")

    def named(items: Iterable[Item]) -> list[Item]:
        return [item for item in items if item.name == plain and kind in ("", item.kind)]

    # Only the spec that is asked for is read: it plans all its runs.
    known = {"report": specs(), "suite": suites()}
    others = [items for kinds, items in KINDS.items() if kinds not in ("reports", "suites")]
    everything = [item for items in others for item in items()]
    for of, paths in known.items():
        everything += [Item(one, of, str(path), "") for one, path in paths.items()]
    found = named(everything)
    if not found:
        # Only then is anybody's package imported.
        everything += [item for of in GROUPS if of != "penalty" for item in plugged(of)]
        found = named(everything)
    if not found:
        near = get_close_matches(name, [item.name for item in everything], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "`pfbench list` shows all names."
        raise InputError(f"unknown name {name!r}: {hint}")
    among = {item.kind for item in found}
    found = [item for item in found if NAMESAKES.get(item.kind) not in among]
    if len(found) > 1:
        choices = " or ".join(f"{item.kind}:{item.name}" for item in found)
        raise InputError(f"{name} names several things: write {choices}.")
    (item,) = found
    if item.kind in known:
        return _spec(item.kind, item.name, known[item.kind][item.name])
    return item


def specs() -> dict[str, Path]:
    """Return the specs of the known reports by name: those of ./reports first, then our own.

    Those at the scale of a paper lie in the folder paper, which is part of their names.
    """
    return _specs_in("*.toml", f"{PAPER}/*.toml")


def suites() -> dict[str, Path]:
    """Return the specs of the known suites by name, likewise."""
    return {name.rpartition("/")[2]: path for name, path in _specs_in("suites/*.toml").items()}


def spec_path(kind: str, text: str, known: Mapping[str, Path]) -> Path:
    """Return the file of a spec, given by a known name of its kind or as a path.

    Raises
    ------
    InputError
        If it is neither.
    """
    path = known.get(text, Path(text))
    if text not in known and not path.exists() and path.suffix != ".toml":
        raise unknown(kind, text, known)
    return path


def _specs_in(*patterns: str) -> dict[str, Path]:
    package = Path(str(files("pfbench")))
    folders = (Path("reports"), package / "reporting" / "specs", package.parent / "reports")
    found: dict[str, Path] = {}
    for folder in folders:
        for path in (path for pattern in patterns for path in sorted(folder.glob(pattern))):
            found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), path)
    return found
