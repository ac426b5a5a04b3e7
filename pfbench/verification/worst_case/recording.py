"""Recording of a method on symbolic vectors: linear combinations of the oracles' answers.

Points and gradients are arrays of coefficients. Entry 0 belongs to the start (1 for a point, 0 for
a gradient), and entry k to the k-th answer. A method that only adds and scales answers thus runs
unchanged, for all functions at once. Any other operation raises an error that names it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Never

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm
from pfbench.base.sample import IndexSampling, Indices
from pfbench.base.state import State
from pfbench.problems.base import index_weights
from pfbench.verification.instruments.enumerated_random import (
    NotEnumerable,
    enumerate_draws,
    rounding_key,
)

MOST_BRANCHES = 4096
"""Maximum number of sequences of draws that are enumerated."""

_CLOSE = 1e-9
"""Difference up to which coefficients count as equal."""

_LINEAR = frozenset({"add", "subtract", "negative", "positive"})
_COPIES = frozenset({"copy", "zeros_like"})


class NonlinearMethodError(InputError):
    """Error raised if a method does more with the oracles' answers than add and scale them."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the worst case cannot be computed: {reason}, but each point must be a linear "
            "combination of the oracles' answers, with coefficients that do not depend on them."
        )


class ProblemTooLarge(InputError):
    """Error raised if the program for a worst case would have too many unknowns."""


