"""How the methods of a suite stand, by the runs that are shipped with it."""

from collections.abc import Iterator

from pfbench.receipts.comparison import Kept
from pfbench.reporting.findings.front import front, standing_in_words
from pfbench.reporting.findings.result_tables import comparisons
from pfbench.reporting.on_suite import put_on
from pfbench.runs.planning.study import Spec
from pfbench.runs.shipped import Shipped


def standings(suite: Spec, shipped: Shipped) -> Iterator[tuple[str, str]]:
    """Yield each method of a suite that has runs, the strongest first, and where it stands.

    It is compared with all of its class, as on the page of a comparison.
    """
    (study,) = suite.studies
    name = study.algorithms[0].selector.partition("[")[0]  # any of them, to stand in its place
    (results,) = put_on(suite, name, Kept(shipped.runs)).report.results
    compared = tuple(comparisons(results))[:1]
    fronts = [front(compared, (label,)) for label in results.study.labels]
    for one in sorted(fronts, key=lambda one: -len(one.standing[1])):
        yield one.label, " · ".join(standing_in_words(one))
