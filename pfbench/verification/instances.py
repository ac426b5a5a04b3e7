"""Problems on which claims are tested, as builder functions, built problems or selectors."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.parameters import string_parameter_names
from pfbench.base.selectors import Selector
from pfbench.base.user_code import load_user_object

if TYPE_CHECKING:
    from pfbench.problems.catalogue import ProblemEntry


@dataclass(frozen=True, eq=False)
class Instance:
    """Problem, or family of problems, on which a claim is tested.

    Attributes
    ----------
    build
        An importable function or class that builds the problem. Its docstring describes the problem
        and says why the bound is tight there. A first parameter `rng` is a random generator.
    parameters
        Fixed parameters of `build`.
    title
        Displayed name; by default the name of `build`.
    """

    build: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""

    def __call__(self, *args: Any, **changed: Any) -> Any:
        """Build and return the problem; arguments override the fixed parameters."""
        return self.build(*args, **{**self.parameters, **changed})

    @property
    def stream_key(self) -> str:
        """Text that seeds random streams: the values of the fixed parameters, or else the name."""
        return " ".join(str(value) for value in self.parameters.values()) or self.name

    def with_title(self, title: str) -> "Instance":
        """Return a copy of the instance with another title."""
        return replace(self, title=title)

    @property
    def name(self) -> str:
        """Title of the instance, or else the name of the function that builds it."""
        return self.title or str(getattr(self.build, "__name__", self.build))

    @property
    def label(self) -> str:
        """Name with the fixed parameters, which distinguishes instances of the same builder."""
        return f"{self.name} {self.stream_key}"

    @property
    def description(self) -> str:
        """Docstring of the function or class that builds the problem."""
        value = getattr(self.build, "description", None)
        return value if isinstance(value, str) else inspect.getdoc(self.build) or ""

    @property
    def free_parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters of `build` that are not fixed."""
        parameters = inspect.signature(self.build).parameters
        return tuple(name for name in parameters if name not in self.parameters)

    @property
    def varies(self) -> bool:
        """Whether the problem depends on a random generator or on a seed that is not fixed."""
        return "rng" in self.free_parameter_names[:1] or "seed" in self.free_parameter_names

    def build_with_generator(self, rng: np.random.Generator) -> Any:
        """Build the problem; pass the random generator to `build` if it takes one."""
        return self(rng) if "rng" in self.free_parameter_names[:1] else self()

    def build_seeded(self, seed: int, **changed: Any) -> Any:
        """Build the problem; pass the seed, or a generator with this seed, if `build` takes one."""
        if "rng" in self.free_parameter_names[:1]:
            return self(np.random.default_rng(seed), **changed)
        return self(**({"seed": seed} if "seed" in self.free_parameter_names else {}), **changed)

    def example(self) -> Any:
        """Build an example of the problem; each call builds the same one."""
        return self.build_with_generator(np.random.default_rng(0))


def with_other_data_seed(instance: Instance, seed: int, name: str) -> Instance:
    """Return a copy of an instance whose problem has another data seed and another name.

    A method then cannot recognise the problem by its name, its digest or its first gradient.

    Parameters
    ----------
    seed
        Seed of the data, used if the instance has a seed.
    name
        New name of the problem, if its name can be changed.
    """

    @wraps(instance.build)
    def build(*args: Any, **parameters: Any) -> Any:
        created = instance.build(*args, **parameters)
        rename = getattr(created, "with_selector", None)
        return rename(name, parameters) if rename else created

    family = instance.build if isinstance(instance.build, CatalogueFamily) else None
    has_seed = "seed" in instance.parameters or (family and "seed" in family.parameter_names)
    parameters = {**instance.parameters, **({"seed": seed} if has_seed else {})}
    return replace(instance, build=build, parameters=parameters)


@dataclass(frozen=True)
class CatalogueFamily:
    """Builder of problems of the built-in family with this name."""

    name: str

    def __call__(self, **parameters: Any) -> Any:
        """Build and return a problem of the family with these parameters."""
        from pfbench.problems.catalogue import problem

        return problem(self.name, **parameters)

    @property
    def catalogue_entry(self) -> "ProblemEntry | None":
        """Description of the built-in family, or None if there is no family of this name."""
        from pfbench.problems.catalogue import PROBLEMS

        return PROBLEMS.get(self.name)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the built-in family's parameters; empty if there is no family of this name."""
        return tuple(self.catalogue_entry.parameters()) if self.catalogue_entry else ()

    @property
    def description(self) -> str:
        """Summary of the built-in family; empty if there is no family of this name."""
        return self.catalogue_entry.summary if self.catalogue_entry else ""


@dataclass(frozen=True, eq=False)
class FixedProblem:
    """Builder of an instance that always returns the same, existing problem."""

    problem: Any

    def __call__(self) -> Any:
        """Return the existing problem."""
        return self.problem

    @property
    def description(self) -> str:
        """Docstring of the problem's class."""
        return inspect.getdoc(type(self.problem)) or ""


def make_instance(source: Any, **parameters: Any) -> Instance:
    """Make an instance from a problem builder, a problem or a selector, with fixed parameters.

    Parameters
    ----------
    source
        A function or class that builds a problem (see `Instance`), a problem, or a selector: the
        name of a family of the catalogue or MODULE:NAME, optionally with parameters in brackets.
    parameters
        Parameters to fix.

    Raises
    ------
    InputError
        If `source` is none of these, or a selector cannot be parsed.
    """
    if isinstance(source, Instance):
        return replace(source, parameters={**source.parameters, **parameters})
    if isinstance(source, str):
        selector = Selector.parse(source)
        load = load_user_object if ":" in selector.name else CatalogueFamily
        build = load(selector.name)
        fixed = {**selector.parameter_values(text_parameters(build)), **parameters}
        return Instance(build, fixed, selector.name)
    if hasattr(source, "start") and hasattr(source, "gradient") and not inspect.isclass(source):
        return Instance(FixedProblem(source), parameters, str(getattr(source, "name", "")))
    if callable(source):
        return Instance(source, parameters)
    raise InputError(
        f"{source!r} is not an instance of a claim: give a problem, its builder, or a selector."
    )


def text_parameters(build: Any) -> list[str]:
    """Return the names of those parameters of a problem builder that take strings."""
    if isinstance(build, CatalogueFamily):
        entry = build.catalogue_entry
        return list(string_parameter_names(entry.parameters())) if entry else []
    full_list = inspect.signature(build).parameters.values()
    return [parameter.name for parameter in full_list if parameter.annotation in (str, "str")]
