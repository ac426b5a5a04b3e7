"""The catalogue of data sets, the cache folder, and sets from names to arrays."""

import bz2
import hashlib
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from problems.data.toy import TOY

from pfbench.base.errors import DataError, InputError
from pfbench.problems.data import catalogue
from pfbench.problems.data.cache import arrays_digest, cache_folder, file_paths, find_file
from pfbench.problems.data.catalogue import DATA_SETS, EDITIONS, DataFile, data_set
from pfbench.problems.data.loading import load_classification, load_digits_matrix, load_ratings
from pfbench.problems.data.management import load_and_check, status, statuses


def test_every_set_says_where_it_comes_from():
    for name, record in DATA_SETS.items():
        assert record.name == name
        assert record.summary
        assert record.home
        assert record.citation
        assert record.terms
        assert (record.file is None) == (record.format == "scikit-learn")
        assert record.rows > 0
        assert record.features > 0
        if record.counts:
            assert len(record.counts) == record.classes
            assert sum(record.counts) == record.rows
        if record.file is not None:
            assert record.file.url.startswith("https://")


def test_two_sets_never_share_a_file():
    found = [
        path
        for record in DATA_SETS.values()
        if record.file is not None
        for path in file_paths(record.file, Path("cache"))
    ]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["w8a-test", "aloi"])
def test_sets_without_a_recorded_sum(name):
    record = data_set(name)
    assert record.sha256_arrays is None
    assert record.file.sha256_archive is None


@pytest.fixture(autouse=True)
def _cache(request, monkeypatch):
    """Tests with a folder of their own find the data sets there."""
    if "tmp_path" in request.fixturenames:
        monkeypatch.setenv("PFBENCH_DATA", str(request.getfixturevalue("tmp_path")))


def test_movielens_is_its_smallest_edition():
    assert data_set("movielens").name == "movielens-latest-small"
    assert list(EDITIONS) == ["latest-small", "100k", "1m", "10m", "25m"]


def test_the_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        DATA_SETS["a9a"] = DATA_SETS["w8a"]


def test_the_variable_is_read_at_each_call(monkeypatch, tmp_path):
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path / "other"))
    assert cache_folder() == tmp_path / "other"
    monkeypatch.setenv("PFBENCH_DATA", "")
    assert cache_folder().name == "pfbench"


