"""``pfbench list``: the built-in items of every kind, and the user-defined items of a file."""

import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.cells import set_cell_size
from rich.console import RenderableType

from pfbench.base.bibliography import REFERENCES, find_cited_paper_keys, find_urls, format_reference
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.cli import terminal
from pfbench.cli.formatting import docstring_summary
from pfbench.cli.options import AS_JSON, argument
from pfbench.cli.terminal import make_table, section_with_title

if TYPE_CHECKING:
    from pfbench.base.parameters import Parameter

NAMESAKES: Mapping[str, str] = MappingProxyType({"penalty": "set", "estimator": "algorithm"})
"""Kinds of items whose names another kind may have; the other kind takes precedence."""

MAIN_REPORT = "gradient-estimators"
"""Default report of ``pfbench report``."""

PAPER = "paper"
"""Folder of the reports at the scale of a paper, which take hours."""


@dataclass(frozen=True)
class CatalogueItem:
    """Item that pfbench can list: its name, kind, source, one-line description, and object."""

    name: str
    kind: str
    source: str
    summary: str
    object: Any = field(default=None, compare=False, repr=False)

    @property
    def name_for_info(self) -> str:
        """Name to pass to `pfbench info`, as KIND:NAME if another kind may have the same name."""
        return f"{self.kind}:{self.name}" if self.kind in NAMESAKES else self.name

    def as_json(self) -> dict[str, Any]:
        """Return the item as the dictionary that ``pfbench list --json`` prints."""
        return {
            "name": self.name,
            "kind": self.kind,
            "source": self.source,
            "cites": self.source_citation_keys,
            "summary": self.summary,
        }

    @property
    def source_citation_keys(self) -> list[str]:
        """Bibliography keys of the papers that the item's source cites."""
        return list(find_cited_paper_keys(self.source))

    @property
    def record(self) -> dict[str, Any]:
        """Record that ``pfbench info`` prints first: that of the list, and the cited papers."""
        return self.as_json() | {
            "references": [_format_reference(key) for key in self.source_citation_keys]
        }


def _format_reference(key: str) -> str:
    """Return the full reference for a bibliography key, with its URL if one is known."""
    if key not in REFERENCES:
        return key
    return " ".join([format_reference(key), *list(find_urls(key).values())[:1]])


# --- specs ----------------------------------------------------------------------------------------


def report_spec_paths() -> dict[str, Path]:
    """Return the paths of report specs by name; a spec in ./reports replaces a built-in one.

    The names of specs with problems as large as those in a paper start with ``paper/``.
    """
    return _find_specs("*.toml", f"{PAPER}/*.toml")


def suite_spec_paths() -> dict[str, Path]:
    """Return the paths of suite specs by name, searched as in `report_spec_paths`."""
    return {name.rpartition("/")[2]: path for name, path in _find_specs("suites/*.toml").items()}


def resolve_spec_path(kind: str, text: str, paths: Mapping[str, Path]) -> Path:
    """Return the path of a spec file that is given by name or by path.

    Raises
    ------
    InputError
        If the text is neither.
    """
    path = paths.get(text, Path(text))
    if text not in paths and not path.exists() and path.suffix != ".toml":
        raise unknown_name_error(kind, text, [*paths, *map(str, Path().glob("*.toml"))])
    return path


def _find_specs(*patterns: str) -> dict[str, Path]:
    package = Path(str(files("pfbench")))
    folders = (Path("reports"), package / "reporting" / "specs", package.parent / "reports")
    paths: dict[str, Path] = {}
    for folder in folders:
        for path in (path for pattern in patterns for path in sorted(folder.glob(pattern))):
            paths.setdefault(path.relative_to(folder).with_suffix("").as_posix(), path)
    return paths


# --- kinds ----------------------------------------------------------------------------------------


