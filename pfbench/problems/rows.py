"""Where the rows and labels of linear models come from: data sets, or synthetic ones."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import integer, real

Floats = npt.NDArray[np.float64]


def synthetic_rows(
    signs: bool = False,
    *,
    seed: int = 0,
    rows: int = 2000,
    columns: int = 20,
    noise: float = 0.1,
) -> tuple[Floats, Floats]:
    """Draw isotropic rows on the unit sphere and labels of a linear model.

    Parameters
    ----------
    signs
        Return the signs of the labels; set by the problem, not by its user.
    seed
        Seed of the data.
    rows, columns
        n and d.
    noise
        Standard deviation of what is added to <a_i, w>, w standard normal.

    Returns
    -------
    features, labels
        Shapes (n, d) and (n,).

    Raises
    ------
    InputError
        If a size or the noise is out of range.
    """
    rng = np.random.default_rng(np.random.SeedSequence(integer("seed", seed, least=0)))
    n, d = integer("rows", rows, least=1), integer("columns", columns, least=1)
    features = rng.standard_normal((n, d))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels: Any = features @ rng.standard_normal(d)
    labels += real("noise", noise, least=0.0) * rng.standard_normal(n)
    return features, np.where(labels >= 0.0, 1.0, -1.0) if signs else labels
