"""The parsers, on small texts."""

import bz2
import gzip
import io
import math
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from pfbench.problems.data import number_tables, ratings, svmlight
from pfbench.problems.data.block_reader import ContentError, iterate_line_blocks, open_unpacked


def read_rows(text, features=9):
    return svmlight.parse_svmlight(io.BytesIO(text), features)


def read_table(text, features=2, separator=b","):
    return number_tables.parse_table(io.BytesIO(text), features, separator)


def read_ratings(text):
    return ratings.parse_ratings(io.BytesIO(text))


class Sum:
    def __init__(self):
        self.data = b""

    def update(self, data):
        self.data += data


# --- blocks


@given(text=st.binary(max_size=60).map(lambda b: b.replace(b"\r", b"\n")), size=st.integers(8, 70))
def test_blocks_are_the_whole_stream_in_whole_lines(text, size):
    digest = Sum()
    line = 1
    joined = b""
    for first, block in iterate_line_blocks(io.BytesIO(text), digest, size):
        assert first == line
        assert block.endswith(b"\n")
        line += block.count(b"\n")
        joined += block
    assert digest.data == text
    assert joined == text + (b"\n" if text and not text.endswith(b"\n") else b"")


def test_a_file_that_is_one_endless_line_is_refused():
    with pytest.raises(ContentError, match="line 1 has no end"):
        list(iterate_line_blocks(io.BytesIO(b"x" * 1000), None, 10))


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
    with open_unpacked(path, path.name, members) as stream:
        return stream.read()


@pytest.mark.parametrize("name", ["a", "a.bz2", "a.gz", "a.zip"])
def test_each_packed_form_is_read(tmp_path, name):
    assert read_all(pack(tmp_path, name, b"some text")) == b"some text"


def test_a_packed_file_inside_a_zip_is_read(tmp_path):
    path = pack(tmp_path, "a.zip", b"some text", member="inner.txt.gz")
    assert read_all(path) == b"some text"


@pytest.mark.parametrize("name", ["a.bz2", "a.gz", "a.zip"])
def test_a_truncated_or_wrong_packed_file_is_refused(tmp_path, name):
    text = np.random.default_rng(0).bytes(5000)
    path = pack(tmp_path, name, text)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ContentError, match="it is damaged or truncated"):
        read_all(path)
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(ContentError, match="it is damaged or truncated"):
        read_all(path)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    with pytest.raises(ContentError, match="it is damaged or truncated"):
        read_all(path)


def test_a_zip_without_the_member_is_refused(tmp_path):
    with pytest.raises(ContentError, match=r"the archive holds no x\.csv or y\.csv"):
        read_all(pack(tmp_path, "a.zip", b""), ("x.csv", "y.csv"))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ContentError, match="it cannot be read"):
        read_all(tmp_path / "none")


# --- svmlight


def test_svmlight_rows_are_read():
    rows = read_rows(b"+1 1:1 3:-2.5e-3 \n-1\n\n# all of it\n2 9:7 2:1 # why\r\n0 4:0")
    assert rows.indptr.tolist() == [0, 2, 2, 4, 5]
    assert rows.indices.tolist() == [0, 2, 1, 8, 3]
    assert rows.data.tolist() == [1.0, -2.5e-3, 1.0, 7.0, 0.0]
    assert rows.labels.tolist() == [1.0, -1.0, 2.0, 0.0]
    assert rows.indices.dtype == np.int32
    assert rows.indptr.dtype == np.int64


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1 2 3:4", "has '2' where index:value is expected"),
        (b"1 2: 3:4", "has '2:' where"),
        (b"1 :2", "has ':2' where"),
        (b"1 2 :4", "has '2' where"),
        (b"1 2:3:4 5", "has '2:3:4' where"),
        (b"1 2:3:4", "has '2:3:4' where"),
        (b"1:2 3:4", "does not begin with a finite number"),
        (b"x 1:2", "does not begin with a finite number"),
        (b"nan 1:2", "does not begin with a finite number"),
        (b"1 1:inf", "has '1:inf' where"),
        (b"1 qid:3 1:2", "has 'qid:3' where"),
        (b"1 0:2", r"has the index 0 outside 1\.\.9"),
        (b"1 10:2", r"has the index 10 outside 1\.\.9"),
        (b"1 1.5:2", "has '1.5:2' where"),
        (b"1 3:2 3:4", "has the index 3 twice"),
        (b"1 3:2 1:1 3:4", "has the index 3 twice"),
        (b"1 3:2,5", "has '3:2,5' where"),
        (b"1 3:2\x00", "where index:value is expected"),
        (b"1,3:2", "does not begin with a finite number"),
        (b"<html><body>not found</body></html>", "does not begin with a finite number"),
        (b"\xff\xfe\x00", "does not begin with a finite number"),
    ],
)
@pytest.mark.parametrize("before", [b"", b"1 1:1\n\n"])
def test_a_malformed_svmlight_line_is_named(line, reason, before):
    number = before.count(b"\n") + 1
    with pytest.raises(ContentError, match=f"^line {number} .*{reason}"):
        read_rows(before + line + b"\n1 1:1\n")


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# nothing\n"])
def test_an_svmlight_file_without_rows_is_refused(text):
    with pytest.raises(ContentError, match="it is empty"):
        read_rows(text)