def _built_in_items(
    kind: str, location: str, source: str = "source", summary: str = "summary"
) -> Iterator[CatalogueItem]:
    """Yield the items of a built-in catalogue, a mapping that is imported from MODULE:NAME.

    `source` and `summary` are the names of the items' attributes with their source and summary. If
    `summary` is empty, the first paragraph of the docstring is used.
    """
    for name, item in resolve_name(location).items():
        text = getattr(item, summary) if summary else docstring_summary(item)
        yield CatalogueItem(name, kind, getattr(item, source), text, item)


def _set_and_penalty_items() -> Iterator[CatalogueItem]:
    yield from _built_in_items("set", "pfbench.sets.catalogue:SETS")
    yield from _built_in_items("penalty", "pfbench.sets.catalogue:PENALTIES")


def _spec_items(kind: str, spec_paths: Callable[[], dict[str, Path]]) -> Iterator[CatalogueItem]:
    """Yield an item for each available report or suite."""
    from pfbench.runs.planning.spec_text import read_title

    for name, path in spec_paths().items():
        try:
            summary = read_title(path)
        except InputError as error:
            summary = f"damaged: {error}"
        yield CatalogueItem(name, kind, str(path), summary)


def _paper_items() -> Iterator[CatalogueItem]:
    """Yield an item for each paper with claims; the claims themselves are not imported."""
    text = (files("pfbench.claims") / "papers.toml").read_text(encoding="utf-8")
    for key, paper in tomllib.loads(text).items():
        source = key if key in REFERENCES else "pfbench"
        yield CatalogueItem(key, "paper", source, paper["title"])


KINDS: Mapping[str, Callable[[], Iterator[CatalogueItem]]] = MappingProxyType(
    {
        "algorithms": partial(
            _built_in_items, "algorithm", "pfbench.algorithms:ALGORITHMS", summary=""
        ),
        "problems": partial(_built_in_items, "problem", "pfbench.problems:PROBLEMS"),
        "sets": _set_and_penalty_items,
        "estimators": partial(
            _built_in_items, "estimator", "pfbench.estimators.catalogue:ESTIMATORS", summary=""
        ),
        "measures": partial(_built_in_items, "measure", "pfbench.measures.catalogue:MEANING"),
        "papers": _paper_items,
        "claims": partial(
            _built_in_items, "claim", "pfbench.claims.catalogue:CLAIMS", summary="statement"
        ),
        "reports": partial(_spec_items, "report", report_spec_paths),
        "suites": partial(_spec_items, "suite", suite_spec_paths),
        "data": partial(
            _built_in_items, "data", "pfbench.problems.data.catalogue:DATA_SETS", source="home"
        ),
    }
)
"""Arguments of ``pfbench list``, with the built-in items of each."""


def list_all(kind: str | None = argument("|".join(KINDS)), as_json: bool = AS_JSON) -> None:
    """List the available items, with their sources.

    Without a kind, all items are listed but the claims, whose papers are listed.
    """
    if kind is not None and kind not in KINDS:
        raise unknown_name_error("kind", kind, KINDS)
    kinds = [name for name in KINDS if name != "claims"] if kind is None else [kind]
    listed = {name: list_items(name) for name in kinds}
    if as_json:
        terminal.print_json([item.as_json() for items in listed.values() for item in items])
        return
    for name, items in listed.items():
        content = _item_table(items) if items else f"There are no {name} yet."
        terminal.print_parts(content if kind else section_with_title(name, content))
    if kind is None:
        terminal.print_parts("\n`pfbench list claims` lists the claims of the papers.")


def _item_table(items: list[CatalogueItem]) -> RenderableType:
    names = ("name", "what it is", "source")
    rows = [(item.name_for_info, item.summary, item.source) for item in items]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, names, strict=True)]
    if sum(widths) <= terminal.console().width:  # as one text: rich takes 0.4 ms for a row
        lines = ["".join(map(set_cell_size, row, widths)) for row in (names, *rows)]
        text = terminal.multiline_cell(*lines)
        text.no_wrap = True
        text.stylize("dim", 0, sum(widths))
        return text
    both = [
        (name, terminal.multiline_cell(summary, f"[{source}]")) for name, summary, source in rows
    ]
    return make_table(("name", "what it is [source]"), both)


