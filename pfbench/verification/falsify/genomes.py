"""Genomes, from which instances are built: drawing, mutating, repairing and simplifying them.

A genome is a dictionary with the family and the parameters of a test problem.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from pfbench.verification.falsify.searched_problem import Genome
from pfbench.verification.falsify.statement import Ratio, SearchedStatement, split_assumption

_STRUCTURE = ("family", "n", "d", "set", "chain")
SETS = ("none", "box", "hull", "ball")
"""The feasible sets of the search; "none" is the whole space."""

MARGIN = 1e-7
"""An instance is a candidate if its ratio in floats exceeds 1 by more than this."""

_COUNTS = {1: 0.2, 2: 0.4, 3: 0.2, 4: 0.1, 10: 0.07, 30: 0.03}
_SMALL = {1: 0.5, 2: 0.3, 3: 0.15, 4: 0.05}
_SIMPLE = (0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 3.0)
_DENOMINATORS = (1, 2, 4, 3, 5, 8, 10, 16, 20, 50, 100, 1000)


class InstanceClass:
    """Class of the problem instances that meet the assumptions of a statement.

    Attributes
    ----------
    sets
        Which sets: "none", "box", "hull", "ball".
    convex, strong, components
        Whether f is convex, strongly convex; and what is assumed of the convexity of components.
    counts, small, large
        Numbers of components, and dimensions, that its comparisons admit.
    bounded_variance
        Whether the gradients of components differ by bounded vectors on the whole space.
    """

    def __init__(self, statement: SearchedStatement, families: Sequence[str], size: int) -> None:
        requires = frozenset(getattr(statement.method, "requires", ()))
        sets: tuple[str, ...] = ("none",)
        if "lo" in requires:
            sets = ("box", "hull", "hull", "ball")
        elif "prox" in requires and "smooth" not in requires:
            is_free = [item.example().unconstrained for item in statement.claim.instances]
            sets = sets if is_free and all(is_free) else ("none", "box", "ball")
        self.sets = [k for k in sets if k in families] or sets
        parts = [part for text in statement.conditions for part in split_assumption(text)]
        convex = [part for part in parts if re.match("(?!.*(?:non|not |set)).*convex", part)]
        counts = (1,) if statement.is_deterministic else _COUNTS
        self.counts = [n for n in counts if statement.admits("n", n)] or [1]
        self.small = [d for d in _SMALL if d <= size and statement.admits("d", d)] or [1]
        self.large = [d for d in (5, 10, 30, 100) if d <= size and statement.admits("d", d)]
        self.convex, self.strong = bool(convex), any("strongly" in part for part in convex)
        self.components = [part for part in convex if "f_i" in part]
        self.bounded_variance = any(re.search("variance|σ|sigma", part) for part in parts)


@dataclass(eq=False)
class Entry:
    """Genome of a problem, with the number of steps, the run's seed and the measured ratio."""

    genome: Genome
    T: int
    seed: int
    result: Ratio = field(default_factory=Ratio)

    @property
    def ratio(self) -> float:
        """Largest ratio of the measured quantity to its bound, as a float."""
        return float(self.result.ratio)

    @property
    def score(self) -> float:
        """Ratio that the search increases: the largest after the start, unless one exceeds 1."""
        return self.ratio if self.ratio > 1.0 + MARGIN else min(self.ratio, self.result.after_start)

    @cached_property
    def kind(self) -> tuple[Any, ...]:
        """Key of similar entries: family, set, sizes, and number of parameters divided by 4."""
        g = self.genome
        return g["family"], g["set"], g["d"], g["n"], len(list_number_positions(g)) // 4

    @cached_property
    def is_nonconvex(self) -> bool:
        """Whether f is not convex."""
        return any(slope < 0 for row in self.genome.get("profiles", ()) for slope in row["slopes"])


