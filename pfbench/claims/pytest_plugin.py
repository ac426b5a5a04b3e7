"""A pytest plugin: user tests check their algorithms as pfbench checks the published ones.

The plugin is installed with pfbench. In a test::

    @pytest.mark.claims
    def test_my_spider(holds):
        holds("shen2019-mse-spiderg", MySpider)


    def test_counts(oracles):
        ask = oracles("quadratic[rows=40,columns=8]")
        my_frank_wolfe(ask.gradient, ask.lo, ask.start)

pytest itself imports this module at each start, so everything else is imported on first use.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pfbench.testing.snapshots import CountedOracles, OracleCallSnapshot
    from pfbench.verification.verdict import Verdict


_SNAPSHOTS = pytest.StashKey[dict[str, "OracleCallSnapshot"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--update-counts` and the setting for the path of the counts file."""
    group = parser.getgroup("pfbench")
    group.addoption("--update-counts", action="store_true", help="write the tests' oracle counts")
    parser.addini("pfbench_counts", "file of the oracle counts", default="pfbench-counts.txt")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `claims`; reject `--update-counts` with several workers."""
    config.addinivalue_line("markers", "claims: tests a claim about an algorithm")
    if config.getoption("--update-counts") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--update-counts writes one file: run pytest in one process (-n0).")


@pytest.fixture
def holds() -> Callable[..., "Verdict"]:
    """Fixture: return a function that tests a claim and fails the user's test unless it holds.

    ``holds(claim, algorithm=None, *, effort="quick", seed=0)`` returns the verdict with its
    evidence. `algorithm` is a class or an object to test in place of the claim's own algorithm.
    """

    def look(
        claim: str, algorithm: Any = None, *, effort: str = "quick", seed: int = 0
    ) -> "Verdict":
        from pfbench.claims import catalogue
        from pfbench.verification.session import judge
        from pfbench.verification.subject import Subject

        verdict = judge(catalogue.claim(claim), Subject(algorithm=algorithm), effort, seed)
        if not verdict.verdict.keeps_bound:
            pytest.fail(f"{verdict}: {verdict.reason}", pytrace=False)
        return verdict

    return look


@pytest.fixture
def oracles(request: pytest.FixtureRequest) -> Callable[..., "CountedOracles"]:
    """Fixture: return a function that makes oracles whose counts are checked after the test.

    ``oracles(problem, *, seed=0, tolerance=0.0)`` returns an object with the oracles `gradient`,
    `lo`, `batch` and so on, and the attributes `start`, `rng`, `n` and `D`. `problem` is a name, as
    in "quadratic[rows=40,columns=8]", or an object. Counts are equal up to the relative difference
    `tolerance`.
    """
    snapshots = request.node.stash.setdefault(_SNAPSHOTS, {})

    def count(problem: Any, *, seed: int = 0, tolerance: float = 0.0) -> "CountedOracles":
        from pfbench.testing.snapshots import OracleCallSnapshot

        snapshot = OracleCallSnapshot(problem, seed, tolerance)
        times = sum(name.startswith(snapshot.name) for name in snapshots)
        snapshots[f"{snapshot.name} use={times + 1}" if times else snapshot.name] = snapshot
        return snapshot.oracles

    return count


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """After a passed test, compare its counts with the counts file, or write them to the file."""
    yield
    snapshots = item.stash.get(_SNAPSHOTS, None)
    if snapshots is None:
        return
    from pfbench.testing.snapshots import CountsFile

    config = item.config
    file = CountsFile(config.rootpath / config.getini("pfbench_counts"))
    if config.getoption("--update-counts"):
        file.update(item.nodeid, snapshots)
    elif lines := file.differences(item.nodeid, snapshots):
        pytest.fail("\n".join([*lines, "accept with --update-counts"]), pytrace=False)
