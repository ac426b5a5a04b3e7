"""Columns of ratings that are not used may hold anything; indices of LIBSVM are of digits."""

import io
import lzma

import numpy as np
import pytest

from pfbench.problems.data import ratings, svmlight
from pfbench.problems.data.block_reader import ContentError, open_unpacked

ROWS = 100
TEXTS = [
    "NA",
    "N/A",
    "null",
    "n/a",
    "nan",
    "",
    "Amélie".encode("latin-1"),
    b"\xff\xfe",
    '"',
    "1e999",
]


def cell(text):
    return text if isinstance(text, bytes) else text.encode()


@pytest.mark.parametrize("text", TEXTS, ids=repr)
@pytest.mark.parametrize(
    ("separator", "header", "order"),
    [
        (b",", b"userId,movieId,rating,title\n", "uirx"),
        (b",", b"title,userId,movieId,rating\n", "xuir"),
        (b",", b"userId,title,movieId,rating\n", "uxir"),
        (b"::", b"", "uirx"),
        (b"\t", b"", "uirx"),
    ],
)
def test_a_column_that_is_not_used_may_hold_anything(text, separator, header, order):
    rows = [
        {"u": b"%d" % k, "i": b"7", "r": b"3.5", "x": cell(text) if k % 2 else b"a"}
        for k in range(ROWS)
    ]
    content = header + b"".join(separator.join(row[c] for c in order) + b"\n" for row in rows)
    triples = ratings.parse_ratings(io.BytesIO(content))
    assert np.array_equal(triples.users, range(ROWS))
    assert set(triples.items) == {7}
    assert set(triples.values) == {3.5}


def test_a_tab_in_an_unused_column():
    triples = ratings.parse_ratings(io.BytesIO(b"1::2::3::a\tb\n4::5::1::c\n"))
    assert triples.users.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"userId,movieId,rating,title\n1,2,3,a\n1,3,3\n", "line 3 .* 3 columns instead of 4"),
        (b"userId,movieId,rating,title\n1,2,3,a,b\n", "line 2 .* 5 columns instead of 4"),
        (b"userId,movieId,rating,title\n1,2,NA,a\n", "line 2 .* rating 'NA'"),
        (b"userId,movieId,rating,title\nNA,2,3,a\n", "line 2 .* 'NA' as user"),
        (b"1::2\t3::4::a\n", "line 1"),
    ],
)
def test_a_column_that_is_used_is_checked(content, says):
    with pytest.raises(ContentError, match=says):
        ratings.parse_ratings(io.BytesIO(content))


@pytest.mark.parametrize("index", ["1.0", "1e1", "1e0", "+1", "0x1", "1_0", ".1e1"])
def test_an_index_is_of_digits_alone(index):
    with pytest.raises(ContentError, match="where index:value is expected"):
        svmlight.parse_svmlight(io.BytesIO(f"1 1:2 3:4\n-1 {index}:2\n".encode()), 20)


def test_an_index_of_digits_is_read_with_any_value():
    found = svmlight.parse_svmlight(io.BytesIO(b"1 001:1e-3 20:-.5 # 1e1:2\n+1 2:+3\n"), 20)
    assert found.indices.tolist() == [0, 19, 1]
    assert found.data.tolist() == [1e-3, -0.5, 3.0]


def test_xz_is_unpacked(tmp_path):
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(b"1 1:2\n"))
    with open_unpacked(path, path.name, ()) as stream:
        assert stream.read() == b"1 1:2\n"
    path.write_bytes(lzma.compress(b"1 1:2\n" * 100)[:-30])
    with pytest.raises(ContentError, match="damaged"), open_unpacked(path, path.name, ()) as stream:
        stream.read()
