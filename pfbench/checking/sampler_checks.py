"""Checks of a problem with random components: its draws, their mean and their moments."""

import math
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.sample import Draws
from pfbench.checking.components import check_equal
from pfbench.checking.findings import CheckFailed, CheckSkipped, format_brief, locate_methods
from pfbench.checking.lines import ProblemChecks, norm
from pfbench.points import distance, keep

_POINTS = 6
"""Number of points (or pairs of points) at which moments of a finite distribution are summed."""

_GROUP = 50
"""Number of draws in each group of a median of means, if the distribution is not finite."""

_FALSE_ALARM = 1e-7
"""Maximum probability with which a correct sampler fails the test of its mean."""


class SamplerChecks(ProblemChecks):
    """Checks of a problem's random draws xi and of the gradients grad f(x, xi)."""

    def check_draws(self) -> str:
        """Check that samples drawn with equal seeds give the same batch gradient."""
        x, points = self.space.random_member(), locate_methods(self.problem, "draw", "sample")
        first, second = (self._batch_gradient(seed, x) for seed in (3, 3))
        if not np.array_equal(first, second):
            raise CheckFailed(
                "equal seeds must give equal batch gradients", "two differ", {"x": x}, points
            )
        return "equal seeds give equal draws"

    def _batch_gradient(self, seed: int, x: Any) -> Floats:
        S = self.problem.sample(np.random.default_rng(seed), 8)
        return np.asarray(self.problem.batch(S, keep(x)))

    def check_batches_and_differences(self) -> str:
        """Check that batch(S, x) depends on S and x alone.

        Also check that difference(S, x, y) = batch(S, x) - batch(S, y).
        """
        problem, rng = self.problem, np.random.default_rng(5)
        points = locate_methods(problem, "batch", "mean_gradient", "difference")
        for size in (1, 7):
            x, y = self.space.random_member(), self.space.random_member()
            S = problem.sample(rng, size)
            before = np.array(problem.batch(S, keep(x)))
            at_y = np.array(problem.batch(S, keep(y)))
            problem.batch(problem.sample(rng, 3), keep(y))
            if not np.array_equal(before, problem.batch(S, keep(x))):
                raise CheckFailed(
                    "batch(S, x) must depend on S and x alone",
                    "two calls with the same arguments differ",
                    {"x": x},
                    points,
                )
            values = {"x": x, "y": y}
            change = problem.difference(S, keep(x), keep(y))
            check_equal(
                "difference(S, x, y) must be batch(S, x) - batch(S, y)",
                np.asarray(change),
                before - at_y,
                values,
                points,
            )
        return "samples of 1 and 7 draws, each used several times"

    def check_mean(self) -> str:
        """Check that E grad f(x, xi) is the gradient: by exact sums, or by a median of means."""
        problem = self.problem
        points = locate_methods(problem, "mean_gradient", "draw", "gradient")
        if problem.atoms is not None:
            for _ in range(_POINTS):
                x = self.space.random_member()
                total = np.tensordot(
                    problem.atoms.probabilities, self._compute_gradients_by_atom(x), axes=1
                )
                expected = problem.gradient(keep(x))
                check_equal("the mean must be the gradient", total, expected, {"x": x}, points)
            return f"the mean over all {len(problem.atoms.probabilities)} values is the gradient"
        sigma2 = problem.constants(problem.start()).sigma2
        if not math.isfinite(sigma2):
            raise CheckSkipped("the problem states neither `atoms` nor a variance bound `sigma2`")
        x, rng = self.space.start(), np.random.default_rng(11)
        expected = np.asarray(problem.gradient(keep(x)))
        groups = math.ceil(8.0 * math.log(expected.size / _FALSE_ALARM))
        means = [problem.batch(problem.sample(rng, _GROUP), keep(x)) for _ in range(groups)]
        deviations = np.abs(np.median(means, axis=0) - expected)
        # A group's mean is off by twice its standard deviation with probability 1/4 at most.
        allowed = 2.0 * math.sqrt(sigma2 / _GROUP) + 1e-9 * norm(expected)
        if deviations.max() > allowed:
            raise CheckFailed(
                "the median of means of sampled gradients must differ from gradient(x) by at most "
                f"{format_brief(allowed)} in each entry",
                f"an entry is off by {format_brief(float(deviations.max()))}",
                {"x": x},
                points,
            )
        return f"within {format_brief(allowed)} an entry, by {groups * _GROUP} draws"

    def check_constants_by_exact_sums(self) -> str:
        """Check the constants sigma2, L_ms and L_max by exact sums over a finite distribution."""
        problem = self.problem
        if problem.atoms is None:
            raise CheckSkipped("the problem states no atoms")
        constants, p = problem.constants(problem.start()), problem.atoms.probabilities
        largest = {"sigma2": 0.0, "L_ms": 0.0, "L_max": 0.0}
        arguments: dict[str, Any] = {}
        for _ in range(_POINTS):
            x, y = self.space.random_member(), self.space.random_member()
            at_x = self._compute_gradients_by_atom(x)
            change = at_x - self._compute_gradients_by_atom(y)
            sizes = (change**2).reshape(len(p), -1).sum(axis=1)
            errors = ((at_x - problem.gradient(keep(x))) ** 2).reshape(len(p), -1).sum(axis=1)
            far = distance(x, y)
            values = {
                "sigma2": float(p @ errors),
                "L_ms": math.sqrt(float(p @ sizes)) / far if far else 0.0,
                "L_max": math.sqrt(float(sizes.max())) / far if far else 0.0,
            }
            for name, value in values.items():
                if value > largest[name]:
                    largest[name], arguments[name] = value, {"x": x, "y": y}
        for name, value in largest.items():
            limit = float(getattr(constants, name))
            if value > limit * (1.0 + 1e-7) + 1e-12:
                derivation = constants.derivations.get(name, "")
                raise CheckFailed(
                    f"{name} must be at most {format_brief(limit)} ({derivation})",
                    format_brief(value),
                    arguments[name],
                    locate_methods(problem, "constants"),
                )
        return ", ".join(
            f"{name} {format_brief(value)} of {format_brief(float(getattr(constants, name)))}"
            for name, value in largest.items()
        )

    def _compute_gradients_by_atom(self, x: Any) -> Floats:
        """Return grad f(x, xi) for each of the K possible values of xi, shape (K, *shape)."""
        values = self.problem.atoms.values
        singles = (Draws(values[k : k + 1], 1) for k in range(len(values)))
        return np.array([self.problem.batch(S, keep(x)) for S in singles])