finite = st.floats(allow_nan=False, allow_infinity=False)
sparse_row = st.tuples(st.sampled_from([-1, 1]), st.dictionaries(st.integers(1, 9), finite))


@given(rows=st.lists(sparse_row, min_size=1, max_size=8))
def test_svmlight_reads_what_was_written_as_scikit_learn_does(rows):
    text = "".join(
        " ".join([f"{label:+d}", *(f"{i}:{v!r}" for i, v in sorted(row.items()))]) + " \n"
        for label, row in rows
    ).encode()
    found = read_rows(text)
    features, labels = load_svmlight_file(io.BytesIO(text), n_features=9)
    assert found.labels.tolist() == labels.tolist()
    assert found.indptr.tolist() == features.indptr.tolist()
    assert found.indices.tolist() == features.indices.tolist()
    expected = [value for _, row in rows for _, value in sorted(row.items())]
    assert found.data.tolist() == expected


token = st.text(alphabet="123:. -+e#n\t", max_size=6)


@given(lines=st.lists(st.lists(token, max_size=4).map(" ".join), min_size=1, max_size=4))
def test_the_fast_and_the_exact_check_of_svmlight_agree(lines):
    texts = [line.encode() for line in lines]
    wrong = [
        i
        for i, line in enumerate(texts, 1)
        if svmlight._explain_malformed_line(line, 9) is not None
    ]
    held = any(svmlight._COMMENT.sub(b"", line).strip() for line in texts)
    if wrong:
        with pytest.raises(ContentError, match=f"^line {wrong[0]} "):
            read_rows(b"\n".join(texts))
    elif held:
        read_rows(b"\n".join(texts))


# --- tables


@pytest.mark.parametrize("separator", [b",", b" "])
def test_tables_are_read(separator):
    text = b"1,0,7\n0,0,2\n-3,4,7".replace(b",", separator)
    rows = read_table(text, separator=separator)
    assert rows.indptr.tolist() == [0, 1, 1, 3]
    assert rows.indices.tolist() == [0, 0, 1]
    assert rows.data.tolist() == [1.0, -3.0, 4.0]
    assert rows.labels.tolist() == [7.0, 2.0, 7.0]


@given(st.lists(st.tuples(finite, finite, st.integers(0, 9)), min_size=1, max_size=6))
def test_decimals_are_read_exactly(table):
    text = "".join(f"{a!r} {b!r} {c}\n" for a, b, c in table).encode()
    rows = read_table(text, separator=b" ")
    assert rows.data.tolist() == [v for row in table for v in row[:2] if v != 0.0]
    assert rows.labels.tolist() == [row[2] for row in table]


@pytest.mark.parametrize("separator", [b",", b" "])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1,2", "has 2 fields instead of 3"),
        (b"1,2,3,4", "has 4 fields instead of 3"),
        (b"", "has 1 fields instead of 3"),
        (b"1,x,3", "has 'x' where a number is expected"),
        (b"1,nan,3", "has 'nan' where a number is expected"),
        (b"1,2,inf", "has 'inf' where a number is expected"),
        (b"1,,3", "has '' where a number is expected"),
        (b'1,"2,3', "where a number is expected"),
    ],
)
def test_a_malformed_table_line_is_named(line, reason, separator):
    text = b"1,2,3\n" + line + b"\n1,2,3\n"
    with pytest.raises(ContentError, match=f"^line 2 .*{reason}"):
        read_table(text.replace(b",", separator), separator=separator)


