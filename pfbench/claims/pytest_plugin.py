"""A pytest plugin: a test file says of its own algorithm what pfbench says of the published ones.

Installed with pfbench. In a test::

    @pytest.mark.claims
    def test_my_spider(holds):
        holds("shen2019-mse-spiderg", MySpider)

pytest itself imports this module at each start, so everything else is imported on first use.
"""

from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from pfbench.verification.verdict import Verdict


class Holds(Protocol):
    """What the fixture `holds` gives."""

    def __call__(
        self, claim: str, algorithm: Any = None, *, effort: str = "quick", seed: int = 0
    ) -> "Verdict":
        """Put a claim to the test; fail unless it holds.

        Parameters
        ----------
        claim
            Its name; ``pfbench list claims`` shows all.
        algorithm
            A class or an object to test in place of the claim's own algorithm.
        effort
            "quick" or "full".
        seed
            Seed of every random stream.

        Returns
        -------
        Verdict
            The verdict with its evidence.
        """


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "claims: puts a claim about an algorithm to the test")


@pytest.fixture
def holds() -> Holds:
    """Put a claim to the test; the test fails unless it holds, and says why."""

    def look(
        claim: str, algorithm: Any = None, *, effort: str = "quick", seed: int = 0
    ) -> "Verdict":
        from pfbench.claims import catalogue
        from pfbench.verification.session import judge
        from pfbench.verification.subject import Subject

        found = judge(catalogue.claim(claim), Subject(algorithm=algorithm), effort, seed)
        if not found.verdict.is_kept:
            pytest.fail(f"{found}: {found.reason}", pytrace=False)
        return found

    return look
