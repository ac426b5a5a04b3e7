"""The readers of each format, on small texts."""

import bz2
import gzip
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfbench.problems.data import file_formats
from pfbench.problems.data.file_formats import ContentError, open_unpacked


def read_rows(text, features=9):
    return file_formats.parse_svmlight(io.BytesIO(text), features)


def read_table(text, features=2, separator=","):
    return file_formats.parse_table(io.BytesIO(text), features, separator)


def read_ratings(text):
    return file_formats.parse_ratings(io.BufferedReader(io.BytesIO(text)))


# --- packed files


def pack(folder, name, text, member="inner.txt"):
    path = folder / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("folder/readme", "nothing")
            inner = gzip.compress(text) if member.endswith(".gz") else text
            archive.writestr(f"folder/{member}", inner)
    elif name.endswith(".bz2"):
        path.write_bytes(bz2.compress(text))
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(text))
    else:
        path.write_bytes(text)
    return path


def read_all(path, members=("inner.txt",)):
    with open_unpacked(path, members) as stream:
        return stream.read()


@pytest.mark.parametrize("name", [["a"], ["a.bz2"], ["a.gz"], ["a.zip"], ["a.zip", "inner.txt.gz"]])
def test_each_packed_form_is_read(tmp_path, name):
    path = pack(tmp_path, name[0], b"some text", *name[1:])
    assert read_all(path) == b"some text"


@pytest.mark.parametrize("name", ["a.bz2", "a.gz", "a.zip"])
def test_a_truncated_or_wrong_packed_file_is_refused(tmp_path, name):
    path = pack(tmp_path, name, np.random.default_rng(0).bytes(5000))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ContentError, match="the file is damaged or truncated"):
        read_all(path)
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(ContentError, match="the file is damaged or truncated"):
        read_all(path)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    with pytest.raises(ContentError, match="the file is damaged or truncated"):
        read_all(path)


def test_a_zip_without_the_member_is_refused(tmp_path):
    with pytest.raises(ContentError, match=r"the archive holds no x\.csv or y\.csv"):
        read_all(pack(tmp_path, "a.zip", b""), ("x.csv", "y.csv"))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ContentError, match="the file cannot be read"):
        read_all(tmp_path / "none")


# --- LIBSVM


def test_svmlight_rows_are_read():
    rows = read_rows(b"+1 1:1 3:-2.5e-3 \n-1\n\n# all of it\n2 2:1 9:7 # why\r\n0 4:0")
    assert rows.features.indptr.tolist() == [0, 2, 2, 4, 5]
    assert rows.features.indices.tolist() == [0, 2, 1, 8, 3]
    assert rows.features.data.tolist() == [1.0, -2.5e-3, 1.0, 7.0, 0.0]
    assert rows.labels.tolist() == [1.0, -1.0, 2.0, 0.0]
    assert [a.dtype for a in rows] == [np.float64, np.float64]


@pytest.mark.parametrize(
    "line",
    [
        *(b"1 2 3:4", b"1 2: 3:4", b"1 :2", b"1 2:3:4", b"1:2 3:4", b"x 1:2", b"nan 1:2"),
        *(b"1 1:inf", b"1 0:2", b"1 10:2", b"1 1.5:2", b"1 1e0:2", b"1 3:2 3:4", b"1 3:2,5"),
        *(b"1,3:2", b"<html><body>not here</body></html>", b"\xff\xfe\x00"),
    ],
)
def test_a_malformed_svmlight_line_is_refused(line):
    with pytest.raises(ContentError, match=r"not LIBSVM text with 9 features|row 2 holds a number"):
        read_rows(b"1 1:1\n" + line + b"\n1 1:1\n")


finite = st.floats(allow_nan=False, allow_infinity=False)
sparse_row = st.tuples(st.sampled_from([-1, 1]), st.dictionaries(st.integers(1, 9), finite))


@given(rows=st.lists(sparse_row, min_size=1, max_size=8))
def test_svmlight_reads_what_was_written(rows):
    text = "".join(
        " ".join([f"{label:+d}", *(f"{i}:{v!r}" for i, v in sorted(row.items()))]) + " \n"
        for label, row in rows
    ).encode()
    result = read_rows(text)
    entries = [(i - 1, v) for _, row in rows for i, v in sorted(row.items())]
    assert result.labels.tolist() == [label for label, _ in rows]
    matrix = result.features
    assert np.diff(matrix.indptr).tolist() == [len(row) for _, row in rows]
    assert list(zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True)) == entries


@pytest.mark.parametrize("read", [read_rows, read_table, read_ratings])
@pytest.mark.parametrize("text", [b"", b"\n\n"])
def test_an_empty_file_is_refused(read, text):
    with pytest.raises(ContentError, match=r"the file is empty|lacks the column"):
        read(text)


# --- tables


@pytest.mark.parametrize("separator", [",", " "])
def test_tables_are_read(separator):
    text = "1,0,7\n0,0,2\n-3,4,7".replace(",", separator).encode()
    rows = read_table(text, separator=separator)
    assert rows.features.indptr.tolist() == [0, 1, 1, 3]
    assert rows.features.indices.tolist() == [0, 0, 1]
    assert rows.features.data.tolist() == [1.0, -3.0, 4.0]
    assert rows.labels.tolist() == [7.0, 2.0, 7.0]
    assert [a.dtype for a in rows] == [np.float64, np.float64]


