"""Sources of the rows and labels of linear models: data sets, or synthetic data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_integer, check_real
from pfbench.base.parameters import parameter
from pfbench.problems.data.loading import load_classification


@dataclass(frozen=True, kw_only=True)
class SyntheticRows:
    """Isotropic rows on the unit sphere, and labels of a linear model."""

    seed: int = parameter(0, "seed of the problem's data")
    rows: int = parameter(2000, "number of rows (n)")
    columns: int = parameter(20, "length of a row (d)")
    noise: float = parameter(0.1, "standard deviation of the noise added to a label")

    def draw(self, name: str = "synthetic") -> tuple[Any, Floats]:
        """Return features (n, d) and labels (n,): <a_i, w> plus noise, w standard normal.

        Raises
        ------
        InputError
            If a size or the noise is out of range.
        """
        rng = np.random.default_rng(
            np.random.SeedSequence(check_integer("seed", self.seed, minimum=0))
        )
        n, d = (
            check_integer("rows", self.rows, minimum=1),
            check_integer("columns", self.columns, minimum=1),
        )
        features = rng.standard_normal((n, d))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        labels: Any = features @ rng.standard_normal(d)
        labels += check_real("noise", self.noise, minimum=0.0) * rng.standard_normal(n)
        return features, labels


@dataclass(frozen=True, kw_only=True)
class BinaryData:
    """Data set with two classes, unscaled."""

    def draw(self, name: str) -> tuple[Any, Floats]:
        """Return features, sparse (n, d), and labels +1 and -1 (n,).

        Raises
        ------
        DataError
            If the data are missing or damaged.
        """
        data = load_classification(name)
        return data.features, data.labels


def draw_synthetic_rows(signs: bool = False, **overrides: Any) -> tuple[Floats, Floats]:
    """Draw the data of `SyntheticRows`; with `signs`, labels become signs, +1 for 0."""
    features, labels = SyntheticRows(**overrides).draw()
    return features, label_signs_zero_positive(labels) if signs else labels


def label_signs_zero_positive(labels: Floats) -> Floats:
    """Return 1 where a label is at least 0, else -1."""
    return np.where(labels >= 0.0, 1.0, -1.0)
