"""The real sets, where PFBENCH_DATA names a folder that has them; nothing is downloaded."""

import os
from pathlib import Path

import numpy as np
import pytest

from pfbench.problems.data.cache import find_file
from pfbench.problems.data.catalogue import DATA_SETS, data_set
from pfbench.problems.data.loading import load_classification, load_ratings


def loaded(name):
    if not os.environ.get("PFBENCH_DATA"):
        pytest.skip("PFBENCH_DATA is not set")
    folder = Path(os.environ["PFBENCH_DATA"])
    if find_file(data_set(name), folder) is None:
        pytest.skip(f"PFBENCH_DATA has no {name}")
    load = load_ratings if data_set(name).task == "ratings" else load_classification
    return load(data_set(name), folder=folder)


@pytest.mark.parametrize("name", [n for n, r in DATA_SETS.items() if r.task == "binary" and r.file])
def test_binary_sets(name):
    found = loaded(name)
    assert found.features.shape == data_set(name).shape
    assert (found.features.data == 1.0).all()
    assert np.unique(found.labels).tolist() == [-1.0, 1.0]
    assert found.verified == (data_set(name).sha256_arrays is not None)


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", ["sensorless", "covertype", "aloi"])
def test_multiclass_sets(name):
    found = loaded(name)
    record = data_set(name)
    assert found.features.shape == record.shape
    assert np.array_equal(np.unique(found.labels), np.arange(record.classes))
    assert found.verified == (name != "aloi")
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
        assert found.verified
