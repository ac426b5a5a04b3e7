"""Checks of a sampler: its draws, the mean and the moments of its random gradients.

Each test fails a correct sampler with probability at most `_FALSE_ALARM`, whatever the distribution
of its draws.
"""

import math
from typing import Any

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.base.sample import Draws
from pfbench.checking.findings import CheckFailed, CheckSkipped, TimeLimit, format_brief, require
from pfbench.checking.function_checks import check_equal
from pfbench.checking.lines import ProblemChecks, move_point_toward, norm
from pfbench.points import distance, keep
from pfbench.verification.statistics.means import log_e_values

_POINTS = 6
"""Number of points at which the mean of a finite distribution is summed."""

_FALSE_ALARM = 1e-7
"""Maximum probability with which a correct sampler fails one test."""

_SEEDS = 64
"""Number of seeds that must not all give the same draws."""

_BATCHES, _SMALLEST = 140, 50
"""Number of batches whose mean is tested at each point, and their smallest size."""

_ENTRIES = 2_000_000
"""Maximum number of entries of the draws of one batch, as far as points tell their size."""

_MEAN_POINTS = 4
"""Number of points at which a mean is tested."""

_PILOT = 60
"""Number of draws by which the point with the largest moment is chosen."""


class SamplerChecks(ProblemChecks):
    """Checks of a problem's random draws xi and of the gradients grad f(x, xi)."""

    _failure = ""
    """Failure of the draws, after which no mean of batches can be judged."""

    _refuted_variance = 0.0
    """Measured variance, if it refutes the stated one."""

    def _batch(self, rng: np.random.Generator, size: int, x: Any) -> Floats:
        """Return the gradient of a batch of new draws at x, as a new flat array."""
        sample = self.problem.sample(rng, size)
        return np.array(self.problem.batch(sample, keep(x)), dtype=float).ravel()

    def check_draws_independent(self) -> str:
        """Check that draws depend on the seed, and that the draws of one batch are independent."""
        x = self.space.random_member()
        rounding = 1e-9 * norm(self.problem.gradient(keep(x)))
        single, batch = (
            np.array([self._batch(np.random.default_rng(seed), size, x) for seed in range(_SEEDS)])
            for size in (1, 8)
        )
        is_same = np.array_equal(batch[3], self._batch(np.random.default_rng(3), 8, x))
        require(is_same, "equal seeds must give equal batch gradients", "two differ", x=x)
        # For a correct sampler the chance is (p (1 - p^8))^63 < 1e-10: its single gradients are
        # equal with probability p each, and a batch of 8 such gradients has the same mean.
        if np.ptp([single, batch], axis=1).max() == 0.0 and norm(single[0] - batch[0]) > rounding:
            self._failure = "different seeds give equal draws"
            raise CheckFailed(
                "different seeds must give different draws",
                f"{_SEEDS} seeds give the same batch of 8 draws: draw from `rng`",
                {"x": x},
            )
        if np.ptp(single, axis=0).max() == 0.0:
            return f"equal seeds give equal draws; the gradients of {_SEEDS} draws are equal"
        pairs = sum(self._check_independence(x, size, rounding) for size in (2, 16))
        return f"equal seeds give equal draws; {pairs} batches have the law of independent draws"

    def _check_independence(self, x: Any, size: int, rounding: float) -> int:
        """Compare batches with the mean of two batches of half the size, from separate calls.

        The two errors are exchangeable if draws are independent, so each is the larger with equal
        probability: a sign test. Return the number of comparisons.
        """
        rng, expected = np.random.default_rng(size), np.ravel(self.problem.gradient(keep(x)))
        signs = [0, 0]
        for _ in TimeLimit(4.0 * self.seconds_per_check).rounds(1600):
            parts = [self._batch(rng, number, x) for number in (size, size // 2, size // 2)]
            together = norm(parts[0] - expected)
            separate = norm(0.5 * (parts[1] + parts[2]) - expected)
            if abs(together - separate) > rounding + 1e-9 * max(together, separate):
                signs[together > separate] += 1
        larger, total = signs[1], sum(signs)
        p_value = 2.0 * scipy.special.bdtr(min(signs), total, 0.5)
        if p_value < _FALSE_ALARM / 2.0:
            self._failure = "the draws of a batch are not independent"
            raise CheckFailed(
                f"a batch of {size} draws must have the law of the mean of two independent batches "
                f"of {size // 2}: its draws must be independent, and batch(S, x) their mean",
                f"the batch of {size} has the larger error in {larger} of {total} comparisons",
                {"x": x},
            )
        return total

    def check_batches_pure_and_differences(self) -> str:
        """Check that batch(S, x) depends on S and x alone.

        Also check that difference(S, x, y) = batch(S, x) - batch(S, y).
        """
        problem, rng = self.problem, np.random.default_rng(5)
        for size in (1, 7):
            x, y = self.space.random_member(), self.space.random_member()
            S = problem.sample(rng, size)
            before = np.array(problem.batch(S, keep(x)))
            at_y = np.array(problem.batch(S, keep(y)))
            problem.batch(problem.sample(rng, 3), keep(y))
            is_same = np.array_equal(before, problem.batch(S, keep(x)))
            needed = "batch(S, x) must depend on S and x alone"
            require(is_same, needed, "two calls with the same arguments differ", x=x)
            change = np.asarray(problem.difference(S, keep(x), keep(y)))
            needed = "difference(S, x, y) must be batch(S, x) - batch(S, y)"
            check_equal(needed, change, before - at_y, {"x": x, "y": y})
        return "samples of 1 and 7 draws, each used several times"

    def check_mean(self) -> str:
        """Check, by exact sums or by many draws, that E grad f(x, xi) is the gradient."""
        problem = self.problem
        if problem.atoms is not None:
            values, chances = problem.atoms
            for _ in range(_POINTS):
                x = self.space.random_member()
                pairs = ((p, Draws(values[k : k + 1], 1)) for k, p in enumerate(chances))
                total = sum(p * problem.batch(S, keep(x)) for p, S in pairs)
                expected = problem.gradient(keep(x))
                check_equal("the mean must be the gradient", total, expected, {"x": x})
            return f"the mean over all {len(chances)} values is the gradient"
        if self._failure:
            raise CheckSkipped(f"not decided, as {self._failure}")
        sigma2 = max(float(problem.constants(problem.start()).sigma2), 4.0 * self._refuted_variance)
        rng, patience = np.random.default_rng(11), TimeLimit(self.seconds_per_check)
        size, worst, draws, resolution = self._max_batch_size_in_time(rng), (0.0, 0.0), 0, 0.0
        for number in patience.rounds(_MEAN_POINTS):
            x = self.space.random_member() if number else self.space.start()
            expected = np.asarray(problem.gradient(keep(x))).ravel()
            means = np.array([self._batch(rng, size, x) for _ in range(_BATCHES)])
            draws += means.shape[0] * size
            error = np.abs(means.mean(axis=0) - expected)
            # Level of one of the two tests of each entry, as exp(-reach).
            reach = math.log(2 * _MEAN_POINTS * expected.size / _FALSE_ALARM)
            rounding = 1e-9 * norm(expected) + 1e-100
            variance = max(sigma2 / size, rounding**2)
            is_rejected = math.isfinite(sigma2) and _is_zero_mean_rejected(
                means - expected, variance, reach
            )
            off_by = format_brief(float(error.max()))
            require(
                not is_rejected,
                "the mean of grad f(x, xi) over xi must be gradient(x) (tested for independent "
                f"draws of variance at most sigma2 = {format_brief(sigma2)})",
                f"the mean of {means.shape[0] * size:,} draws is off by {off_by} in an entry",
                x=x,
            )
            resolution = max(resolution, 2.0 * math.sqrt(2.0 * reach * variance / _BATCHES))
            standard = np.maximum(means.std(axis=0, ddof=1) / math.sqrt(_BATCHES), rounding)
            k = int(np.argmax(error / standard))
            worst = max(worst, (float(error[k] / standard[k]), float(error[k])))
        observed = (
            f"by {draws:,} draws, an entry is off by {worst[1]:.2g}, {worst[0]:.1f} standard errors"
        )
        if not math.isfinite(sigma2):
            raise CheckSkipped(f"not decided, as no variance bound `sigma2` is stated: {observed}")
        if worst[0] > 1.25 * math.sqrt(2.0 * reach):
            raise CheckSkipped(
                f"not decided: {observed}, which rare large draws could explain for the stated "
                f"sigma2 = {format_brief(sigma2)}"
            )
        return f"within {format_brief(resolution)} an entry, {observed}"

    def _max_batch_size_in_time(self, rng: np.random.Generator) -> int:
        """Return the largest batch size for which the test of the mean keeps to its time limit."""
        x, size = self.space.start(), _SMALLEST
        limit = self.seconds_per_check / (2.0 * _MEAN_POINTS * _BATCHES)
        for _ in range(12):
            patience = TimeLimit(limit)
            entries = 2 * size * self._batch(rng, 2 * size, x).size
            if patience.is_over or entries > _ENTRIES:
                break
            size *= 2
        return size

    def check_constants(self) -> str:
        """Check the constants sigma2, L_ms and L_max by draws."""
        constants = self.problem.constants(self.problem.start())
        upper = {name: float(getattr(constants, name)) for name in _MEANINGS}
        finite = {name: value for name, value in upper.items() if math.isfinite(value)}
        if not finite:
            raise CheckSkipped("the problem states none of sigma2, L_ms and L_max")
        return "; ".join(self._check_constant_by_draws(*each) for each in finite.items())

    def _error_or_ratio_squares(
        self, constant: str, x: Any, y: Any, rng: Any, rounds: Any
    ) -> Floats:
        """Return drawn gradients' squared errors or change ratios, which `constant` bounds."""
        problem, far = self.problem, distance(x, y)
        if constant == "sigma2":
            expected = np.ravel(problem.gradient(keep(x)))
            return np.array([norm(self._batch(rng, 1, x) - expected) ** 2 for _ in rounds])
        ratios = []
        for _ in rounds:
            sample = problem.sample(rng, 1)
            at_x, at_y = (np.array(problem.batch(sample, keep(z))) for z in (x, y))
            rounding = 1e-13 * (norm(at_x) + norm(at_y))
            ratios.append(max(0.0, norm(at_x - at_y) - rounding) / far)
        return np.square(ratios)

    def _check_constant_by_draws(self, name: str, upper: float) -> str:
        """Test a constant by single draws, at the most suspicious of several points or pairs.

        The mean of the nonnegative squares is tested by an e-process, which is valid for every
        distribution of them.
        """
        rng, problem = np.random.default_rng(12), self.problem
        patience = TimeLimit(self.seconds_per_check)
        points = [self.space.random_member() for _ in range(6)]
        for _ in range(6 if self.space.is_bounded else 0):
            points.append(move_point_toward(points[0], self.space.vertex(), 1.0))
        pairs = [(x, y) for x in points if distance(x, y := self.space.sample_near(x)) > 0.0]
        pilots = [
            self._error_or_ratio_squares(name, *pairs[k], rng, range(_PILOT))
            for k in patience.rounds(len(pairs))
        ]
        if not pilots:
            raise CheckSkipped("no two distinct points of the set were found")
        typical = np.max if name == "L_max" else np.mean
        x, y = pairs[int(np.argmax([typical(squares) for squares in pilots]))]
        patience = TimeLimit(2.0 * self.seconds_per_check)
        squares = self._error_or_ratio_squares(name, x, y, rng, patience.rounds(20_000))
        bound = (upper if name == "sigma2" else upper**2) * (1.0 + 1e-6)
        bound += (1e-9 * max(1.0, norm(problem.gradient(keep(x))))) ** 2
        if name == "L_max":
            is_refuted, value = squares.max() > bound, float(squares.max())
        else:
            # Means of groups have the same bound, and their smaller spread gives more power.
            size = min(max(1, squares.size // 200), 16)
            groups = squares[: squares.size // size * size].reshape(-1, size).mean(axis=1)
            is_refuted = log_e_values(groups, bound).max() > -math.log(_FALSE_ALARM)
            value = float(squares.mean())
        value = value if name == "sigma2" else math.sqrt(value)
        if is_refuted:
            self._refuted_variance = value if name == "sigma2" else 0.0
        needed = f"{_MEANINGS[name]} must not exceed {name} = {format_brief(upper)}"
        observed = f"{format_brief(value)}, over {squares.size:,} draws"
        arguments = {"x": x} if name == "sigma2" else {"x": x, "y": y}
        require(not is_refuted, needed, observed, **arguments)
        return f"{name} {format_brief(value)} of {format_brief(upper)}, by {squares.size:,} draws"


_MEANINGS = {
    "sigma2": "E|grad f(x, xi) - grad f(x)|^2",
    "L_ms": "sqrt(E|grad f(x, xi) - grad f(y, xi)|^2)/|x - y|",
    "L_max": "|grad f(x, xi) - grad f(y, xi)|/|x - y|",
}
"""Quantity that each constant bounds."""


def _is_zero_mean_rejected(deviations: Floats, variance: float, reach: float) -> bool:
    """Return whether a test rejects that the deviations, shape (k, d), have mean 0 in all entries.

    For deviations y of mean 0 and variance at most v, E(1 + l y + l^2 y^2/2) <= exp(l^2 v/2). The
    products of these factors over k independent y exceed exp(k l^2 v/2 + reach) with probability at
    most exp(-reach), for each sign of l (Catoni, 2012, Challenging the empirical mean).
    """
    y = math.sqrt(2.0 * reach / (len(deviations) * variance)) * deviations
    sums = [np.log1p(sign * y + 0.5 * y * y).sum(axis=0) for sign in (1.0, -1.0)]
    return bool(np.max(sums) > 2.0 * reach)
