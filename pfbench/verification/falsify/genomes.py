"""Genomes of the search: drawn, mutated, repaired into the class, and simplified."""

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pfbench.verification.falsify.searched_set import Genome

_STRUCTURE = ("family", "n", "d", "set", "chain")
_SIMPLE = (0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 3.0)
_DENOMINATORS = (1, 2, 4, 3, 5, 8, 10, 16, 20, 50, 100, 1000)


@dataclass(frozen=True)
class InstanceClass:
    """The instances that a statement admits.

    Attributes
    ----------
    sets
        Which sets: "none", "box", "hull", "ball".
    convex, strong, components
        Whether f is convex, strongly convex, and each component convex.
    sums
        Whether components matter.
    size
        Largest dimension.
    """

    sets: tuple[str, ...]
    convex: bool
    strong: bool
    components: bool
    sums: bool
    size: int


def draw_genome(rng: np.random.Generator, cls: InstanceClass, T: int) -> Genome:
    """Return a fresh genome for runs of T steps."""
    kind = str(rng.choice(cls.sets))
    separable = (kind == "none" and rng.random() < 0.7) or (kind == "box" and rng.random() < 0.5)
    n = int(rng.choice([1, 2, 3, 4, 10, 30], p=[0.2, 0.4, 0.2, 0.1, 0.07, 0.03])) if cls.sums else 1
    large = [k for k in (5, 10, 30, 100) if k <= cls.size]
    d = int(rng.choice(large)) if large and T <= 1024 and rng.random() < 0.15 else 0
    genome: Genome = {"family": "separable" if separable else "quadratic", "n": n, "set": kind}
    if separable:
        count = 1 if d or rng.random() < 0.7 else 2
        genome["d"] = d or int(rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))
        genome["profiles"] = [_draw_profile(rng, n, T) for _ in range(count)]
        genome["start"] = [_draw_number(rng, 0.6) for _ in range(count)]
        if rng.random() < 0.3:  # a knot that is reached at the end of the run only
            power = int(rng.choice([1, 1, 2]))
            genome["start"] = [float(T) ** power * math.exp(rng.uniform(-2.0, 1.0))]
            genome["profiles"][0] = _draw_profile(rng, n, T, 1)
            genome["profiles"][0] |= {"knots": [0.0], "slopes": [1.0, 0.0], "anchor": 1.0}
    else:
        genome["d"] = d or int(rng.choice([1, 2, 3, 4], p=[0.3, 0.4, 0.2, 0.1]))
        size = min(genome["d"], 4)
        genome["eigenvalues"] = _draw_eigenvalues(rng, size)
        for name in ("centre", "start", "push"):
            genome[name] = [_draw_number(rng, 0.6) for _ in range(size)]
        genome["axis"] = [_draw_number(rng) for _ in range(size)] if rng.random() < 0.4 else []
        genome["offsets"] = [[_draw_number(rng) for _ in range(size)] for _ in range(n - 1)]
        if d and rng.random() < 0.3:
            genome["chain"] = True
        if rng.random() < 0.3:
            genome["push"] = [0.0] * size
    if kind == "box":
        sides = 1 if rng.random() < 0.5 else min(genome["d"], 3)
        genome["sides"] = [[_draw_number(rng), abs(_draw_number(rng)) + 0.5] for _ in range(sides)]
    elif kind == "ball":
        genome["radius"] = abs(_draw_number(rng)) + 0.5
    elif kind == "hull":
        _draw_hull(rng, genome)
    return repair_genome(genome, cls)


def _draw_profile(rng: np.random.Generator, n: int, T: int, knots: int | None = None) -> Genome:
    count = int(rng.integers(0, 4)) if knots is None else knots
    gaps = [_draw_number(rng)] + [abs(_draw_number(rng)) for _ in range(count - 1)] if count else []
    if count > 1 and rng.random() < 0.3:
        gaps[-1] = 1.0 / T
    slopes = [float(rng.choice([1.0, 0.0, -1.0, 0.5, rng.random()])) for _ in range(count + 1)]
    if rng.random() < 0.6:
        slopes[-1] = 1.0
    offsets = [[_draw_number(rng) for _ in range(count + 2)] for _ in range(n - 1)]
    if n > 1 and rng.random() < 0.3:  # one component against all others
        offsets = [[-_draw_number(rng)] * (count + 2)] * (n - 1)
    anchor = _draw_number(rng, 0.4)
    return {"knots": gaps, "slopes": slopes, "anchor": anchor, "offsets": deepcopy(offsets)}