def test_an_empty_table_is_refused():
    with pytest.raises(ContentError, match="it is empty"):
        read_table(b"")


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
def test_each_format_of_ratings_is_read_and_sorted(form):
    found = read_ratings(rated(form, b"2,1,3.5,9", b"1,7,5,8", b"1,3,0.5,7") + b"\n\n")
    assert found.users.tolist() == [1, 1, 2]
    assert found.items.tolist() == [3, 7, 1]
    assert found.values.tolist() == [0.5, 5.0, 3.5]
    assert found.users.dtype == found.items.dtype == np.int32
    assert found.values.dtype == np.float64


def test_the_columns_of_a_csv_are_found_by_name():
    found = read_ratings(b'\xef\xbb\xbf"rating",note,"movieId","userId"\r\n4,7,8,9\r\n')
    assert (found.users.tolist(), found.items.tolist(), found.values.tolist()) == ([9], [8], [4.0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"2,1", "has 2 columns instead of 4"),
        (b"2,1,3,4,5", "has 5 columns instead of 4"),
        (b"2,1,3", "has 3 columns instead of 4"),
        (b"2,1,nan,9", "has the rating 'nan'"),
        (b"2,1,,9", "has the rating ''"),
        (b"2,1,inf,9", "has the rating 'inf'"),
        (b"2,1,-inf,9", "has the rating '-inf'"),
        (b"2,1,0,9", r"has the rating '0' where a number from 0\.5 to 5\.0"),
        (b"2,1,5.5,9", r"has the rating '5\.5'"),
        (b"2,1,-3,9", "has the rating '-3'"),
        (b"2,1,good,9", "has the rating 'good'"),
        (b"x,1,3,9", "has 'x' as user number"),
        (b"2.5,1,3,9", r"has '2\.5' as user number"),
        (b"-2,1,3,9", "has '-2' as user number"),
        (b"nan,1,3,9", "has 'nan' as user number"),
        (b"2,99999999999,3,9", "has '99999999999' as item number"),
        (b"2,999999999999999999999999,3,9", "as item number"),
        (b"", "is empty"),
    ],
)
def test_a_malformed_rating_is_named_by_its_line(form, line, reason):
    number = 3 if form == "csv" else 2
    text = rated(form, b"1,1,3,9", line, b"3,1,3,9")
    with pytest.raises(ContentError, match=f"^line {number} .*{reason}"):
        read_ratings(text)


@pytest.mark.parametrize("form", FORMS)
def test_a_second_rating_of_a_pair_is_named_by_its_line(form):
    text = rated(form, b"2,1,3,9", b"1,1,3,9", b"2,1,4,9")
    number = 4 if form == "csv" else 3
    with pytest.raises(ContentError, match=f"^line {number} rates item 1 by user 2 a second time"):
        read_ratings(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "it holds no rating"),
        (b"userId,movieId,rating,timestamp\n", "it holds no rating"),
        (b"userId,movieId,timestamp\n1,1,1\n", "its header lacks the column rating"),
        (b"rating,x\n1,1\n", "its header lacks the column userId and movieId"),
        (b"1,2,3.5,4\n", "line 1 .* is neither a header"),
        (b"\n", "line 1 .* is neither a header"),
        (b"<html>\n", "line 1 .* is neither a header"),
        (b"1::2\n", "line 1 .* has 2 columns where user, item and rating"),
        (b"1\t2\n", "line 1 .* has 2 columns where user, item and rating"),
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
    found = read_ratings(rated(form, *lines))
    expected = [(u, i, v) for (u, i), v in sorted(pairs.items())]
    assert list(zip(*(c.tolist() for c in found), strict=True)) == expected
    assert all(math.isfinite(v) for v in found.values)


def test_lines_are_counted_across_blocks(monkeypatch):
    monkeypatch.setattr(
        ratings,
        "iterate_line_blocks",
        lambda stream, digest: iterate_line_blocks(stream, digest, 40),
    )
    good = [f"{u},1,3,9".encode() for u in range(1, 30)]
    assert read_ratings(rated("csv", *good)).users.tolist() == list(range(1, 30))
    with pytest.raises(ContentError, match=r"^line 31 .*has the rating '9'"):
        read_ratings(rated("csv", *good, b"30,1,9,9"))
    with pytest.raises(ContentError, match=r"^line 31 rates item 1 by user 4"):
        read_ratings(rated("csv", *good, b"4,1,2,9"))