class Coefficients(np.ndarray[Any, Any]):
    """Vector that can only be added and scaled, stored as coefficients of oracle answers."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """Compute sums and multiples; raise `NonlinearMethodError` for any other operation."""
        scaled = ufunc.__name__ in ("multiply", "divide") and _is_multiple_by_number(
            ufunc.__name__, args
        )
        if method != "__call__" or not (ufunc.__name__ in _LINEAR or scaled):
            _refuse(ufunc.__name__)
        if "out" in options:
            options["out"] = tuple(np.asarray(out) for out in options["out"])
        return ufunc(*map(_unwrap, args), **options).view(Coefficients)

    def __array_function__(self, function: Any, types: Any, value: Any, options: Any) -> Any:
        """Apply functions that copy arrays; raise `NonlinearMethodError` for any other function."""
        if function.__name__ not in _COPIES:
            _refuse(function.__name__)
        return function(_unwrap(value[0])).view(Coefficients)

    def __getitem__(self, key: Any) -> Never:
        """Raise `NonlinearMethodError`: an entry is not a linear combination of answers."""
        _refuse("an entry")

    def dot(self, *args: Any, **options: Any) -> Never:
        """Raise `NonlinearMethodError`: a product of answers is not linear."""
        _refuse("dot")

    def __float__(self) -> Never:
        """Raise `NonlinearMethodError`: an answer has no numerical value."""
        _refuse("a number")


def _is_multiple_by_number(ufunc_name: str, operands: tuple[Any, ...]) -> bool:
    """Return whether an operation multiplies or divides an array by a plain number."""
    numbers = [not isinstance(item, Coefficients) and np.ndim(item) == 0 for item in operands]
    return numbers[1] if ufunc_name == "divide" else any(numbers)


def _unwrap(item: Any) -> Any:
    return item.view(np.ndarray) if isinstance(item, Coefficients) else item


def _refuse(function_name: str) -> Never:
    raise NonlinearMethodError(
        f"the method computes {function_name} of the oracles' answers: worst cases need a method "
        "that only adds and scales them"
    )


GRADIENT, VERTEX, PROX, NEAR_PROX, FREE = "gradient", "vertex", "prox", "near prox", "free"
"""Kinds of answers: gradient, vertex, proximal point, approximate one, bounded vector."""


@dataclass(frozen=True)
class Answer:
    """Answer of an oracle to one query, as a new symbolic vector.

    Attributes
    ----------
    kind
        Kind of the answer, e.g. `GRADIENT`.
    point
        The coefficients of the queried point or direction.
    component
        The index of the component of a gradient.
    length
        The step size of a proximal point; the largest length of a bounded vector.
    gap
        The largest Frank-Wolfe gap of an approximate proximal point.
    """

    kind: str
    point: Floats
    component: int = 0
    length: float = 0.0
    gap: float = 0.0


@dataclass
class MethodRecording:
    """Record of a method's oracle answers and iterates, for each possible sequence of its draws.

    Attributes
    ----------
    n
        Number of components.
    answers
        The different answers of all runs; the first one has coefficient index 1.
    runs
        Probability of each run, and the coefficients of its x_0, x_1, ...
    measured
        For each run, the coefficients of the vectors whose squared norms are measured, if any.
    """

    n: int
    answers: list[Answer] = field(default_factory=list)
    runs: list[tuple[float, list[Floats]]] = field(default_factory=list)
    measured: list[list[Floats]] = field(default_factory=list)


@dataclass(frozen=True)
class RecordingOptions:
    """Options of a recording: allowed oracles and errors, measured vectors, limits.

    Attributes
    ----------
    has_prox
        Whether proximal maps are answered.
    error
        The largest error of each gradient.
    measure
        Function of the oracles and the states that yields the vectors whose squared norms are
        measured.
    max_answers
        Maximum number of answers.
    """

    has_prox: bool = False
    error: float = 0.0
    measure: Callable[[Any, list[State]], Iterable[Any]] | None = None
    max_answers: int = 48


_UNSUPPORTED = ("local_lo", "value", "hessian", "component_smoothness")
"""Oracles whose answers are no unknown vectors."""


class _SymbolicOracles(IndexSampling):
    """Oracles of an unknown function, which answer each new query by a new symbolic vector.

    Parameters
    ----------
    recording
        Recording to which the answers are appended.
    basis
        Matrix whose columns represent the start and the answers.
    smooth, options
        Whether there is no set; see `RecordingOptions`.
    """

    D = 1.0

    def __init__(
        self, recording: MethodRecording, basis: Floats, smooth: bool, options: RecordingOptions
    ) -> None:
        self.n, self._recording, self._basis = recording.n, recording, basis
        self._smooth, self._options = smooth, options
        self._decode = np.linalg.inv(basis)
        self._answers: dict[tuple[Any, ...], int] = {}

    def start(self) -> Any:
        """Return the start x_0."""
        return self._basis[:, 0].copy().view(Coefficients)

    def coefficients(self, x: Any, start_coefficient: float) -> Floats:
        """Return the coefficients of a point or gradient in terms of start and oracle answers.

        Raise `NonlinearMethodError` if the coefficient of the start is not `start_coefficient`.
        """
        if not isinstance(x, np.ndarray) or x.shape != (len(self._basis),):
            raise NonlinearMethodError(
                "the method queries or yields a point whose shape is not that of the start"
            )
        product = self._decode @ _unwrap(x)
        if not np.isfinite(product).all() or abs(product[0] - start_coefficient) > _CLOSE:
            vector = "a point" if start_coefficient else "a direction"
            raise NonlinearMethodError(
                f"the method uses {vector} that depends on the origin: form it such that x_0 has "
                f"the coefficient {start_coefficient:g} in it"
            )
        return np.asarray(product)

    def component(self, i: int, x: Any) -> Any:
        """Return the gradient of f_i at x, plus an unknown error if `options.error` is set."""
        g = self._answer(GRADIENT, self.coefficients(x, 1.0), component=i)
        error = self._options.error
        return g + self.free_vector_within_bound(error, x) if error else g

    def free_vector_within_bound(self, max_length: float, *arguments: Any) -> Any:
        """Return an unknown vector of length at most `max_length`.

        Equal arguments give the same vector.
        """
        parts = [self._decode @ _unwrap(a) if isinstance(a, np.ndarray) else [a] for a in arguments]
        return self._answer(FREE, np.concatenate(parts), length=max_length)

    def approximate_prox(self, x: Any, g: Any, lam: float, gap: float) -> Any:
        """Return an unknown point of the set that approximates the proximal point.

        At that point, <g, y> + |y - x|^2/(2 lam) has a Frank-Wolfe gap of at most `gap`.
        """
        request = self.coefficients(x - lam * g, 1.0)
        return self.start() + self._answer(NEAR_PROX, request, length=lam, gap=gap)

    def _answer(self, kind: str, request: Floats, **numbers: Any) -> Any:
        key = kind, *numbers.values(), rounding_key(request)
        if key not in self._answers:
            self._recording.answers.append(Answer(kind, request, **numbers))
            self._answers[key] = len(self._recording.answers)
            if self._answers[key] > self._options.max_answers:
                raise ProblemTooLarge(
                    f"the worst case would have more than {self._options.max_answers} unknown "
                    "vectors: give fewer iterations, components or draws."
                )
        return self._basis[:, self._answers[key]].copy().view(Coefficients)

    def gradient(self, x: Any) -> Any:
        """Return the mean of all component gradients at x."""
        return self.batch(np.arange(self.n), x)

    def batch(self, sample: Indices, x: Any) -> Any:
        """Return the mean of the sampled component gradients at x."""
        return _sample_mean(sample, self.n, lambda i: self.component(i, x))

    def table(self, x: Any) -> "_Table":
        """Return a table of all component gradients at x."""
        return _Table(self, x)

    def lo(self, g: Any) -> Any:
        """Return an unknown vertex v that minimises <g, v>."""
        return self.start() + self._answer(VERTEX, self.coefficients(g, 0.0))

    def prox(self, x: Any, g: Any, lam: float) -> Any:
        """Return the proximal point: a new unknown, or x - lam g if `options.has_prox` is false."""
        if self._options.has_prox:
            request = self.coefficients(x - lam * g, 1.0)
            return self.start() + self._answer(PROX, request, length=lam)
        if not self._smooth:
            raise NonlinearMethodError(
                "the method queries a projection or a proximal map: worst cases need a method that "
                "only adds and scales the oracles' answers"
            )
        return x - lam * g

    def __getattr__(self, name: str) -> Callable[..., Never]:
        """Return a function that raises `NonlinearMethodError`, for an unsupported oracle."""
        if name not in _UNSUPPORTED:
            raise AttributeError(f"the oracles have no attribute {name!r}")

        def refuse(*arguments: Any) -> Never:
            raise NonlinearMethodError(
                f"the method queries {name}, which worst cases do not support"
            )

        return refuse


class _Table:
    """Table of the last stored gradient of each component, where gradients are symbolic vectors."""

    def __init__(self, unknowns: _SymbolicOracles, x: Any) -> None:
        self._unknowns = unknowns
        self._gradients = [unknowns.component(i, x) for i in range(unknowns.n)]

    @property
    def mean(self) -> Any:
        """Mean of the stored gradients over all components."""
        return sum(self._gradients[1:], self._gradients[0]) / len(self._gradients)

    def difference(self, sample: Indices, x: Any) -> Any:
        """Return the mean over a sample of grad f_i(x) - a_i, where a_i is the stored gradient."""
        component, n = self._unknowns.component, self._unknowns.n
        return _sample_mean(sample, n, lambda i: component(i, x) - self._gradients[i])

    def replace(self, sample: Indices, x: Any) -> Any:
        """Store grad f_i(x) of the sampled components; return the mean change of the gradients."""
        change = self.difference(sample, x)
        for i in np.unique(index_weights(sample, self._unknowns.n)[0]).tolist():
            self._gradients[i] = self._unknowns.component(i, x)
        return change


def _sample_mean(sample: Indices, n: int, function: Callable[[int], Any]) -> Any:
    """Return the mean of `function(i)` over the component indices i of a sample."""
    indices, weights = index_weights(sample, n)
    pairs = zip(indices.tolist(), weights.tolist(), strict=True)
    parts = [weight * function(i) for i, weight in pairs]
    return sum(parts[1:], parts[0])


def record_method(
    method: Algorithm,
    n: int,
    max_steps: int | None = None,
    options: RecordingOptions = RecordingOptions(),
) -> MethodRecording:
    """Record the iterates of a method on symbolic vectors, for every sequence of its draws.

    Parameters
    ----------
    method
        The method, which ends by itself or after `max_steps` steps.
    n
        Number of components.
    options
        See `RecordingOptions`.

    Raises
    ------
    InputError
        If the method does more than add and scale answers, makes draws that cannot be enumerated,
        or
            makes no step.
    """
    size = options.max_answers + 1
    recording = _record(method, n, max_steps, np.eye(size), options)
    # What hides from the refusals shows itself in other coordinates.
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.standard_normal((size, size)))[0] * rng.uniform(0.5, 2.0, size)
    recomputed = _record(method, n, max_steps, turned, options)
    if not _recordings_equal(recording, recomputed):
        raise NonlinearMethodError("the method branches on numbers computed from oracle answers")
    return recording


def _record(
    method: Algorithm, n: int, limit: int | None, basis: Floats, options: RecordingOptions
) -> MethodRecording:
    recording = MethodRecording(n)
    asks = getattr(method, "asks", method.requires)
    unknowns = _SymbolicOracles(recording, basis, "lo" not in asks, options)

    def follow(stream: Any) -> tuple[list[Floats], list[Floats]]:
        points, states = [unknowns.coefficients(unknowns.start(), 1.0)], list[State]()
        for state in islice(method.run(unknowns, unknowns.start(), stream), limit):
            points.append(unknowns.coefficients(state.x, 1.0))
            states.append(state)
        vectors = options.measure(unknowns, states) if options.measure else ()
        return points, [unknowns.coefficients(vector, 0.0) for vector in vectors]

    try:
        followed = list(enumerate_draws(follow, MOST_BRANCHES))
    except NotEnumerable as error:
        raise InputError(
            f"the worst case needs every sequence of draws, but {error}: use fewer "
            "iterations, a smaller batch or a deterministic method."
        ) from error
    recording.runs = [(chance, points) for chance, (points, _) in followed]
    recording.measured = [vectors for _, (_, vectors) in followed]
    if min(len(run) for _, run in recording.runs) < 2:
        raise InputError("the worst case cannot be computed: the method makes no step.")
    return recording


def _recordings_equal(item: MethodRecording, other: MethodRecording) -> bool:
    """Return whether two recordings have equal answers and iterates up to rounding."""

    def kinds_and_vectors(recording: MethodRecording) -> tuple[list[Any], list[Floats]]:
        runs = [run for _, run in recording.runs]
        kinds = [(a.kind, a.component) for a in recording.answers], [len(run) for run in runs]
        points = [answer.point for answer in recording.answers]
        return [*kinds], [*points, *chain(*runs, *recording.measured)]

    (kinds, vectors), (other_kinds, other_vectors) = map(kinds_and_vectors, (item, other))
    return kinds == other_kinds and all(
        np.allclose(a, b, rtol=0.0, atol=1e-6) for a, b in zip(vectors, other_vectors, strict=True)
    )