def _draw_eigenvalues(rng: np.random.Generator, size: int) -> list[float]:
    style = rng.random()
    if style < 0.3:
        values = [1.0] * size
    elif style < 0.6:
        values = [float(10.0 ** -rng.uniform(0, 3)) for _ in range(size)]
    else:
        values = [abs(_draw_number(rng)) for _ in range(size)]
    if size > 1 and rng.random() < 0.3:
        values[0] = 0.0
    return values


def _draw_hull(rng: np.random.Generator, genome: Genome) -> None:
    d = genome["d"]
    style = rng.random()
    if style < 0.4:
        vertices = np.eye(d).tolist()
    elif style < 0.7:
        vertices = [row for unit in np.eye(d) for row in (unit.tolist(), (0.0 - unit).tolist())]
    else:
        count = int(rng.integers(2, 7))
        vertices = [[_draw_number(rng) for _ in range(d)] for _ in range(count)]
    if len(vertices) == 1:
        vertices.append([0.0] * d)
    genome["vertices"] = vertices
    count = min(len(vertices), 6)
    genome["centre"] = [abs(_draw_number(rng)) for _ in range(count)]
    genome["start"] = [abs(_draw_number(rng, 0.4)) for _ in range(count)]
    if rng.random() < 0.5:
        genome["start"] = np.eye(count)[int(rng.integers(count))].tolist()


def _draw_number(rng: np.random.Generator, simple: float = 0.5) -> float:
    if rng.random() < simple:
        return float(rng.choice(_SIMPLE))
    return float(rng.choice([-1.0, 1.0]) * np.exp(rng.normal()))


def repair_genome(genome: Genome, cls: InstanceClass) -> Genome:
    """Project a genome into its class, in place; return it."""
    for row in (genome, *genome.get("profiles", ())):
        del row.get("offsets", [])[genome["n"] - 1 :]
    for row in genome.get("profiles", ()):
        slopes = row["slopes"]
        if cls.convex:
            slopes[:] = [abs(s) for s in slopes]
        if genome["set"] == "none":
            slopes[0], slopes[-1] = abs(slopes[0]), abs(slopes[-1])
            if slopes[0] == 0 and slopes[-1] == 0:
                slopes[0] = 1.0
            for offset in row["offsets"]:  # else the variance is unbounded
                offset[1] = offset[-1] = 0.0
        if cls.strong:
            largest = max(slopes) or 1.0
            slopes[:] = [s or largest / 8 for s in slopes]
        if cls.components and row["offsets"]:
            _limit_offsets(row)
    if genome["family"] == "quadratic":
        values = genome["eigenvalues"]
        values[:] = [abs(v) for v in values]  # of others the minimum is not known
        if cls.strong:
            values[:] = [v or (max(values) or 1.0) / 8 for v in values]
    return genome


def _limit_offsets(profile: Genome) -> None:
    """Shrink the offsets of slopes until each component is convex."""
    rows = profile["offsets"]
    for k, slope in enumerate(profile["slopes"], 1):
        lowest = min(*(row[k] for row in rows), -sum(row[k] for row in rows))
        if lowest < -slope:
            for row in rows:
                row[k] *= slope / -lowest


