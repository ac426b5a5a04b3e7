"""What all tests share: how hypothesis searches, and two problems small enough to enumerate."""

import pytest
from helpers import tiny_logistic, tiny_recovery
from hypothesis import settings

from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.matrix_recovery import RobustMatrixRecovery

# The same examples on every run and machine: a test either fails for everyone or for no one.
settings.register_profile("pfbench", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("pfbench")


@pytest.fixture(scope="session")
def recovery() -> RobustMatrixRecovery:
    """Matrix recovery on 11 entries of a 5 x 4 matrix; no test can change it."""
    return tiny_recovery()


@pytest.fixture(scope="session")
def logistic() -> NonconvexLogistic:
    """Logistic regression on 7 rows of 4 features over the l1 ball."""
    return tiny_logistic()
