"""Every planted bug is caught by its check; the right version passes it in both types."""

import inspect

import pytest
from testing.planted import PLANTED, decay_in_the_type_of_the_weights, implementation

RIGHT = implementation({})
CHECKS = dict.fromkeys(check for _, check in PLANTED.values())


@pytest.mark.parametrize("bug", PLANTED)
def test_caught(bug):
    edits, check = PLANTED[bug]
    with pytest.raises(AssertionError, match="reproduce: ") as failure:
        check(implementation(edits), "float64")
    assert len(str(failure.value).splitlines()) <= 5


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("check", CHECKS)
def test_right(check, dtype):
    check(RIGHT, dtype)


def test_weights_in_bfloat16_lose_their_decay():
    optim = pytest.importorskip("torch").optim
    for dtype in ("float64", "float32"):
        decay_in_the_type_of_the_weights(optim, dtype)
    with pytest.raises(AssertionError, match="weight_decay is lost to rounding in bfloat16"):
        decay_in_the_type_of_the_weights(optim, "bfloat16")


def test_a_check_is_at_most_ten_lines():
    assert max(len(inspect.getsource(check).splitlines()) for check in CHECKS) <= 10
