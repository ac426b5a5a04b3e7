"""Estimators of scikit-learn with `partial_fit` as algorithms.

Their compiled loops read the data directly, so no oracle sees their computations. A call of
`partial_fit` computes one gradient for each row. pfbench queries the same gradients from the
oracles, which count them and check the budget, and discards the answers. The method `fit` is not
used: it reports only the number of passes, in `n_iter_`. A pass takes n gradients in SAG and SAGA,
and an unknown number in other solvers.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, Tell
from pfbench.adapters.flat_oracles import FlatOracles
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, parameter


@dataclass(frozen=True, kw_only=True)
class PartialFit(BlackBox):
    """Estimator of scikit-learn that is fitted to a few random rows at a time.

    Parameters
    ----------
    estimator
        Function that returns a new estimator for each run. The estimator needs
        ``fit_intercept=False`` and ``shuffle=False``, so that its coefficients are the point, and
        the loss and penalty of f.
    features, labels
        The data of the problem: row i is that of f_i.
    iterations
        T.
    batch
        S, the number of rows in each call of `partial_fit`, which makes one step for each row.
    """

    name = "partial-fit"
    summary = "a scikit-learn estimator by partial_fit, a black box"
    source = "Pedregosa et al. 2011, scikit-learn"
    counts = "T iterations: SFO ST"
    libraries = ("scikit-learn",)
    requires = frozenset({"batch", "smooth"})

    estimator: Callable[[], Any] = parameter(MISSING, "makes the estimator", repr=False)
    features: Any = parameter(MISSING, "its features", repr=False)
    labels: Any = parameter(MISSING, "its labels", repr=False)
    iterations: int = integer(MISSING, "T")
    batch: int = integer(1, "S")

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> None:
        """Run the estimator from 0."""
        if not callable(self.estimator):
            raise InputError("estimator must be a function that returns a new estimator.")
        model = self.estimator()
        if not hasattr(model, "partial_fit"):
            raise InputError(
                f"{type(model).__name__} has no partial_fit: give an estimator that has it, such "
                "as SGDClassifier."
            )
        if getattr(model, "fit_intercept", False):
            raise InputError("the point has no entry for an intercept: set fit_intercept=False.")
        if oracles.start.any():
            raise InputError("partial_fit starts at 0: choose a problem whose start is 0.")
        sparse = hasattr(self.features, "tocsr")
        features = self.features.tocsr() if sparse else np.asarray(self.features)
        labels = np.asarray(self.labels)
        classes = (
            {"classes": np.unique(labels)}
            if hasattr(model, "predict_proba") or hasattr(model, "decision_function")
            else {}
        )
        z = oracles.start
        for _ in range(self.iterations):
            S = rng.integers(oracles.n, size=self.batch)
            oracles.batch(S, z)
            model.partial_fit(features[S], labels[S], **classes)
            z = np.ravel(model.coef_)
            tell(z)