def test_a_file_as_cache_folder_is_refused(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("PFBENCH_DATA", str(file))
    with pytest.raises(DataError, match="is not a folder"):
        cache_folder()


@pytest.mark.parametrize(
    "name", ["covertype.zip", "covtype.data", "covtype.data.bz2", "covtype.data.gz"]
)
def test_each_form_of_a_file_is_found(tmp_path, name):
    record = data_set("covertype")
    assert find_file(record) is None
    path = tmp_path / "covtype" / name
    path.parent.mkdir()
    path.touch()
    assert find_file(record) == path


# --- from names to arrays -------------------------------------------------------------------------

TEXT = b"+1 1:1 3:2\n-1 2:0.5\n-1\n"
SUM = arrays_digest(
    np.array([0, 2, 3, 3]),
    np.array([0, 2, 1], dtype=np.int32),
    np.array([1.0, 2.0, 0.5]),
    np.array([1.0, -1.0, -1.0]),
)
TOY = replace(TOY, sha256_arrays=SUM)
UNVERIFIED = replace(TOY, sha256_arrays=None)
CSV = b"userId,movieId,rating,timestamp\n1,10,4.0,1\n1,20,3.5,2\n5,10,0.5,3\n"
FILMS = replace(
    TOY,
    name="films",
    format="ratings",
    task="ratings",
    rows=3,
    users=2,
    features=2,
    classes=0,
    counts=(),
    nonzeros=None,
    file=DataFile("http://localhost/films.zip", "films", "films.zip", "ratings.csv"),
    sha256_arrays=arrays_digest(
        np.array([1, 1, 5], np.int32), np.array([10, 20, 10], np.int32), np.array([4.0, 3.5, 0.5])
    ),
)


def put(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_set_is_loaded_from_the_cache(tmp_path):
    put(tmp_path, "toy/toy.bz2", bz2.compress(TEXT))
    found = load_classification(TOY)
    assert found.features.toarray().tolist() == [[1, 0, 2], [0, 0.5, 0], [0, 0, 0]]
    assert found.features.has_sorted_indices
    assert found.features.indices.dtype == np.int32
    assert found.features.dtype == found.labels.dtype == np.float64
    assert found.labels.tolist() == [1.0, -1.0, -1.0]
    assert (found.name, found.classes, found.digest) == ("toy", 2, SUM)


def test_a_set_that_is_absent_says_how_to_get_it(tmp_path):
    with pytest.raises(
        DataError, match=r"toy is not in the data folder .*`pfbench data fetch toy`"
    ):
        load_classification(TOY)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT[:-4], "number of rows is 2 instead of 3"),
        (TEXT[:-7], r"not LIBSVM text with 3 features"),
        (TEXT.replace(b"2:0.5", b"2:0.25"), "sha256 of arrays is .* instead of"),
        (TEXT.replace(b"2:0.5", b""), "number of nonzeros is 2 instead of 3"),
        (TEXT.replace(b"+1", b"-1"), "number of classes is 1 instead of 2"),
        (TEXT.replace(b"-1", b"+1", 1), r"rows in each class is \(1, 2\) instead of \(2, 1\)"),
        (TEXT.replace(b"+1", b"+2"), r"pair of labels is \[-1.0, 2.0\]"),
        (TEXT.replace(b"3:2", b"4:2"), r"not LIBSVM text with 3 features"),
        (b"", "the file is empty"),
    ],
)
def test_a_wrong_file_is_refused_by_name_with_the_remedy(tmp_path, text, reason):
    path = put(tmp_path, "toy/toy", text)
    with pytest.raises(DataError) as caught:
        load_classification(TOY)
    message = str(caught.value)
    assert message.startswith(f"{path} is not the data set toy: ")
    assert message.endswith("; move it away and run `pfbench data fetch toy`.")
    with pytest.raises(DataError, match=reason):
        load_classification(TOY)


def test_the_recorded_sum_of_the_archive_verifies_only_the_archive(tmp_path):
    file = replace(TOY.file, sha256_archive=hashlib.sha256(TEXT).hexdigest())
    record = replace(UNVERIFIED, file=file)
    put(tmp_path, "toy/toy.bz2", bz2.compress(TEXT))
    assert not load_and_check(record).verified
    assert not status(record).verified
    put(tmp_path, "toy/toy", TEXT)
    assert load_and_check(record).verified
    assert status(record).verified
    put(tmp_path, "toy/toy", TEXT.replace(b"2:0.5", b"2:0.25"))
    with pytest.raises(DataError, match="the sha256 is"):
        load_classification(record)


def test_classes_are_numbered_in_the_order_of_their_labels(tmp_path):
    text = b"1,0,7\n0,0,2\n3,4,7\n5,5,3\n"
    record = replace(
        UNVERIFIED,
        format="comma-table",
        task="multiclass",
        rows=4,
        features=2,
        classes=3,
        counts=(1, 1, 2),
        nonzeros=None,
    )
    put(tmp_path, "toy/toy", text)
    found = load_classification(record)
    assert found.labels.tolist() == [2.0, 0.0, 2.0, 1.0]
    assert found.features.toarray().tolist() == [[1, 0], [0, 0], [3, 4], [5, 5]]


def test_aloi_is_read_as_what_it_is_and_called_unverified(tmp_path):
    # A small file of the same format; nothing else is called aloi.
    small = replace(catalogue.data_set("aloi"), name="aloi-format", rows=4, features=128, classes=2)
    text = b"0 1:0.25 128:0.5 \n1 2:0.125 \n0 3:1 \n1 128:0.0625 \n"
    put(tmp_path, "aloi/aloi.bz2", bz2.compress(text))
    found = load_classification(small)
    assert found.features.shape == (4, 128)
    assert found.labels.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert not status(small).verified
    real = catalogue.data_set("aloi")
    with pytest.raises(DataError, match="number of rows is 4 instead of 108000"):
        load_classification(real)