def list_items(plural_kind: str) -> list[CatalogueItem]:
    """Return the items of one kind, given by its plural, such as ``algorithms``."""
    return list(KINDS[plural_kind]())


def find_item(name: str) -> CatalogueItem:
    """Return the item with a name; `KIND:NAME` selects an item if several kinds have this name.

    Without a kind, a set takes precedence over a penalty of the same name, and an algorithm over an
    estimator.

    Raises
    ------
    InputError
        If no item has this name (the message suggests the nearest name), or several items have.
    """
    kind, _, plain = name.rpartition(":")

    everything = [item for items in KINDS.values() for item in items()]
    results = [item for item in everything if item.name == plain and kind in ("", item.kind)]
    if not results:
        near = get_close_matches(name, [item.name for item in everything], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "`pfbench list` shows all names."
        raise InputError(f"unknown name {name!r}: {hint}")
    kinds = {item.kind for item in results}
    results = [item for item in results if NAMESAKES.get(item.kind) not in kinds]
    if len(results) > 1:
        choices = " or ".join(f"{item.kind}:{item.name}" for item in results)
        raise InputError(f"several items have the name {name}: write {choices}.")
    return results[0]


# --- user-defined items ---------------------------------------------------------------------------

_OWN = "user-defined"
"""Source of an item that states none."""


def infer_kind(name: str, obj: Any) -> str:
    """Return the kind of a user-defined object, such as "algorithm" or "measure".

    Raises
    ------
    InputError
        If the object is of no known kind.
    """
    from pfbench.checking import resolver
    from pfbench.problems import FiniteSum
    from pfbench.verification.claim import Claim

    cls = obj if isinstance(obj, type) else type(obj)
    if issubclass(cls, Claim):
        return "claim"
    if issubclass(cls, FiniteSum):
        return "problem"
    if inspect.isroutine(obj):
        needed = [parameter for parameter in get_parameters(obj).values() if parameter.is_required]
        return "measure" if len(needed) == 2 else "problem"
    try:
        return resolver.infer_kind(obj, name)
    except InputError:
        raise InputError(
            f"{name} is {cls.__name__}, not an algorithm, problem, set, penalty, estimator, claim "
            "or measure."
        ) from None


def source_and_summary(obj: Any) -> tuple[str, str]:
    """Return the source that a user-defined object states, and its one-line description."""
    source = getattr(obj, "source", "")
    summary = getattr(obj, "statement", "") or getattr(obj, "summary", "")
    texts = [text if isinstance(text, str) else "" for text in (source, summary)]
    return texts[0] or _OWN, texts[1] or docstring_summary(obj) or "it has no docstring"


def get_parameters(obj: Any) -> "dict[str, Parameter]":
    """Return, by name, the parameters that a class declares, or those in the object's signature."""
    from pfbench.base.parameters import Parameter, format_value

    if isinstance(obj, type) and callable(getattr(obj, "parameters", None)):
        return dict(obj.parameters())  # type: ignore[attr-defined]
    try:
        values = inspect.signature(obj).parameters.values() if callable(obj) else ()
    except ValueError:  # written in C, which tells nothing
        return {}
    return {
        parameter.name: Parameter(
            "", "" if parameter.default is parameter.empty else format_value(parameter.default)
        )
        for parameter in values
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def make_user_item(location: str) -> CatalogueItem:
    """Import a user-defined object, FILE.py:NAME or MODULE:NAME, and return its catalogue item.

    Raises
    ------
    InputError
        If the item cannot be loaded, or is of no known kind.
    """
    from pfbench.base.user_code import load_user_object
    from pfbench.verification.user_claims import load_claims

    data = load_user_object(location)
    kind = infer_kind(location, data)
    if kind == "claim":  # which knows there in which file it stands
        (data,) = load_claims(location).claims
    source, summary = source_and_summary(data)
    return CatalogueItem(location, kind, source, summary, data)
