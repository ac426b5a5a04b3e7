"""Problems and parameters with which methods are compared with their references.

They cover parameter combinations, extreme values and long runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError, format_error
from pfbench.base.names import find_entry
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import draw_synthetic_entries
from pfbench.verification.instances import Instance
from pfbench.verification.instances import make_instance as instance
from pfbench.verification.replay.forms import NEEDED, format_parameters, list_method_forms
from pfbench.verification.replay.problems import BUILDERS, MATRIX, Shape
from pfbench.verification.replay.recorded_run import Transcript, record_run
from pfbench.verification.subject import Subject

Values = Mapping[str, Any]
"""Parameters of a method or options of a problem, by name."""

VECTOR: Shape = (4,)

SHAPES = (VECTOR, MATRIX)

_NORMS = ("spectral", "l2", "linf")

SCALES = (1e3, 1e-3)
"""Factors of f, by which absolute constants in a method are detected."""

_HEAVY = 300.0
"""Factor of the first component in one case, which detects clipping of long gradients."""

_GROWTH = 60.0
"""Factor of the first component in one case, in which usual steps make estimates grow."""

_GROWS: Mapping[str, int] = MappingProxyType(
    {"smoothness": 1, "curvature": 1, "delta": 1, "sigma": 1, "tolerance": 1, "lam": -1}
)
"""Power of a factor of f by which a parameter scales; for `step` `step_size_scaling_exponent`."""

_EDGE = 0.45
"""Radius for which the minimiser is on an edge, close to a vertex.

