"""Estimators refuse what cannot be a batch or a period, each in one sentence."""

import pytest

from pfbench.base.errors import InputError
from pfbench.estimators import CASPIDERG, CASVRG, SG, SPIDERG, SVRG

EPOCH = [SVRG, SPIDERG, CASVRG, CASPIDERG]


@pytest.mark.parametrize("batch", [0, -3, 1.5, "4", True, None, float("nan")])
@pytest.mark.parametrize("cls", [SG, *EPOCH], ids=lambda cls: cls.name)
def test_bad_batch_is_refused_by_name(cls, batch):
    arguments = (batch,) if cls is SG else (batch, 2)
    with pytest.raises(InputError, match=r"^batch=.*at least 1\.$"):
        cls(*arguments)


@pytest.mark.parametrize("period", [0, -1, 2.0, "p", False])
@pytest.mark.parametrize("cls", EPOCH, ids=lambda cls: cls.name)
def test_bad_period_is_refused_by_name(cls, period):
    with pytest.raises(InputError, match=r"^period=.*at least 1\.$"):
        cls(3, period)


@pytest.mark.parametrize("cls", [SG, *EPOCH], ids=lambda cls: cls.name)
def test_an_estimator_is_frozen_and_names_its_source(cls):
    estimator = cls(3) if cls is SG else cls(3, 2)
    with pytest.raises(AttributeError):
        estimator.batch = 4
    assert estimator.source.startswith("shen2019 GE")
