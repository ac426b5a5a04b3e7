"""The catalogue and the cache folder."""

from pathlib import Path

import pytest

from pfbench.base.errors import DataError, InputError
from pfbench.problems.data.cache import cache_folder, file_paths, find_file
from pfbench.problems.data.catalogue import DATA_SETS, EDITIONS, data_set


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
        for path in file_paths(record, Path("cache"))
    ]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["w8a-test", "aloi"])
def test_sets_without_a_recorded_sum(name):
    record = data_set(name)
    assert record.sha256_arrays is None
    assert record.file.sha256_raw is None
    assert record.file.sha256_archive is None


def test_movielens_is_its_smallest_edition():
    assert data_set("movielens").name == "movielens-latest-small"
    assert list(EDITIONS) == ["latest-small", "100k", "1m", "10m", "25m"]


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'covertype'"):
        data_set("covtype")


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
    assert find_file(record, tmp_path) is None
    path = tmp_path / "covtype" / name
    path.parent.mkdir()
    path.touch()
    assert find_file(record, tmp_path) == path