With the usual data and open-loop steps, nine and then sixteen linear minimisations agree.
"""

_SMALL = 100.0
"""Divisor of each real parameter in one case."""

_ACTIVE_SETS: tuple[Values, ...] = (
    {"shape": (60,), "kind": "octahedron", "n": 90},
    {"shape": (30,), "kind": "cube", "n": 90, "radius": 0.02},
    {"shape": (8,), "kind": "cube"},
)
"""Problems of long runs on polytopes; the last one has vertices of small weight."""

LONG_COUNT = 3_000
"""Number of iterations of a long run of which only the counts are compared."""

_LONGEST: Values = {"batch": 1, "period": 2, "refresh": 0.5, "snapshot": 2}
"""Values in the longest runs, in which an epoch begins, and a coin shows heads, as often as not."""

_PERIODS = ((1, 40), (150, 320), (700, 1420))
"""Pairs of a period and the horizon of its run."""


@dataclass(frozen=True)
class ReplayCase:
    """Problem and parameters of one run that is compared with a reference implementation.

    Attributes
    ----------
    problem
        The problem.
    parameters
        The parameters of the method.
    is_extreme
        Whether the method may refuse these parameters.
    """

    problem: Instance
    parameters: Mapping[str, Any]
    is_extreme: bool = False

    def __str__(self) -> str:
        return f"{self.problem.name} [{format_parameters(self.parameters)}]"

    @property
    def is_factored(self) -> bool:
        """Whether points are factored matrices, in which case the problem has no option `shape`."""
        return "shape" not in self.problem.parameters

    @property
    def has_matrix_points(self) -> bool:
        """Whether points are matrices; an exception of the method is then only a doubt."""
        return self.is_factored or len(self.problem.parameters["shape"]) > 1

    @property
    def horizon(self) -> int:
        """Number of iterations; 40 if the method has no such parameter."""
        return int(self.parameters.get("iterations", NEEDED["iterations"]))

    @property
    def max_recorded_steps(self) -> int:
        """Number of steps after which the recording of a run is stopped."""
        s = self.parameters
        restarts = s.get("restarts", 3 if "probability" in s else 1)
        return int(2 * restarts * s.get("iterations", s.get("period", 100)) + 10)

    def record(
        self, algorithm: Any, *, seed: int = 0, subject: Subject | None = None
    ) -> Transcript:
        """Run a method on the problem, as modified by `subject` if given; return the record."""
        problem = self.problem()
        tested = problem if subject is None else subject.problem_under_test(problem)
        transcript = record_run(tested, algorithm, seed=seed, max_steps=self.max_recorded_steps)
        transcript.problem = problem
        return transcript


def list_problem_kinds(method: Any) -> list[dict[str, Any]]:
    """Return the kinds of test problems that a method can solve, each as a dict of options."""
    requires = method.requires
    if "norm" in requires:
        norm = next((norm for norm in _NORMS if f"norm {norm}" in requires), None)
        norms = ("linf", "spectral") if norm is None else (norm,)
        return [{"kind": "normed", "norm": norm} for norm in norms]
    if "polytope" in requires:
        return [{"kind": "octahedron"}, {"kind": "cube"}]
    if "smooth" in requires:
        return [{"kind": "space"}]
    if requires & {"lo", "local_lo"}:
        return [{"kind": "ball"}, {"kind": "octahedron"}]
    return [{"kind": "ball"}] if "set" in requires else [{"kind": "ball"}, {"kind": "penalised"}]


def make_small_instances(method: Any, shape: Shape = VECTOR, **options: Any) -> list[Instance]:
    """Return one small test problem for each kind that a method can solve."""
    return [make_instance({**kind, **options}, shape) for kind in list_problem_kinds(method)]


def make_instance(options: Mapping[str, Any], shape: Shape = VECTOR) -> Instance:
    """Return a test problem of the kind ``options["kind"]`` with points of a given shape."""
    kind = options["kind"]
    rest = {name: value for name, value in options.items() if name != "kind"}
    if kind == "normed" and shape == VECTOR:
        shape = (6,)
    size = "x".join(map(str, shape))
    title = " ".join([f"{kind} {size}", *(f"{k}={v}" for k, v in rest.items())])
    build = find_entry("kind of set", kind, BUILDERS)
    return instance(build, shape=shape, **rest).with_title(title)


def make_case(method: Any, values: Mapping[str, Any]) -> ReplayCase:
    """Return a test case from named values: the method's parameters and the problem's options.

    Raises
    ------
    InputError
        If `kind` or `shape` is missing, or an option is unknown.
    """
    names = {f.name for f in fields(method)}
    options = {name: value for name, value in values.items() if name not in names}
    try:
        shape = tuple(map(int, str(options.pop("shape")).split("x")))
        problem = make_instance(options, shape)
        problem()
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{dict(values)} is no test case of {method.name} ({format_error(error).rstrip('.')}): "
            "give kind and shape, as in [kind=space,shape=2,n=3]."
        ) from error
    parameters = {name: value for name, value in values.items() if name in names}
    return ReplayCase(problem, parameters, is_extreme=True)


def make_recovery_problem() -> RobustMatrixRecovery:
    """Return a small matrix recovery problem whose points are factored matrices."""
    return RobustMatrixRecovery(
        draw_synthetic_entries(seed=3, rows=6, columns=5, rank=2, density=0.64),
        radius=6.0,
        sigma=30.0,
    )


def step_size_scaling_exponent(method: Any) -> int:
    """Return p such that the step size is multiplied by c^p if f is multiplied by c.

    The exponent is 0 for steps that are weights or lengths, and -1 for all others.
    """
    check = next((f.metadata.get("check") for f in fields(method) if f.name == "step"), None)
    upper = getattr(check, "keywords", {}).get("upper", float("inf"))
    return 0 if upper == 1.0 or method.name == "spider" or "norm" in method.requires else -1


def scale_parameters_with_objective(
    method: Any, parameters: Mapping[str, Any], by: float
) -> dict[str, Any]:
    """Return the parameters with which a method makes the same steps if f is multiplied by `by`."""
    powers = {"step": step_size_scaling_exponent(method), **_GROWS}
    return {
        name: value * by ** powers.get(name, 0) if isinstance(value, float) else value
        for name, value in parameters.items()
    }


def iterate_replay_cases(method: Any, effort: str, seed: int = 0) -> Iterator[ReplayCase]:
    """Yield the test problems and parameters for comparing a built-in method with its reference.

    The quickest come first.

    Parameters
    ----------
    method
        The class of the method.
    effort
        "quick" or "full".
    seed
        Seed of the data and the start; 0 for the usual ones.
    """
    forms, data = list_method_forms(method), {"seed": seed} if seed else {}
    kinds, first = list_problem_kinds(method), forms[0]
    has_lo = "lo" in method.requires
    for form in forms:
        for kind in kinds:
            for shape in SHAPES:
                problem = make_instance({**kind, **data}, shape)
                yield ReplayCase(problem, with_horizon(method, form, 40))
        if has_lo and "norm" not in method.requires:
            edge = {"kind": "octahedron", "radius": _EDGE, "at_vertex": True}
            yield ReplayCase(make_instance(edge), with_horizon(method, form, 60))
    if has_lo and not method.requires & {"norm", "polytope", "set"}:
        problem = instance(make_recovery_problem).with_title("matrix recovery 6x5")
        yield ReplayCase(problem, with_horizon(method, first, 14))
    for options, changes in _iterate_problem_and_method_extremes(method, first):
        parameters = {**with_horizon(method, first, 40), **changes}
        if _is_allowed(method, parameters):
            shape = options.pop("shape", VECTOR)
            problem = make_instance({**kinds[0], **data, **options}, shape)
            yield ReplayCase(problem, parameters, is_extreme=True)
    if "polytope" in method.requires:
        yield from _long_cases_on_polytopes(forms)
    else:
        yield from _long_cases(method, forms, kinds[0] | data, is_quick=effort == "quick")


def _long_cases_on_polytopes(forms: list[Values]) -> Iterator[ReplayCase]:
    for options in _ACTIVE_SETS:
        problem = make_instance(
            {name: value for name, value in options.items() if name != "shape"}, options["shape"]
        )
        L = float(problem().component_smoothness().mean())
        for form in forms:
            has_search = "line-search" in form.values()  # L is one trial point
            for factor in (1.0,) if has_search else (1.0, 0.1):
                changes = {"smoothness": factor * L, "iterations": 150 if has_search else 600}
                yield ReplayCase(problem, {**form, **changes})


def _long_cases(
    method: Any, forms: list[Values], kind: Values, *, is_quick: bool
) -> Iterator[ReplayCase]:
    """Yield cases of long runs, which detect faults that act only after many iterations."""
    first, is_sliding = forms[0], "condg" in dir(method)
    for form in forms:
        is_slow = bool({"line-search", "backtracking"} & set(map(str, form.values())))
        for T in (300,) if is_quick else (300, 1100):
            parameters = with_horizon(method, form, T // 2 if is_slow else T)
            yield ReplayCase(make_instance(kind), parameters)
        if not (is_slow or is_sliding):
            T = 1_600 if form is not first else 3_000 if is_quick else 21_000
            yield _make_longest_case(method, form, kind, T)
    if "tolerance" in first and "lo" in method.requires:
        yield ReplayCase(make_instance(kind), {**first, "tolerance": 1e-7, "iterations": 4})
    names = {f.name for f in fields(method)} if is_sliding else ()
    sharp = {k: gap for k, gap in {"tolerance": 1e-3, "diameter": 0.1}.items() if k in names}
    if sharp:  # inner loops of a hundred steps
        problem = make_instance({**kind, "kind": "octahedron"}, (2, 3))
        yield ReplayCase(problem, {**first, **sharp, "iterations": 12})


def _make_longest_case(method: Any, parameters: Values, kind: Values, T: int) -> ReplayCase:
    """Return a case of a long run that does not converge, in which every branch is often taken.

    The minimiser is inside a large ball, except for sums of full gradients, as in heavy ball:
    rounding would soon decide the vertices of these.
    """
    values, step = dict(_LONGEST), parameters.get("step")
    if isinstance(step, float) and step_size_scaling_exponent(method):
        values["step"] = step / 10.0
    values = {name: values.get(name, value) for name, value in parameters.items()}
    is_sum = method.deterministic and "lo" in method.requires and "convex" in method.assumes
    interior = {"radius": 4.0} if kind["kind"] == "ball" and not is_sum else {}
    return ReplayCase(make_instance({**kind, **interior, "n": 3}), with_horizon(method, values, T))


def iterate_count_cases(method: Any, effort: str, seed: int = 0) -> Iterator[ReplayCase]:
    """Yield short cases on which counts are compared, then a long one if counts are not random.

    See `iterate_replay_cases`.
    """
    for case in iterate_replay_cases(method, effort, seed):
        is_usual = not (case.is_extreme or case.has_matrix_points)
        if is_usual and case.horizon <= NEEDED["iterations"]:
            yield case
    parameters, kind = list_method_forms(method)[0], list_problem_kinds(method)[0]
    is_open = "condg" in dir(method) or "refresh" in parameters or "polytope" in method.requires
    if not is_open and "iterations" in parameters:
        yield _make_longest_case(method, parameters, kind, LONG_COUNT)


def _iterate_problem_and_method_extremes(
    method: Any, first: Values
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield options of extreme test problems, each with the changed parameters of the method."""
    has_batch = "batch" in first
    for n in (1, 2, 5):
        yield {"n": n}, {"snapshot": n, "subepochs": 1} if "subepochs" in first else {}
    yield {"n": 10_000}, {"batch": 32} if has_batch else {"iterations": 10}
    for batch in (11, 12) if has_batch else ():
        yield {}, {"batch": batch}
    for shape in ((300,), MATRIX[::-1], (3, 3)):  # one has more rows than columns
        yield {"shape": shape}, {}
    scaled = {by: scale_parameters_with_objective(method, first, by) for by in (*SCALES, _HEAVY)}
    for by in SCALES:
        yield {"scale": by}, scaled[by] | {"iterations": 40}
    yield {"heavy": _HEAVY}, scaled[_HEAVY] | {"iterations": 60}
    yield {"heavy": _GROWTH}, {"iterations": 12}
    if first.get("step") == NEEDED["step"] and step_size_scaling_exponent(method) == 0:
        yield {"at_vertex": True}, {"step": 1.0}
        if "lo" in method.requires and "norm" not in method.requires:
            corner = {"kind": "octahedron", "at_vertex": True}
            yield corner, {"step": 1.0, "iterations": 60}
    if "period" in first and "restarts" not in first:
        for period, T in _PERIODS:
            # The output of a loop that is cut short is not defined where points are picked.
            rest = T % period if method.name == "sarah" else 0
            yield {}, {"period": period, "iterations": T - rest}
    if "refresh" in first:
        yield {}, {"refresh": 0.001, "iterations": 320}
    for name, value in first.items():
        if isinstance(value, float):
            yield {}, {name: value / _SMALL, "iterations": 20}
    weights = {"refresh", "alpha", "table_weight"} & first.keys()
    yield from (({}, {name: 1.0}) for name in sorted(weights))


def with_horizon(method: Any, parameters: Mapping[str, Any], T: int) -> dict[str, Any]:
    """Return the parameters with `iterations` = T, divided by the number of restarts if any."""
    if "iterations" not in {f.name for f in fields(method)}:
        return dict(parameters)
    restarts = parameters.get("restarts") or (3 if parameters.get("probability") else 1)
    return {**parameters, "iterations": max(2, T // restarts)}


def _is_allowed(method: Any, parameters: dict[str, Any]) -> bool:
    if "iterations" not in {f.name for f in fields(method)}:
        parameters.pop("iterations", None)
    try:
        method(**parameters)
    except InputError:
        return False
    return True