def list_hard_genomes(cls: InstanceClass, T: int) -> Iterator[Genome]:
    """Yield descriptions (genomes) of problems on which bounds for T steps are nearly attained.

    They are those of `hard_genomes.toml` that the class admits.
    """
    text = (files(__package__) / "hard_genomes.toml").read_text(encoding="utf-8")
    n = 2 if 2 in cls.counts else min(cls.counts)
    for genome in tomllib.loads(text.replace("@T", f"{T:.1f}"))["genome"]:
        if genome["set"] in cls.sets and genome["d"] in (*cls.small, *cls.large):
            units = np.eye(max(genome["d"], 2))[:, : genome["d"]].tolist()
            hull = {"vertices": units} if genome["set"] == "hull" else {}
            yield repair_genome({"n": n} | hull | genome, cls)


def draw_genome(rng: np.random.Generator, cls: InstanceClass, T: int) -> Genome:
    """Return the description (genome) of a random problem of the class, for runs of T steps."""
    kind = str(rng.choice(cls.sets))
    n = _draw_size(rng, _COUNTS, cls.counts)
    is_large = cls.large and T <= 1024 and rng.random() < 0.15
    d = int(rng.choice(cls.large)) if is_large else _draw_size(rng, _SMALL, cls.small)
    genome: Genome = {"family": "quadratic", "n": n, "set": kind, "d": d}
    if (kind == "none" and rng.random() < 0.7) or (kind == "box" and rng.random() < 0.5):
        count = 1 if is_large or rng.random() < 0.7 else 2
        genome |= {"family": "separable", "start": _draw_numbers(rng, count, 0.6)}
        genome["profiles"] = [_draw_profile(rng, n, T, int(rng.integers(4))) for _ in range(count)]
        if rng.random() < 0.3:  # a knot that is reached at the end of the run only
            power = int(rng.choice([1, 1, 2]))
            genome["start"] = [float(T) ** power * math.exp(rng.uniform(-2.0, 1.0))]
            genome["profiles"][0] = _draw_profile(rng, n, T, 1)
            genome["profiles"][0] |= {"knots": [0.0], "slopes": [1.0, 0.0], "anchor": 1.0}
    else:
        size = min(d, 4)
        genome |= {name: _draw_numbers(rng, size, 0.6) for name in ("centre", "start", "push")}
        genome["axis"] = _draw_numbers(rng, size) if rng.random() < 0.4 else []
        genome["offsets"] = [_draw_numbers(rng, size) for _ in range(n - 1)]
        share = rng.random()
        genome["eigenvalues"] = [1.0] * size if share < 0.3 else _draw_numbers(rng, size)
        if 0.3 <= share < 0.6:
            genome["eigenvalues"] = (10.0 ** -rng.uniform(0, 3, size)).tolist()
        if size > 1 and rng.random() < 0.3:
            genome["eigenvalues"][0] = 0.0
        if is_large and rng.random() < 0.3:
            genome["chain"] = True
        if rng.random() < 0.3:
            genome["push"] = [0.0] * size
    if kind == "box":
        sides = 1 if rng.random() < 0.5 else min(d, 3)
        pairs = (_draw_numbers(rng, 2) for _ in range(sides))
        genome["sides"] = [[low, abs(length) + 0.5] for low, length in pairs]
    elif kind == "ball":
        genome["radius"] = abs(_draw_numbers(rng, 1)[0]) + 0.5
    elif kind == "hull":
        _draw_hull(rng, genome)
    return repair_genome(genome, cls)


def _draw_size(rng: Any, shares: Mapping[int, float], options: Sequence[int]) -> int:
    """Return one of `options`, drawn with probabilities in proportion to `shares`."""
    chosen = np.array([shares[option] for option in options])
    return int(rng.choice(options, p=chosen / chosen.sum()))


def _draw_profile(rng: np.random.Generator, n: int, T: int, count: int) -> Genome:
    gaps = _draw_numbers(rng, count)
    if count > 1 and rng.random() < 0.3:
        gaps[-1] = 1.0 / T
    slopes = [float(rng.choice([1.0, 0.0, -1.0, 0.5, rng.random()])) for _ in range(count + 1)]
    if rng.random() < 0.6:
        slopes[-1] = 1.0
    offsets = [_draw_numbers(rng, count + 2) for _ in range(n - 1)]
    if n > 1 and rng.random() < 0.3:  # one component against all others
        size = -_draw_numbers(rng, 1)[0]
        offsets = [[size] * (count + 2) for _ in range(n - 1)]
    anchor = _draw_numbers(rng, 1, 0.4)[0]
    return {"knots": gaps, "slopes": slopes, "anchor": anchor, "offsets": offsets}