@pytest.mark.parametrize("load", [load_classification, load_ratings])
def test_a_set_of_another_kind_is_refused(load, tmp_path):
    record = catalogue.data_set("digits")
    with pytest.raises(InputError, match="the data set digits is for the task 'matrix'"):
        load(record)


# --- ratings


def zipped(folder, name, members):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return path


def test_ratings_are_loaded_from_the_home_archive(tmp_path):
    zipped(tmp_path, "films/films.zip", {"ml/movies.csv": b"x", "ml/ratings.csv": CSV})
    found = load_ratings(FILMS)
    assert found.users.tolist() == [1, 1, 5]
    assert found.items.tolist() == [10, 20, 10]
    assert found.values.tolist() == [4.0, 3.5, 0.5]
    assert found.digest == arrays_digest(found.users, found.items, found.values)
    rows, columns, shape = found.positions()
    assert (rows.tolist(), columns.tolist(), shape) == ([0, 0, 1], [0, 1, 0], (2, 2))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": 4}, "number of ratings is 3 instead of 4"),
        ({"users": 3}, "number of users is 2 instead of 3"),
        ({"features": 3}, "number of items is 2 instead of 3"),
        ({"sha256_arrays": "0" * 64}, "sha256 of arrays is"),
    ],
)
def test_another_edition_is_refused(tmp_path, change, reason):
    put(tmp_path, "films/ratings.csv", CSV)
    with pytest.raises(DataError, match=f"is not the data set films: the {reason}"):
        load_ratings(replace(FILMS, **change))


def test_a_ratings_file_of_ones_own_is_loaded_from_its_path(tmp_path):
    found = load_ratings(put(tmp_path, "mine.csv", CSV))
    assert found.name == "mine.csv"
    assert found.values.tolist() == [4.0, 3.5, 0.5]
    packed = put(tmp_path, "u.data.bz2", bz2.compress(b"5\t10\t1\t3\n1\t10\t4\t1\n"))
    assert load_ratings(str(packed)).users.tolist() == [1, 5]
    archive = zipped(tmp_path, "ml.zip", {"ml-1m/ratings.dat": b"1::2::3::4\n"})
    assert load_ratings(archive).values.tolist() == [3.0]


def test_a_bad_file_of_ones_own_is_named(tmp_path):
    path = put(tmp_path, "mine.csv", CSV.replace(b"3.5", b"nan"))
    with pytest.raises(DataError) as caught:
        load_ratings(path)
    assert str(caught.value) == (
        f"{path} is not a usable ratings file: user 1 rates item 20 with nan, which is not a "
        "number from 0.5 to 5.0."
    )


def test_a_missing_path_and_an_unknown_edition_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist: give an edition"):
        load_ratings(tmp_path / "ratings.csv")
    with pytest.raises(InputError, match="does not exist: give an edition"):
        load_ratings("ratings.csv.gz")
    with pytest.raises(InputError, match="is a folder, not a ratings file"):
        load_ratings(tmp_path)
    with pytest.raises(InputError, match="unknown edition of MovieLens '2m': did you mean"):
        load_ratings("2m")


def test_an_edition_that_is_absent_is_named(tmp_path):
    with pytest.raises(DataError, match="movielens-1m is not in the data folder"):
        load_ratings("1m")


# --- sets that come with scikit-learn


def test_digits_are_the_images_of_scikit_learn():
    from sklearn.datasets import load_digits

    matrix = load_digits_matrix()
    assert matrix.shape == (1797, 64)
    assert matrix.dtype == np.float64
    assert np.array_equal(matrix, load_digits().data)