@given(
    st.lists(st.tuples(finite, finite, st.integers(0, 9)), min_size=1, max_size=6),
    st.sampled_from(", "),
)
def test_decimals_are_read_exactly(table, separator):
    text = "".join(separator.join([repr(a), repr(b), str(c)]) + "\n" for a, b, c in table)
    rows = read_table(text.encode(), separator=separator)
    assert rows.features.data.tolist() == [v for row in table for v in row[:2] if v != 0.0]
    assert rows.labels.tolist() == [row[2] for row in table]


@pytest.mark.parametrize("separator", [",", " "])
@pytest.mark.parametrize(
    "line", ["1,2", "1,2,3,4", "1,x,3", "1,nan,3", "1,2,inf", "1,,3", '1,"2,3', "1"]
)
def test_a_malformed_table_line_is_refused(line, separator):
    text = f"1,2,3\n{line}\n1,2,3\n".replace(",", separator)
    with pytest.raises(ContentError, match=r"not a table of numbers|row 2 holds|has . columns"):
        read_table(text.encode(), separator=separator)


def test_a_table_of_other_width_is_refused():
    with pytest.raises(ContentError, match="the file has 3 columns instead of 5"):
        read_table(b"1,2,3\n", 4)


# --- ratings

FORMS = {
    "csv": (b"userId,movieId,rating,timestamp\n", b","),
    "dat": (b"", b"::"),
    "u.data": (b"", b"\t"),
}


def rated(form, *lines):
    header, separator = FORMS[form]
    return header + b"".join(line.replace(b",", separator) + b"\n" for line in lines)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunk", [1, 2, 9])
def test_each_format_of_ratings_is_read_and_sorted(form, chunk, monkeypatch):
    monkeypatch.setattr(file_formats, "_LINES", chunk)
    result = read_ratings(rated(form, b"2,1,3.5,9", b"1,7,5,8", b"1,3,0.5,7") + b"\n\n")
    assert result.users.tolist() == [1, 1, 2]
    assert result.items.tolist() == [3, 7, 1]
    assert result.values.tolist() == [0.5, 5.0, 3.5]
    assert [a.dtype for a in result] == [np.int32, np.int32, np.float64]


def test_the_columns_of_a_csv_are_those_of_its_header():
    result = read_ratings(b'\xef\xbb\xbf"rating",note,"movieId","userId"\r\n4,7,8,9\r\n')
    assert [a.tolist() for a in result] == [[9], [8], [4.0]]


@pytest.mark.parametrize(
    "cell", ["NA", "null", "", "Amélie".encode("latin-1"), b"\xff", '"', "1e999"]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_is_not_used_may_hold_anything(cell, form):
    cell = cell if isinstance(cell, bytes) else cell.encode()
    result = read_ratings(rated(form, b"1,7,3.5,a", b"2,7,3.5," + cell, b"3,7,3.5,b"))
    assert [a.tolist() for a in result] == [[1, 2, 3], [7] * 3, [3.5] * 3]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "line",
    [
        *(b"2,1", b"2,1,3,4,5", b"2,1,nan,9", b"2,1,,9", b"2,1,inf,9", b"2,1,0,9", b"2,1,5.5,9"),
        *(b"2,1,-3,9", b"2,1,good,9", b"x,1,3,9", b"2.5,1,3,9", b"-2,1,3,9", b"nan,1,3,9"),
        *(b"2,99999999999,3,9", b"2,999999999999999999999999,3,9", b"1,1,4,9"),
    ],
)
def test_a_malformed_rating_is_refused(form, line):
    with pytest.raises(ContentError, match=r"not a(n integer in| table| number from)|rates item"):
        read_ratings(rated(form, b"1,1,3,9", line, b"3,1,3,9"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"userId,movieId,rating,timestamp\n", "the file is empty"),
        (b"userId,movieId,timestamp\n1,1,1\n", "the first line lacks the column rating"),
        (b"rating,x\n1,1\n", "lacks the column userId and movieId"),
        (b"1,2,3.5,4\n", "neither the header of a ratings.csv nor"),
        (b"<html>\n", "neither the header of a ratings.csv nor"),
        (b"1::2\n", "the first line lacks user, item or rating"),
        (b"1\t2\n", "the first line lacks user, item or rating"),
    ],
)
def test_a_file_that_is_no_ratings_file_is_refused(text, reason):
    with pytest.raises(ContentError, match=reason):
        read_ratings(text)


pairs = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 2**31 - 1)),
    st.integers(1, 10).map(lambda k: k / 2),
    min_size=1,
    max_size=10,
)


@given(pairs=pairs, form=st.sampled_from(sorted(FORMS)))
def test_ratings_read_what_was_written(pairs, form):
    lines = [f"{u},{i},{v},1".encode() for (u, i), v in pairs.items()]
    result = read_ratings(rated(form, *lines))
    expected = [(u, i, v) for (u, i), v in sorted(pairs.items())]
    assert list(zip(*(c.tolist() for c in result), strict=True)) == expected