def _draw_hull(rng: np.random.Generator, genome: Genome) -> None:
    d, style, units = genome["d"], rng.random(), np.eye(genome["d"])
    vertices = units.tolist() if style < 0.4 else [*units.tolist(), *(0.0 - units).tolist()]
    if style >= 0.7:
        vertices = [_draw_numbers(rng, d) for _ in range(int(rng.integers(2, 7)))]
    if len(vertices) == 1:
        vertices.append([0.0] * d)
    count = min(len(vertices), 6)
    genome |= {"vertices": vertices, "centre": _draw_numbers(rng, count)}
    genome["start"] = _draw_numbers(rng, count, 0.4)
    if rng.random() < 0.5:
        genome["start"] = np.eye(count)[int(rng.integers(count))].tolist()


def _draw_numbers(rng: np.random.Generator, count: int, simple: float = 0.5) -> list[float]:
    draws = rng.choice([-1.0, 1.0], count) * np.exp(rng.normal(size=count))
    return list(map(float, np.where(rng.random(count) < simple, rng.choice(_SIMPLE, count), draws)))


def repair_genome(genome: Genome, cls: InstanceClass) -> Genome:
    """Change a genome in place so that its problem is in the class; return the genome."""
    for row in (genome, *genome.get("profiles", ())):
        del row.get("offsets", [])[genome["n"] - 1 :]
    for row in genome.get("profiles", ()):
        slopes = row["slopes"]
        if cls.convex:
            slopes[:] = [abs(s) for s in slopes]
        if genome["set"] == "none":
            slopes[0], slopes[-1] = abs(slopes[0]), abs(slopes[-1])
            slopes[0] = slopes[0] or float(slopes[-1] == 0)
            for offset in row["offsets"] if cls.bounded_variance else ():
                offset[1] = offset[-1] = 0.0
        if cls.strong:
            slopes[:] = [s or (max(slopes) or 1.0) / 8 for s in slopes]
        if cls.components and row["offsets"]:
            floor = min(slopes) if "strongly" in str(cls.components) else 0.0
            for k, slope in enumerate([slope - floor for slope in slopes], 1):
                column = [offset[k] for offset in row["offsets"]]
                lowest = min(*column, -sum(column))
                for offset in row["offsets"] if lowest < -slope else ():
                    offset[k] *= slope / -lowest
    if genome["set"] == "box" and len(genome["sides"]) == 1:
        ((low, length),) = genome["sides"]
        genome["start"] = [min(max(x, low), low + abs(length)) for x in genome["start"]]
    if genome["family"] == "quadratic":
        names = ("axis", "push", *(("centre", "start") if genome["set"] != "hull" else ()))
        rows = (genome["eigenvalues"], *genome.get("vertices", ()), *map(genome.get, names))
        for row in rows:
            del row[genome["d"] :]
        values = genome["eigenvalues"]
        values[:] = [abs(v) for v in values]  # of others the minimum is not known
        if cls.strong:
            values[:] = [v or (max(values) or 1.0) / 8 for v in values]
    return genome


def list_number_positions(genome: Any, kind: Any = float | Fraction) -> list[tuple[Any, Any]]:
    """Return the position of each number in a genome, as a pair (container, key)."""
    positions: list[tuple[Any, Any]] = []
    for key, value in genome.items() if isinstance(genome, dict) else enumerate(genome):
        if isinstance(value, dict | list):
            positions += list_number_positions(value, kind)
        elif key not in _STRUCTURE and isinstance(value, kind):
            positions.append((genome, key))
    return positions


def mutate_genome(rng: np.random.Generator, genome: Genome, cls: InstanceClass) -> Genome:
    """Return a copy of a genome with at least one number changed at random."""
    mutated = deepcopy(genome)
    positions = list_number_positions(mutated)
    scale = math.exp(rng.uniform(math.log(1e-3), 0.0))
    for _ in range(1 + int(rng.poisson(0.7))):
        container, key = positions[int(rng.integers(len(positions)))]
        value, share = float(container[key]), rng.random()
        if share < 0.7:
            value *= math.exp(scale * rng.normal())
        elif share < 0.85:
            value += scale * rng.normal()
        else:
            value = float(rng.choice([0.0, 1.0, -1.0, 0.5, -value, 2 * value]))
        container[key] = value
    return repair_genome(mutated, cls)