def test_breast_cancer_is_standardised():
    from sklearn.datasets import load_breast_cancer

    found = load_classification("breast-cancer")
    values = found.features.toarray()
    assert values.shape == (569, 30)
    assert np.abs(values.mean(axis=0)).max() < 1e-13
    assert np.abs(values.std(axis=0) - 1).max() < 1e-13
    raw = load_breast_cancer()
    assert np.array_equal(found.labels, 2.0 * raw.target - 1.0)
    expected = (raw.data - raw.data.mean(axis=0)) / raw.data.std(axis=0)
    assert np.allclose(values, expected, rtol=0, atol=1e-10)


def test_without_scikit_learn_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for load in (load_digits_matrix, lambda: load_classification("breast-cancer")):
        with pytest.raises(DataError, match=r'pip install "pfbench\[data\]"'):
            load()


def test_without_pooch_the_cache_needs_the_variable(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("PFBENCH_DATA", raising=False)
    with pytest.raises(DataError, match=r'pip install "pfbench\[data\]", or set PFBENCH_DATA'):
        load_classification("a9a")
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path))
    assert status("a9a").state == "absent"


# --- list and check


def test_status_tells_embedded_absent_and_cached(tmp_path):
    assert status("digits").state == "embedded"
    assert status(TOY).state == "absent"
    path = put(tmp_path, "toy/toy", TEXT)
    found = status(TOY)
    assert (found.state, found.path, found.size) == ("cached", path, len(TEXT))
    assert found.digest is None
    assert load_and_check(TOY).digest == SUM


def test_the_status_of_all_sets_needs_no_folder(tmp_path):
    found = {one.name: one for one in statuses()}
    assert list(found) == list(catalogue.DATA_SETS)
    assert {one.state for one in found.values()} == {"absent", "embedded"}
    assert [one.name for one in found.values() if not one.verified] == ["w8a-test", "aloi"]


def test_checking_the_embedded_sets():
    for name in ("digits", "breast-cancer"):
        found = load_and_check(name)
        assert found.verified
        assert found.digest == catalogue.data_set(name).sha256_arrays


# --- the real sets, where PFBENCH_DATA has them ---------------------------------------------------


def loaded(name):
    if not os.environ.get("PFBENCH_DATA"):
        pytest.skip("PFBENCH_DATA is not set")
    if find_file(data_set(name)) is None:
        pytest.skip(f"PFBENCH_DATA has no {name}")
    load = load_ratings if data_set(name).task == "ratings" else load_classification
    return load(data_set(name))


@pytest.mark.parametrize("name", [n for n, r in DATA_SETS.items() if r.task == "binary" and r.file])
def test_binary_sets(name):
    found = loaded(name)
    assert found.features.shape == data_set(name).shape
    assert (found.features.data == 1.0).all()
    assert np.unique(found.labels).tolist() == [-1.0, 1.0]
    assert found.digest == data_set(name).sha256_arrays or name == "w8a-test"


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", ["sensorless", "covertype", "aloi"])
def test_multiclass_sets(name):
    found = loaded(name)
    record = data_set(name)
    assert found.features.shape == record.shape
    assert np.array_equal(np.unique(found.labels), np.arange(record.classes))
    assert found.digest == record.sha256_arrays or name == "aloi"
    if name == "covertype":  # it begins as it does at home
        first = found.features[[0]].toarray()[0]
        assert first[:10].tolist() == [2596, 51, 3, 258, 0, 510, 221, 232, 148, 6279]
        assert found.labels[0] == 4.0


@pytest.mark.parametrize("name", [n for n, r in DATA_SETS.items() if r.task == "ratings"])
def test_movielens(name):
    found = loaded(name)
    rows, columns, shape = found.positions()
    assert shape == data_set(name).shape
    assert rows.size == columns.size == data_set(name).rows
    assert (found.values * 2 == np.round(found.values * 2)).all()
    if name == "movielens-latest-small":
        assert found.digest == data_set(name).sha256_arrays
