"""Where methods are followed: the problems; other scales, the size of use, and long runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pfbench.claims.methods.extremes import scaled
from pfbench.verification import Instance, instance
from pfbench.verification.instruments.waves import on_ball, on_octahedron, on_space, with_penalty
from pfbench.verification.laws import Method, Setting, setting
from pfbench.verification.laws.method import Parameters


class Small(Instance):
    """A problem of three components, of which draws are enumerated; and of another number."""

    @cached_property
    def one(self) -> Instance:
        """It with one component: only the output's draw is left."""
        return instance(self.build, n=1)

    @cached_property
    def two(self) -> Instance:
        """It with two components."""
        return instance(self.build, n=2)

    @cached_property
    def seven(self) -> Instance:
        """It with seven components, which no batch here divides."""
        return instance(self.build, n=7)


BALL, SPACE, OCTAHEDRON = Small(on_ball), Small(on_space), Small(on_octahedron)
PENALTY = Small(with_penalty)
FEW_ON_BALL = instance(on_ball, n=300, d=10, rare=30).called("on_ball n=300 d=10")
"""Where methods are followed."""

SCALES = (1e3, 1e-3)
"""Factors of f with which methods are followed, too: no number of theirs has a size of its own."""

SIZES = MappingProxyType({"iterations": 2000, "batch": 32, "period": 67, "refresh": 0.03})
"""Those of a run at the size of use; some 30 epochs are begun."""

MANY = MappingProxyType(
    {"iterations": 6000, "batch": 5, "period": 9, "refresh": 0.3, "snapshot": 60}
)
"""Those of a long run of few components and variables: hundreds of epochs and of coins are seen."""

LONG = MappingProxyType({"iterations": 1300, "batch": 5, "period": 400})
"""Epochs of more steps than a byte counts."""


def few(problem: Instance) -> Instance:
    """Return a problem with few components and variables; a ball has corners, as steps may end."""
    build = on_octahedron if problem.build is on_ball else problem.build
    made = replace(instance(problem, n=300, d=10, rare=30), build=build)
    return made.called(f"{build.__name__} n=300 d=10")


def sized(problem: Instance, **parameters: Any) -> Setting:
    """Return a setting on a problem of the size of use; of fewer components without batches."""
    n = 10_000 if "batch" in parameters else 2_000
    made = instance(problem, n=n, d=100, rare=n // 10)
    return Setting(made.called(f"{problem.name} n={n} d=100"), parameters)


def with_outputs(
    problem: Instance, *of: str, lengths: tuple[int, ...] = (8, 21), **given: Any
) -> tuple[Setting, ...]:
    """Return settings with outputs after runs of so many steps, in which their law is looked at."""
    every = ({"iterations": T, "output": output} for T in lengths for output in of)
    return tuple(setting(problem, **given, **one) for one in every)


def at_scales(method: Method) -> Method:
    """Return a method that is followed where f is larger and smaller by `SCALES`, too."""
    slides = any("tolerance" in one.parameters for one in method.followed)

    def fits(one: Setting) -> bool:
        # What stays as it is would be all, or nothing: a penalty, or a tolerance of 1/N.
        stays = slides and "smoothness" in one.parameters and "tolerance" not in one.parameters
        return one.problem.build is not with_penalty and not stays

    def more(settings: Sequence[Setting], most: int) -> tuple[Setting, ...]:
        fitting = list(filter(fits, settings))[:most]
        return (*settings, *(scaled(method, one, by) for one in fitting for by in SCALES))

    enumerated, followed = more(method.enumerated, 1), more(method.followed, len(method.followed))
    return replace(method, enumerated=enumerated, followed=followed)


def at_size(method: Method) -> Method:
    """Return a method that is followed at `SIZES`, too, unless it says how.

    Where a reference gradient may be that of a batch, one of 500 is followed, too; where a step or
    a weight may be left to the method, which lets it fade, that form; and where components may be
    drawn by their L_i, that one for a quarter of the steps. At last come runs of many epochs.
    """
    first = method.followed[0]
    if method.sized or "iterations" not in first.parameters:
        return method
    given = {**first.parameters, **{k: v for k, v in SIZES.items() if k in first.parameters}}
    forms: list[Parameters] = [{}]
    if any("snapshot" in one.parameters and "period" in one.parameters for one in method.followed):
        forms.append({"snapshot": 500})
    fading: dict[str, Any] = {
        name: None
        for one in method.followed
        for name in ("step", "alpha")
        if name in given and one.parameters.get(name, 0.0) is None
    }
    if fading:
        forms.append(fading)
    if any("sampling" in one.parameters for one in method.followed):
        forms.append({"iterations": SIZES["iterations"] // 4, "sampling": "importance"})
    found = (sized(first.problem, **{**given, **form}) for form in forms)
    return replace(method, sized=(*found, *many_epochs(method, fading)))


def many_epochs(method: Method, fading: Parameters) -> Iterator[Setting]:
    """Yield settings of few components and many epochs, one for each form; see `MANY`.

    A form is which parameters are given, and what no number says; but that of several runs, each
    from the start. Some epochs are long, too.
    """
    forms = dict[frozenset[tuple[str, Any]], Setting]()
    for one in method.followed:
        if "restarts" in one.parameters or "probability" in one.parameters:
            continue
        given = one.parameters.items()
        form = {k: v if k == "option" or isinstance(v, str) else None for k, v in given}
        forms.setdefault(frozenset(form.items()), one)
    for one in forms.values():
        known = {k: v for k, v in MANY.items() if k in one.parameters}
        yield Setting(few(one.problem), {**one.parameters, **known, **fading})
    if "period" in method.followed[0].parameters:
        known = {k: v for k, v in LONG.items() if k in method.followed[0].parameters}
        yield Setting(few(method.followed[0].problem), {**method.followed[0].parameters, **known})


def at_length(method: Method) -> Method:
    """Return a method whose output is looked at after long runs of few components, too.

    Where the output is no draw, but follows from the run, it is compared along the run at size.
    """
    outputs = dict.fromkeys(one.parameters.get("output") for one in method.chosen)
    follows = method.outputs is not None and method.at_end is None
    if follows or not method.sized:
        return method
    first = method.sized[0]
    problem = instance(first.problem, n=7, d=8, rare=0)
    seven = problem.called(f"{first.problem.name.split(' ')[0]} n=7 d=8")
    batch = {"batch": 3} if "batch" in first.parameters else {}
    long = (Setting(seven, {**first.parameters, **batch, "output": one}) for one in outputs if one)
    return replace(method, long=tuple(long))