def _cost(value: Any) -> float:
    exact = Fraction(value)
    return 4.0 + math.log2(abs(exact.numerator) * exact.denominator) if exact else 0.0


def genome_complexity(genome: Genome) -> float:
    """Return a measure of a problem's complexity, which is computed from its genome.

    The measure increases with the number of components, the dimension, and the length of the
    numbers.
    """
    costs = [2.0 + _cost(container[key]) for container, key in list_number_positions(genome)]
    return 6.0 * float(genome["d"]) + 10.0 * float(genome["n"]) + sum(costs)


def _smaller_sizes(size: int) -> Iterable[int]:
    return dict.fromkeys(k for k in (1, 2, 3, size // 2, size - 1) if 0 < k < size)


def simplify_structure(genome: Genome) -> Iterator[Genome]:
    """Yield smaller genomes, which have fewer components, coordinates, pieces or features."""
    n, d, vertices = genome["n"], genome["d"], genome.get("vertices", [])
    changes: list[Genome] = [{"n": k} for k in _smaller_sizes(n)]
    changes += [{"d": k} for k in _smaller_sizes(d)]
    changes += [{"vertices": vertices[:k]} for k in _smaller_sizes(len(vertices)) if k > 1]
    for k in range(min(d, 6) if vertices and d > 1 else 0):
        changes.append({"d": d - 1, "vertices": [row[:k] + row[k + 1 :] for row in vertices]})
    changes += [{key: value} for key, value in (("chain", False), ("axis", [])) if genome.get(key)]
    for p, profile in enumerate(genome.get("profiles", ())):
        for k in range(len(profile["knots"])):
            shorter = deepcopy(genome["profiles"])
            rows: list[Any] = [shorter[p]["knots"], shorter[p]["slopes"], *shorter[p]["offsets"]]
            for row, index in zip(rows, (k, k, *[k + 1] * len(rows)), strict=False):
                del row[index]
            changes.append({"profiles": shorter})
    for k in range(len(vertices) if len(vertices) > 2 else 0):
        changes.append({"vertices": vertices[:k] + vertices[k + 1 :]})
    lists = ("profiles", "eigenvalues", "centre", "start", "push", "offsets", "sides")
    changes += [{key: genome[key][:1]} for key in lists if len(genome.get(key, ())) > 1]
    yield from (deepcopy(genome | change) for change in changes)


def simplify_number(genome: Genome, index: int) -> Iterator[Genome]:
    """Yield copies of a genome in which the number at a position is replaced by a simpler one."""
    container, key = list_number_positions(genome)[index]
    for simpler in _simpler_values(container[key]) if container[key] else ():
        copy = deepcopy(genome)
        target, name = list_number_positions(copy)[index]
        target[name] = simpler
        yield copy


def _simpler_values(value: Any) -> Iterator[Fraction]:
    exact, number = Fraction(value), float(value)
    candidates = [Fraction(0), Fraction(1), Fraction(-1)]
    candidates += [Fraction(round(number * q), q) for q in _DENOMINATORS]
    candidates += [Fraction(f"{number:.{k}e}") for k in range(3)]
    candidates.append(Fraction(2) ** round(math.log2(abs(number))) * (1 if number > 0 else -1))
    yield from dict.fromkeys(c for c in candidates if _cost(c) < _cost(exact))


def genome_as_json(genome: Genome) -> Any:
    """Return a genome as JSON, with numbers as text such as "1/3"."""
    return convert_numbers(genome, float | Fraction, lambda value: str(Fraction(value)))


def parse_genome(record: Any) -> Any:
    """Return the genome that `genome_as_json` wrote, with numbers as fractions."""
    return convert_numbers(record, str, Fraction)


def convert_numbers(genome: Any, kind: Any, convert: Callable[[Any], Any]) -> Any:
    """Return a copy of a genome with `convert` applied to all numbers of the type `kind`."""
    converted = deepcopy(genome)
    for container, key in list_number_positions(converted, kind):
        container[key] = convert(container[key])
    return converted
