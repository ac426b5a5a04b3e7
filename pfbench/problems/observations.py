"""Observed entries of a matrix and their sources: synthetic, digits, MovieLens."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers, as_read_only
from pfbench.base.checks import check_real
from pfbench.base.errors import InputError
from pfbench.base.parameters import CheckedParameters, integer, nonnegative, parameter, positive
from pfbench.points import Pattern
from pfbench.points.atoms import Factors
from pfbench.problems.data.loading import load_digits_matrix, load_ratings

_MOST_POSITIONS = 1 << 62


@dataclass(frozen=True, eq=False)
class Observations:
    """Observed and held-out entries of a matrix, with their positions.

    Attributes
    ----------
    shape
        (M, N).
    rows, columns
        Observed positions, integers of shape (n,).
    values
        Observed entries Y, shape (n,).
    heldout_rows, heldout_columns, heldout_values
        Held-out entries, shape (h,), for the error of prediction; may be empty.
    truth
        The underlying matrix as factors, if known.
    centre
        Number subtracted from the original entries (the mean of the observed ones, or 0).
    """

    shape: tuple[int, int]
    rows: npt.NDArray[np.integer]
    columns: npt.NDArray[np.integer]
    values: Floats
    heldout_rows: npt.NDArray[np.integer] = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )
    heldout_columns: npt.NDArray[np.integer] = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )
    heldout_values: Floats = field(default_factory=lambda: np.zeros(0))
    truth: Factors | None = None
    centre: float = 0.0


@dataclass(frozen=True, eq=False)
class OrderedObservations:
    """Observed entries in row order, without held-out entries; each position is stored once.

    Attributes
    ----------
    pattern
        Observed positions.
    entries
        Observed entries in row order, shape (n,); the problem takes ownership of the array.
    truth
        The underlying matrix as factors, if known.
    rows, columns
        The observed positions, as int64, computed on access.
    values
        The observed entries, read-only.
    """

    pattern: Pattern
    entries: Floats
    truth: Factors | None = None

    heldout_rows: ClassVar[Integers] = np.zeros(0, dtype=np.int64)
    heldout_columns: ClassVar[Integers] = np.zeros(0, dtype=np.int64)
    heldout_values: ClassVar[Floats] = np.zeros(0)
    centre: ClassVar[float] = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (M, N) of the matrix."""
        return self.pattern.shape

    @property
    def rows(self) -> Integers:
        """Row indices of the observed entries, shape (n,)."""
        return self.pattern.row_numbers()

    @property
    def columns(self) -> Integers:
        """Column indices of the observed entries, shape (n,)."""
        return self.pattern.rows.indices.astype(np.int64)

    @property
    def values(self) -> Floats:
        """Observed entries, shape (n,), read-only."""
        return as_read_only(self.entries)


@dataclass(frozen=True, kw_only=True)
class SyntheticEntries(CheckedParameters):
    """Observed part of a random low-rank matrix, by default as in shen2019 section 6.

    The k-th of `rank` singular values is largest decay^(k-rank), and the singular vectors are
    uniform. A fraction `outliers` of all entries is perturbed by uniform noise in [-noise, noise].
    A fraction `density` of all entries, uniform without replacement, is observed.
    """

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    rows: int = integer(200, "rows of the matrix (M)")
    columns: int = integer(200, "columns of the matrix (N)")
    rank: int = integer(5, "rank of the underlying matrix")
    largest: float = positive(50.0, "largest singular value of the underlying matrix")
    decay: float = parameter(2.0, "factor from one of its singular values to the next larger one")
    noise: float = nonnegative(10.0, "the outliers get uniform noise in [-noise, noise]")
    outliers: float = nonnegative(0.05, "share of all entries that are changed by noise", upper=1.0)
    density: float = positive(0.1, "share of all entries that are observed", upper=1.0)

    def draw(self, name: str = "synthetic") -> OrderedObservations:
        """Draw the observed entries.

        Raises
        ------
        InputError
            If a size, share or noise is out of range, or no entry would be observed.
        """
        rank, noise, density = self.rank, self.noise, self.density
        rng = np.random.default_rng(self.seed)
        M, N = self.rows, self.columns
        if rank > min(M, N):
            raise InputError(f"rank={rank} must be at most {min(M, N)} for a {M} x {N} matrix.")
        if M * N > _MOST_POSITIONS:
            raise InputError(f"rows={M} times columns={N} must be at most 2^62 positions.")
        n = round(density * M * N)
        if n < 1:
            raise InputError(
                f"density={density} observes no entry of a {M} x {N} matrix: raise density."
            )
        left, right = (np.linalg.qr(rng.standard_normal((size, rank)))[0] for size in (M, N))
        decay = check_real("decay", self.decay, minimum=1.0)
        weights = self.largest * decay ** np.arange(1.0 - rank, 1.0)
        truth = Factors(weights, np.ascontiguousarray(left.T), np.ascontiguousarray(right.T))
        positions = rng.choice(M * N, size=n, replace=False, shuffle=False)
        positions.sort()
        pattern = Pattern.from_sorted(positions, (M, N))
        del positions
        values = _evaluate_entries(truth, pattern)
        # Of the changed entries, this many are observed (the same law as changing all M N first).
        changed = round(self.outliers * M * N)
        hit = _draw_hypergeometric(rng, changed, M * N - changed, n)
        values[rng.choice(n, size=hit, replace=False)] += rng.uniform(-noise, noise, size=hit)
        return OrderedObservations(pattern, values, truth)


