"""Named items of every kind, with a one-line description."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType

from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.base.plugins import GROUPS
from pfbench.cli.catalogue_item import NAMESAKES, CatalogueItem
from pfbench.cli.formatting import docstring_summary
from pfbench.cli.user_items import iterate_plugins


def _iterate_mapping_items(
    kind: str,
    location: str,
    source_attribute: str = "source",
    description_attribute: str = "summary",
) -> Iterator[CatalogueItem]:
    """Yield the items of the mapping MODULE:NAME, which is imported only now."""
    for name, item in resolve_name(location).items():
        yield CatalogueItem(
            name, kind, getattr(item, source_attribute), getattr(item, description_attribute), item
        )


def set_and_penalty_items() -> Iterator[CatalogueItem]:
    """Yield the feasible sets and the penalties."""
    yield from _iterate_mapping_items("set", "pfbench.sets.catalogue:SETS")
    yield from _iterate_mapping_items("penalty", "pfbench.sets.catalogue:PENALTIES")


def estimator_items() -> Iterator[CatalogueItem]:
    """Yield the gradient estimators."""
    for name, item in resolve_name("pfbench.estimators.catalogue:ESTIMATORS").items():
        yield CatalogueItem(name, "estimator", item.source, docstring_summary(item), item)


def report_items() -> Iterator[CatalogueItem]:
    """Yield the known reports."""
    for name, path in report_spec_paths().items():
        yield _make_spec_item("report", name, path)


def suite_items() -> Iterator[CatalogueItem]:
    """Yield the suites for comparisons of methods."""
    for name, path in suite_spec_paths().items():
        yield _make_spec_item("suite", name, path)


def _make_spec_item(kind: str, name: str, path: Path) -> CatalogueItem:
    from pfbench.runs.planning.spec import load_spec

    try:
        summary = load_spec(path).title
    except InputError as error:
        summary = f"damaged: {error}"
    return CatalogueItem(name, kind, str(path), summary)


MAIN_REPORT = "gradient-estimators"
"""Default report of ``pfbench report``."""

PAPER = "paper"
"""Folder of the reports at the scale of a paper, which take hours."""

KINDS: Mapping[str, Callable[[], Iterator[CatalogueItem]]] = MappingProxyType(
    {
        "algorithms": partial(_iterate_mapping_items, "algorithm", "pfbench.algorithms:ALGORITHMS"),
        "problems": partial(_iterate_mapping_items, "problem", "pfbench.problems:PROBLEMS"),
        "sets": set_and_penalty_items,
        "estimators": estimator_items,
        "measures": partial(_iterate_mapping_items, "measure", "pfbench.measures:MEANING"),
        "claims": partial(
            _iterate_mapping_items,
            "claim",
            "pfbench.claims.catalogue:CLAIMS",
            description_attribute="statement",
        ),
        "reports": report_items,
        "suites": suite_items,
        "data": partial(
            _iterate_mapping_items, "data", "pfbench.problems.data.catalogue:DATA_SETS", "home"
        ),
    }
)
"""Arguments of ``pfbench list``, with the built-in items of each."""


def list_items(plural_kind: str) -> list[CatalogueItem]:
    """Return the items that ``pfbench list`` shows of a kind: built-in ones, then plug-ins."""
    items, kind = list(KINDS[plural_kind]()), plural_kind.removesuffix("s")
    return [
        *items,
        *(iterate_plugins(kind, {item.name for item in items}) if kind in GROUPS else ()),
    ]


def find_item(name: str) -> CatalogueItem:
    """Return the item of this name; ``KIND:NAME`` tells equal names of two kinds apart.

    A set takes precedence over a penalty of the same name, an algorithm over an estimator.

    Raises
    ------
    InputError
        If no item has this name (the message suggests the nearest name), or several items have.
    """
    from pfbench.problems.data.catalogue import EDITIONS

    if name == "movielens":
        name = EDITIONS["latest-small"].name
    kind, _, plain = name.rpartition(":")

    def matching_items(items: Iterable[CatalogueItem]) -> list[CatalogueItem]:
        return [item for item in items if item.name == plain and kind in ("", item.kind)]

    # Only the spec that is asked for is read: it plans all its runs.
    existing = {"report": report_spec_paths(), "suite": suite_spec_paths()}
    rest = [items for kinds, items in KINDS.items() if kinds not in ("reports", "suites")]
    everything = [item for items in rest for item in items()]
    for key, paths in existing.items():
        everything += [CatalogueItem(name, key, str(path), "") for name, path in paths.items()]
    results = matching_items(everything)
    if not results:
        # Only then is anybody's package imported.
        everything += [
            item for group in GROUPS if group != "penalty" for item in iterate_plugins(group)
        ]
        results = matching_items(everything)
    if not results:
        near = get_close_matches(name, [item.name for item in everything], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "`pfbench list` shows all names."
        raise InputError(f"unknown name {name!r}: {hint}")
    among = {item.kind for item in results}
    results = [item for item in results if NAMESAKES.get(item.kind) not in among]
    if len(results) > 1:
        choices = " or ".join(f"{item.kind}:{item.name}" for item in results)
        raise InputError(f"{name} names several things: write {choices}.")
    (item,) = results
    if item.kind in existing:
        return _make_spec_item(item.kind, item.name, existing[item.kind][item.name])
    return item


def report_spec_paths() -> dict[str, Path]:
    """Return the specs of known reports by name: first from ./reports, then built-in ones.

    Specs at the scale of a paper lie in the folder paper, which is part of their names.
    """
    return _find_specs("*.toml", f"{PAPER}/*.toml")


def suite_spec_paths() -> dict[str, Path]:
    """Return the specs of the known suites by name; see `report_spec_paths`."""
    return {name.rpartition("/")[2]: path for name, path in _find_specs("suites/*.toml").items()}


def resolve_spec_path(kind: str, text: str, paths: Mapping[str, Path]) -> Path:
    """Return the file of a spec, given as a known name of its kind or as a path.

    Raises
    ------
    InputError
        If the text is neither.
    """
    path = paths.get(text, Path(text))
    if text not in paths and not path.exists() and path.suffix != ".toml":
        raise unknown_name_error(kind, text, paths)
    return path


def _find_specs(*patterns: str) -> dict[str, Path]:
    package = Path(str(files("pfbench")))
    folders = (Path("reports"), package / "reporting" / "specs", package.parent / "reports")
    paths: dict[str, Path] = {}
    for folder in folders:
        for path in (path for pattern in patterns for path in sorted(folder.glob(pattern))):
            paths.setdefault(path.relative_to(folder).with_suffix("").as_posix(), path)
    return paths
