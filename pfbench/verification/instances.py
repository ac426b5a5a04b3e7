"""The problems on which a claim is tested: somebody's own, ours, or a family by its selector."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.base.user_code import load

if TYPE_CHECKING:
    from pfbench.problems.catalogue import Entry


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem, or a family of them, on which a claim is tested.

    Attributes
    ----------
    build
        An importable function or class that makes it; its docstring says what it is, and why the
        claim binds there. A first parameter `rng` is a random generator.
    parameters
        What is fixed of its parameters.
    title
        What it is called where it is shown; as what makes it, if empty.
    """

    build: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""

    def __call__(self, *args: Any, **changed: Any) -> Any:
        """Make the problem; what is given replaces what is fixed."""
        return self.build(*args, **{**self.parameters, **changed})

    @property
    def key(self) -> str:
        """What tells its random streams from those of others: its parameters, else its name."""
        return " ".join(str(value) for value in self.parameters.values()) or self.name

    def called(self, title: str) -> "Instance":
        """Return it under another title."""
        return replace(self, title=title)

    @property
    def name(self) -> str:
        """Its title, else the name of what makes it."""
        return self.title or str(getattr(self.build, "__name__", self.build))

    @property
    def about(self) -> str:
        """What makes it says of itself."""
        found = getattr(self.build, "about", None)
        return found if isinstance(found, str) else inspect.getdoc(self.build) or ""

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of what it takes, those that are fixed left out."""
        every = inspect.signature(self.build).parameters
        return tuple(name for name in every if name not in self.parameters)

    @property
    def varies(self) -> bool:
        """Whether a random generator or a seed enters it."""
        return "rng" in self.takes[:1] or "seed" in self.takes

    def drawn(self, rng: np.random.Generator) -> Any:
        """Make one of the family by a random generator, if that enters it."""
        return self(rng) if "rng" in self.takes[:1] else self()

    def of_seed(self, seed: int, **changed: Any) -> Any:
        """Make the one of a seed, where a generator or a seed enters it."""
        if "rng" in self.takes[:1]:
            return self(np.random.default_rng(seed), **changed)
        return self(**({"seed": seed} if "seed" in self.takes else {}), **changed)

    def example(self) -> Any:
        """Make one of the family, the same each time."""
        return self.drawn(np.random.default_rng(0))


def redrawn(one: Instance, seed: int, name: str) -> Instance:
    """Return an instance of the same family, with other data where they are drawn.

    Whatever looks a problem up, by its name, its digest or its first gradient, does not find it.

    Parameters
    ----------
    seed
        That of the data, where the instance fixes one.
    name
        What its problem is called, if it can be called otherwise.
    """

    @wraps(one.build)
    def build(*args: Any, **parameters: Any) -> Any:
        made = one.build(*args, **parameters)
        return made.called(name, parameters) if hasattr(made, "called") else made

    knows_seed = isinstance(one.build, Family) and "seed" in one.build.known
    has_seed = "seed" in one.parameters or knows_seed
    parameters = {**one.parameters, **({"seed": seed} if has_seed else {})}
    return replace(one, build=build, parameters=parameters)


@dataclass(frozen=True)
class Family:
    """A family of the catalogue, by its name."""

    name: str

    def __call__(self, **parameters: Any) -> Any:
        """Build the problem."""
        from pfbench.problems.catalogue import problem

        return problem(self.name, **parameters)

    @property
    def entry(self) -> "Entry | None":
        """What the catalogue has of it; None if it has nothing of that name."""
        from pfbench.problems.catalogue import PROBLEMS

        return PROBLEMS.get(self.name)

    @property
    def known(self) -> tuple[str, ...]:
        """The parameters that it has."""
        return tuple(self.entry.parameters()) if self.entry else ()

    @property
    def about(self) -> str:
        """A line about it."""
        return self.entry.summary if self.entry else ""


@dataclass(frozen=True, eq=False)
class Same:
    """A problem that is there already."""

    problem: Any

    def __call__(self) -> Any:
        """Return it."""
        return self.problem

    @property
    def about(self) -> str:
        """What its class says of itself."""
        return inspect.getdoc(type(self.problem)) or ""


def instance(of: Any, **parameters: Any) -> Instance:
    """Return an instance with some of its parameters fixed.

    Parameters
    ----------
    of
        What makes it (see `Instance`), a problem, or a selector: the name of a family of the
        catalogue or MODULE:NAME, perhaps with parameters in brackets.
    parameters
        What is fixed of its parameters.

    Raises
    ------
    InputError
        If it is none of these, or a selector cannot be read.
    """
    if isinstance(of, Instance):
        return replace(of, parameters={**of.parameters, **parameters})
    if isinstance(of, str):
        selector = Selector.parse(of)
        build = load(selector.name) if ":" in selector.name else Family(selector.name)
        fixed = {**selector.given(texts_of(build)), **parameters}
        return Instance(build, fixed, selector.name)
    if hasattr(of, "start") and hasattr(of, "gradient") and not inspect.isclass(of):
        return Instance(Same(of), parameters, str(getattr(of, "name", "")))
    if callable(of):
        return Instance(of, parameters)
    raise InputError(
        f"{of!r} is no instance of a claim: give a problem, what makes one, or a selector."
    )


def texts_of(build: Any) -> list[str]:
    """Return the parameters of what makes a problem that are texts, however they look."""
    if isinstance(build, Family):
        from pfbench.base.parameters import texts_of as declared_texts

        return list(declared_texts(build.entry.parameters())) if build.entry else []
    every = inspect.signature(build).parameters.values()
    return [one.name for one in every if one.annotation in (str, "str")]