def _evaluate_entries(factors: Factors, pattern: Pattern) -> Floats:
    """Return the entries of a factored matrix at the n positions of a pattern, shape (n,)."""
    weights, left, right = factors
    values = np.empty(pattern.n)
    for part in pattern.slices():
        rows = left[:, pattern.row_numbers(part)] * weights[:, None]
        values[part] = np.einsum("kj,kj->j", rows, right[:, pattern.rows.indices[part]])
    return values


def draw_synthetic_entries(**overrides: Any) -> OrderedObservations:
    """Draw the entries of `SyntheticEntries` with the given parameters."""
    return SyntheticEntries(**overrides).draw()


def _draw_hypergeometric(rng: np.random.Generator, good: int, bad: int, sample: int) -> int:
    """Draw the number of good items in a sample of `sample` items without replacement.

    NumPy's version is limited to 10^9 items.
    """
    if good + bad < 1_000_000_000:
        return int(rng.hypergeometric(good, bad, sample))
    # Exact up to a relative error of sample/population, by independent draws.
    return int(rng.binomial(sample, good / (good + bad)))


@dataclass(frozen=True, kw_only=True)
class DigitPixels(CheckedParameters):
    """Random part of the pixels of scikit-learn's 1797 digit images, as a 1797 x 64 matrix.

    Pixels are from 0 to 16; the mean of the observed pixels is subtracted. A further fraction
    `heldout` of all pixels is held out.
    """

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    density: float = positive(0.5, "share of all entries that are observed", upper=1.0)
    heldout: float = nonnegative(0.1, "share of the entries or ratings that is held out", upper=1.0)

    def draw(self, name: str = "digits") -> Observations:
        """Draw the observed and the held-out pixels.

        Raises
        ------
        InputError
            If a share is out of range, or both shares together exceed 1.
        DataError
            If scikit-learn is not installed.
        """
        density, heldout = self.density, self.heldout
        matrix = load_digits_matrix()
        M, N = matrix.shape
        if density + heldout > 1.0:
            raise InputError(f"density={density} + heldout={heldout} exceeds 1: lower one.")
        order = np.random.default_rng(self.seed).permutation(M * N)
        product, retained = round(density * M * N), round(heldout * M * N)
        i, j = np.divmod(order, N)
        return _centre_and_split((M, N), i, j, matrix.ravel()[order], product, retained)


@dataclass(frozen=True, kw_only=True)
class MovieRatings(CheckedParameters):
    """Ratings of movies by users as a matrix; a fraction `heldout` of the ratings is held out.

    `edition` is an edition of MovieLens (latest-small, 100k, 1m, 10m, 25m), or the path of a
    `ratings.csv`, `ratings.dat` or `u.data`. The mean of the observed ratings is subtracted.
    """

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    edition: str = parameter(
        "latest-small", "latest-small, 100k, 1m, 10m, 25m, or the path of a ratings file"
    )
    heldout: float = nonnegative(0.2, "share of the entries or ratings that is held out", upper=1.0)

    def draw(self, name: str = "movielens") -> Observations:
        """Load the ratings, and split them into observed and held-out ones.

        Raises
        ------
        InputError
            If the share is out of range or there is no such variant or file.
        DataError
            If the data are not in the cache, damaged or malformed.
        """
        heldout = self.heldout
        rng = np.random.default_rng(self.seed)
        ratings = load_ratings(self.edition)
        i, j, shape = ratings.positions()
        order = rng.permutation(ratings.values.size)
        product = round(heldout * order.size)
        if product == order.size:
            raise InputError(f"heldout={heldout} leaves no rating to learn from: lower it.")
        return _centre_and_split(
            shape, i[order], j[order], ratings.values[order], order.size - product, product
        )


def _centre_and_split(
    shape: tuple[int, int],
    i: Integers,
    j: Integers,
    values: Floats,
    observed_count: int,
    heldout_count: int,
) -> Observations:
    """Split entries into observed and held-out ones, and subtract the observed mean from both.

    The first `observed_count` entries are observed, and the next `heldout_count` are held out. The
    mean of the observed entries is subtracted from all.
    """
    if observed_count < 1:
        raise InputError("no entry of the matrix would be observed: raise density.")
    centre = math.fsum(values[:observed_count]) / observed_count
    values = values - centre
    rest = slice(observed_count, observed_count + heldout_count)
    observed = (i[:observed_count], j[:observed_count], values[:observed_count])
    held_out = (i[rest], j[rest], values[rest])
    return Observations(shape, *observed, *held_out, centre=centre)