def _positions(genome: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the positions of the numbers of a genome: a container and a key."""
    items = genome.items() if isinstance(genome, dict) else enumerate(genome)
    for key, value in items:
        if key in _STRUCTURE:
            continue
        if isinstance(value, dict | list):
            yield from _positions(value)
        elif isinstance(value, float | Fraction):
            yield genome, key


def list_positions(genome: Genome) -> list[tuple[Any, Any]]:
    """Return the positions of the numbers of a genome: a container and a key each."""
    return list(_positions(genome))


def mutate_genome(rng: np.random.Generator, genome: Genome, cls: InstanceClass) -> Genome:
    """Return a genome in which one number or more are changed."""
    mutated = deepcopy(genome)
    positions = list_positions(mutated)
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


def genome_cost(genome: Genome) -> float:
    """Return the cost of a genome, which shrinking lowers."""
    costs = [2.0 + _cost(container[key]) for container, key in _positions(genome)]
    return 6.0 * float(genome["d"]) + 10.0 * float(genome["n"]) + sum(costs)


def count_numbers(genome: Genome) -> int:
    """Return the number of nonzero entries."""
    return sum(1 for container, key in _positions(genome) if container[key])


def simplify_structure(genome: Genome) -> Iterator[Genome]:
    """Yield genomes that are smaller: fewer components, coordinates, pieces and features."""

    def edit(change: Callable[[Genome], Any]) -> Genome:
        edited = deepcopy(genome)
        change(edited)
        return edited

    n, d, vertices = genome["n"], genome["d"], genome.get("vertices", [])
    for fewer in dict.fromkeys(k for k in (1, 2, 3, n // 2) if 0 < k < n):
        yield deepcopy(genome) | {"n": fewer}
    if not vertices:
        for fewer in dict.fromkeys(k for k in (1, 2, 3, d // 2, d - 1) if 0 < k < d):
            yield deepcopy(genome) | {"d": fewer}
    for k in range(min(d, 6) if vertices and d > 1 else 0):
        rows = [row[:k] + row[k + 1 :] for row in vertices]
        yield deepcopy(genome) | {"d": d - 1, "vertices": rows}
    if genome.get("chain"):
        yield edit(lambda g: g.pop("chain"))
    if genome.get("axis"):
        yield deepcopy(genome) | {"axis": []}
    for p, row in enumerate(genome.get("profiles", ())):
        for k in range(len(row["knots"])):
            copy = deepcopy(genome)
            twin = copy["profiles"][p]
            del twin["knots"][k], twin["slopes"][k]
            for offset in twin["offsets"]:
                del offset[k + 1]
            yield copy
    for k in range(len(vertices) if len(vertices) > 2 else 0):
        yield deepcopy(genome) | {"vertices": deepcopy(vertices[:k] + vertices[k + 1 :])}
    lists = ("profiles", "eigenvalues", "centre", "start", "push", "offsets", "sides")
    for key in lists:
        if len(genome.get(key, ())) > 1:
            yield deepcopy(genome) | {key: deepcopy(genome[key][:1])}


def simplify_numbers(genome: Genome) -> Iterator[Genome]:
    """Yield genomes in which one number is simpler."""
    for index, (container, key) in enumerate(_positions(genome)):
        for simpler in _simpler_values(container[key]):
            copy = deepcopy(genome)
            target, name = list_positions(copy)[index]
            target[name] = simpler
            yield copy


def _simpler_values(value: Any) -> Iterator[Fraction]:
    exact = Fraction(value)
    if not exact:
        return
    number = float(exact)
    candidates = [Fraction(0), Fraction(1), Fraction(-1)]
    candidates += [Fraction(round(number * q), q) for q in _DENOMINATORS]
    candidates += [Fraction(f"{number:.{k}e}") for k in range(3)]
    candidates.append(Fraction(2) ** round(math.log2(abs(number))) * (1 if number > 0 else -1))
    yield from dict.fromkeys(c for c in candidates if _cost(c) < _cost(exact))


def convert_to_text(value: Any) -> Any:
    """Return a genome as JSON: numbers as exact text."""
    if isinstance(value, dict):
        return {k: v if k in _STRUCTURE else convert_to_text(v) for k, v in value.items()}
    if isinstance(value, list):
        return [convert_to_text(v) for v in value]
    return str(Fraction(value)) if isinstance(value, float | Fraction) else value


def parse_genome(value: Any) -> Any:
    """Return a genome from `convert_to_text`."""
    if isinstance(value, dict):
        return {k: v if k in _STRUCTURE else parse_genome(v) for k, v in value.items()}
    if isinstance(value, list):
        return [parse_genome(v) for v in value]
    return Fraction(value) if isinstance(value, str) else value
