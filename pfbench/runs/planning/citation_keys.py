"""References of planned runs: papers of their algorithms, data sets of their problems."""

from collections.abc import Iterable, Mapping

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.problems.data.catalogue import DATA_SETS, DataSet


def algorithm_citation_keys(algorithms: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of the papers of algorithms, by selectors; user-defined ones have none."""
    kinds = (ALGORITHMS.get(_parse_or_empty(text).name) for text in algorithms)
    return tuple(dict.fromkeys(key for kind in kinds if kind for key in kind.cites))


def find_data_sets(problems: Iterable[str]) -> Mapping[str, DataSet]:
    """Return the data sets that are the sources of problems, by selectors."""
    names = {_parse_or_empty(text).texts.get("source", "") for text in problems}
    return {name: DATA_SETS[name] for name in sorted(names & DATA_SETS.keys())}


def _parse_or_empty(text: str) -> Selector:
    """Return a selector; that of the name none if the text, e.g. of a stored run, is invalid."""
    try:
        return Selector.parse(text)
    except InputError:
        return Selector.parse("none")
