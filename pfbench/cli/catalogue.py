"""Everything that has a name, of every kind, with a line about it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from importlib.resources import files
from inspect import getdoc
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.cli.tables import Fact


@dataclass(frozen=True)
class Item:
    """A name with its kind, where it comes from, and a line about it."""

    name: str
    kind: str
    source: str
    summary: str

    def as_json(self) -> dict[str, Any]:
        """Return the item as ``pfbench list --json`` prints it (schema 1)."""
        return {"schema": 1, **asdict(self)}

    @property
    def facts(self) -> list[Fact]:
        """The same as ``pfbench info`` shows it first."""
        return [
            Fact("name", self.name, "name", f"{self.name} ({self.kind})"),
            Fact("kind", self.kind),
            Fact("summary", self.summary, "what it is"),
            Fact("source", self.source, "source"),
        ]


def _items(kind: str, where: str, source: str = "source", about: str = "summary") -> Iterator[Item]:
    """Yield what the mapping MODULE:NAME holds, which is imported only now."""
    for name, one in resolve_name(where).items():
        yield Item(name, kind, getattr(one, source), getattr(one, about))


def sets() -> Iterator[Item]:
    """Yield the feasible sets and the penalties."""
    yield from _items("set", "pfbench.sets.catalogue:SETS")
    yield from _items("penalty", "pfbench.sets.catalogue:PENALTIES")


def reports() -> Iterator[Item]:
    """Yield the known reports."""
    from pfbench.runs.planning.spec import read_spec

    for name, path in specs().items():
        try:
            summary = read_spec(path).title
        except InputError as error:
            summary = f"damaged: {error}"
        yield Item(name, "report", str(path), summary)


MAIN_REPORT = "gradient-estimators"
"""What ``pfbench report`` draws if it is asked for nothing else."""

PAPER = "paper"
"""The folder of the reports at the scale of a paper, which take hours."""

KINDS: Mapping[str, Callable[[], Iterator[Item]]] = MappingProxyType(
    {
        "algorithms": partial(_items, "algorithm", "pfbench.algorithms:ALGORITHMS"),
        "problems": partial(_items, "problem", "pfbench.problems:PROBLEMS"),
        "sets": sets,
        "measures": partial(_items, "measure", "pfbench.measures:MEANING"),
        "claims": partial(_items, "claim", "pfbench.claims.catalogue:CLAIMS", about="statement"),
        "reports": reports,
        "data": partial(_items, "data", "pfbench.problems.data.catalogue:DATA_SETS", "home"),
    }
)
"""What ``pfbench list`` takes, with what it then shows."""


def find(name: str) -> Item:
    """Return the one thing of this name; ``KIND:NAME`` tells namesakes apart.

    A set goes before a penalty of the same name.

    Raises
    ------
    InputError
        If there is none (the nearest name of any kind is suggested), or several.
    """
    from pfbench.problems.data.catalogue import EDITIONS

    everything = [item for kind in KINDS.values() for item in kind()]
    if name == "movielens":
        name = EDITIONS["latest-small"].name
    kind, colon, plain = name.rpartition(":")
    found = [
        item
        for item in everything
        if item.name == name or (colon and (item.kind, item.name) == (kind, plain))
    ]
    if not found:
        near = get_close_matches(name, [item.name for item in everything], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "`pfbench list` shows all names."
        raise InputError(f"unknown name {name!r}: {hint}")
    if {item.kind for item in found} == {"set", "penalty"}:
        found = [item for item in found if item.kind == "set"]
    if len(found) > 1:
        choices = " or ".join(f"{item.kind}:{item.name}" for item in found)
        raise InputError(f"{name} names several things: write {choices}.")
    return found[0]


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


def first_line(documented: Any) -> str:
    """Return the first paragraph of a docstring as one line, without its mark-up and full stop."""
    text = (getdoc(documented) or "").partition("\n\n")[0]
    return " ".join(text.replace("`", "").split()).removesuffix(".")
