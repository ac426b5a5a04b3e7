"""Sources of the rows of multiclass and multitask problems: data sets, or synthetic data."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.parameters import CheckedParameters, integer, nonnegative
from pfbench.problems.data.loading import load_multiclass

_ROWS = 2048
"""Number of rows to which noise is added at once."""


class LabelledRows(NamedTuple):
    """Data rows with class labels, and the number of classes.

    `features` has shape (n, d); `labels` has shape (n,), with values from 0 to classes - 1.
    """

    features: Floats
    labels: Integers
    classes: int


class TaskRows(NamedTuple):
    """Data rows of several binary classification tasks, with the label and the task of each row.

    `features` has shape (n, d). `labels` (0 or 1) and `tasks`, the task of each row, have shape
    (n,). `offsets`, shape (m,), has the constant b_t that each of the m tasks adds to <a_i, x_t>.
    """

    features: Floats
    labels: Integers
    tasks: Integers
    offsets: Floats


@dataclass(frozen=True, kw_only=True)
class ScaledClasses:
    """Data set with several classes; every feature is scaled to [-1, 1]."""

    def draw(self, data_set: str) -> LabelledRows:
        """Return the rows of the named data set with their classes; constant features become 0.

        Raises
        ------
        DataError
            If the data are missing or damaged.
        """
        data = load_multiclass(data_set)
        features = data.features.toarray()
        low, high = features.min(axis=0), features.max(axis=0)
        # Halves first: the width of a feature may overflow.
        middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
        features -= middle
        features /= np.where(half > 0.0, half, 1.0)
        # Rounding must not leave the interval.
        np.clip(features, -1.0, 1.0, out=features)
        features.flags.writeable = False
        return LabelledRows(features, data.labels.astype(np.int64), data.classes)


@dataclass(frozen=True, kw_only=True)
class SyntheticClasses(CheckedParameters):
    """Isotropic rows on the unit sphere, with classes drawn from a low-rank softmax model.

    The class of a row a is drawn with the probabilities softmax(W'a), where W = 5 U V'. U and V
    are standard normal, of shapes (columns, rank) and (classes, rank).
    """

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    rows: int = integer(2000, "number of rows (n)")
    columns: int = integer(20, "length of a row (d)")
    classes: int = integer(5, "number of classes", minimum=2)
    rank: int = integer(2, "rank of the underlying matrix")

    def draw(self, name: str = "synthetic") -> LabelledRows:
        """Draw the rows and their classes."""
        rng = np.random.default_rng(self.seed)
        n, d, C, r = self.rows, self.columns, self.classes, self.rank
        features = rng.standard_normal((n, d))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        scores = 5.0 * (features @ rng.standard_normal((d, r))) @ rng.standard_normal((C, r)).T
        # The largest of scores with Gumbel noise has the law softmax(scores).
        labels = (scores + rng.gumbel(size=(n, C))).argmax(axis=1)
        features.flags.writeable = False
        return LabelledRows(features, labels, C)


@dataclass(frozen=True, kw_only=True)
class SyntheticTasks(CheckedParameters):
    """Synthetic multitask classification data of low rank, as in qu2018 section 6.1.2.

    The m, K, n and d of the paper are `kinds`, `copies`, `rows` and `columns`. Task (i, k) has rows
    a from N(0, U_i (D_i + D_ik) U_i'). U_i is standard normal; the diagonal of D_i is uniform in
    (1, 2), and that of D_ik in (0, 0.1). The label of a row is 1 with probability 1/(1 + exp(<a,
    theta_i> + b_i)). The entries of theta_i and b_i are -1 or 1 with equal probability.
    """

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    rows: int = integer(100, "rows of each task")
    columns: int = integer(30, "length of a row (d)")
    kinds: int = integer(6, "number of kinds of tasks (m)")
    copies: int = integer(5, "tasks of each kind (K)")

    def draw(self, name: str = "synthetic") -> TaskRows:
        """Draw the rows, labels and offsets of all tasks."""
        rng = np.random.default_rng(self.seed)
        n, d, m, K = self.rows, self.columns, self.kinds, self.copies
        features = np.empty((m, K, n, d))
        labels = np.empty((m, K, n), dtype=np.int64)
        offsets = np.empty((m, K))
        for i in range(m):
            U, D = rng.standard_normal((d, d)), rng.uniform(1.0, 2.0, size=d)
            theta, b = rng.choice((-1.0, 1.0), size=d), rng.choice((-1.0, 1.0))
            offsets[i] = b
            for k in range(K):
                root = np.sqrt(D + rng.uniform(0.0, 0.1, size=d))[:, None] * U.T
                np.matmul(rng.standard_normal((n, d)), root, out=features[i, k])
                # y = 1 with probability 1/(1 + exp(z)): a logistic variable lies above z.
                labels[i, k] = rng.logistic(size=n) > features[i, k] @ theta + b
        features.flags.writeable = False
        tasks = np.repeat(np.arange(m * K), n)
        return TaskRows(features.reshape(-1, d), labels.ravel(), tasks, offsets.ravel())


@dataclass(frozen=True, kw_only=True)
class ClassTasks(CheckedParameters):
    """Noisy binary tasks made of a data set with several classes, as in qu2018 section 6.2.

    For each class, the data consist of all rows of the class, with label 1, and as many rows of
    other classes, with label 0. The latter are drawn uniformly without replacement; all of them
    are used if there are fewer. Each task is one of `copies` noisy versions of these data. Every
    feature is scaled to [-1, 1] and gets normal noise of standard deviation `noise`. The offset of
    each task is 0. The paper states neither the distribution nor the size of its "small noise".
    """

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    copies: int = integer(5, "noisy versions of each class (K)")
    noise: float = nonnegative(0.05, "standard deviation of the noise of a feature")
    rows: int | None = integer(None, "maximum rows of each class, drawn uniformly", words="all")

    def draw(self, data_set: str) -> TaskRows:
        """Return the noisy rows, labels and offsets of all tasks, from the named data set.

        Raises
        ------
        DataError
            If the data are missing or damaged.
        """
        rng = np.random.default_rng(self.seed)
        features, labels, classes = ScaledClasses().draw(data_set)
        chosen = []
        for c in range(classes):
            own, indices = np.flatnonzero(labels == c), np.flatnonzero(labels != c)
            if self.rows is not None and own.size > self.rows:
                own = np.sort(rng.choice(own, size=self.rows, replace=False))
            choice = rng.choice(indices, size=min(own.size, indices.size), replace=False)
            chosen.append((own, np.sort(choice)))
        sizes = [own.size + sample.size for own, sample in chosen for _ in range(self.copies)]
        noisy = np.empty((sum(sizes), features.shape[1]))
        targets = np.empty(len(noisy), dtype=np.int64)
        first = 0
        for own, choice in chosen:
            both = np.concatenate([own, choice])
            for _ in range(self.copies):
                part = slice(first, first + len(both))
                _write_noisy_rows(rng, self.noise, features, both, noisy[part])
                targets[part] = np.arange(len(both)) < own.size
                first = part.stop
        noisy.flags.writeable = False
        return TaskRows(
            noisy, targets, np.repeat(np.arange(len(sizes)), sizes), np.zeros(len(sizes))
        )


def _write_noisy_rows(
    rng: np.random.Generator, scale: float, features: Floats, rows: Integers, out: Floats
) -> None:
    """Write the selected rows of `features` plus normal noise to `out`, in small batches."""
    for first in range(0, len(rows), _ROWS):
        part = slice(first, first + _ROWS)
        rng.standard_normal(out=out[part])
        out[part] *= scale
        out[part] += features[rows[part]]
