"""Matrix recovery of somebody's own ratings."""

import pytest

import pfbench as pf
from pfbench.base.errors import InputError


@pytest.fixture
def ratings(tmp_path):
    """Return what writes lines as a ratings file and makes the problem of it."""

    def recovery(*lines):
        path = tmp_path / "u.data"
        path.write_text("".join(f"{line}\n" for line in lines))
        return pf.problem("robust-matrix-recovery", source="movielens", edition=str(path))

    return recovery


def test_a_file_of_ones_own_is_read(ratings):
    problem = ratings("1\t1\t5\t0", "1\t2\t3\t0", "2\t1\t1\t0")
    assert problem.n + problem.observations.heldout_values.size == 3


def test_ratings_that_are_all_equal_are_refused_as_such(ratings):
    with pytest.raises(InputError, match="all ratings of the source movielens are equal"):
        ratings("1\t1\t5\t0", "1\t2\t5\t0", "2\t1\t5\t0")


def test_a_line_with_too_few_columns_is_refused(ratings):
    with pytest.raises(pf.PfbenchError, match="the first line lacks user, item or rating"):
        ratings("1\t2")
