"""Everything that has a name, of every kind, with a line about it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from importlib.resources import files
from inspect import getdoc
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.cli.tables import Fact

if TYPE_CHECKING:
    from pfbench.base.parameters import Listed


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


def _items(kind: str, listed: "Mapping[str, Listed]") -> Iterator[Item]:
    return (Item(name, kind, one.source, one.summary) for name, one in listed.items())


def algorithms() -> Iterator[Item]:
    """Yield the algorithms."""
    from pfbench.algorithms import ALGORITHMS

    return _items("algorithm", ALGORITHMS)


def problems() -> Iterator[Item]:
    """Yield the problems."""
    from pfbench.problems import PROBLEMS

    return _items("problem", PROBLEMS)


def sets() -> Iterator[Item]:
    """Yield the feasible sets and the penalties."""
    from pfbench.sets.catalogue import PENALTIES, SETS

    return chain(_items("set", SETS), _items("penalty", PENALTIES))


def measures() -> Iterator[Item]:
    """Yield the measures."""
    from pfbench.measures import MEANING

    return (Item(name, "measure", one.source, one.summary) for name, one in MEANING.items())


def claims() -> Iterator[Item]:
    """Yield the claims."""
    from pfbench.claims.catalogue import CLAIMS

    return (Item(one.name, "claim", one.source, one.statement) for one in CLAIMS.values())


def reports() -> Iterator[Item]:
    """Yield the known reports."""
    from pfbench.runs.planning.study import read_spec

    for name, path in specs().items():
        try:
            summary = read_spec(path).title
        except InputError as error:
            summary = f"damaged: {error}"
        yield Item(name, "report", str(path), summary)


def data_sets() -> Iterator[Item]:
    """Yield the data sets."""
    from pfbench.problems.data.catalogue import DATA_SETS

    return (Item(one.name, "data", one.home, one.summary) for one in DATA_SETS.values())


KINDS: Mapping[str, Callable[[], Iterator[Item]]] = MappingProxyType(
    {
        "algorithms": algorithms,
        "problems": problems,
        "sets": sets,
        "measures": measures,
        "claims": claims,
        "reports": reports,
        "data": data_sets,
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
    """Return the specs of the known reports by name: those of ./reports first, then our own."""
    package = Path(str(files("pfbench")))
    folders = (Path("reports"), package / "reporting" / "specs", package.parent / "reports")
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


def first_line(documented: Any) -> str:
    """Return the first paragraph of a docstring as one line, without its mark-up and full stop."""
    text = (getdoc(documented) or "").partition("\n\n")[0]
    return " ".join(text.replace("`", "").split()).removesuffix(".")
