"""Genomes of the search: drawn, changed, repaired into the class, and simplified."""

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pfbench.verification.falsify.bodies import Genome

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
    bounded_variance
        Whether the variance must be bounded.
    penalty
        Whether a penalty may be added.
    size
        Largest dimension.
    """

    sets: tuple[str, ...]
    convex: bool
    strong: bool
    components: bool
    sums: bool
    bounded_variance: bool
    penalty: bool
    size: int


def draw(rng: np.random.Generator, cls: InstanceClass, T: int) -> Genome:
    """Return a fresh genome for runs of T steps."""
    kind = str(rng.choice(cls.sets))
    separable = (kind == "none" and rng.random() < 0.7) or (kind == "box" and rng.random() < 0.5)
    n = int(rng.choice([1, 2, 3, 4, 10, 30], p=[0.2, 0.4, 0.2, 0.1, 0.07, 0.03])) if cls.sums else 1
    large = [k for k in (5, 10, 30, 100) if k <= cls.size]
    d = int(rng.choice(large)) if large and T <= 1024 and rng.random() < 0.15 else 0
    genome: Genome = {"family": "separable" if separable else "quadratic", "n": n, "set": kind}
    if separable:
        profiles = 1 if d or rng.random() < 0.7 else 2
        genome["d"] = d or int(rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))
        genome["profiles"] = [_profile(rng, n, T) for _ in range(profiles)]
        genome["start"] = [_number(rng, 0.6) for _ in range(profiles)]
        if rng.random() < 0.3:  # a knot that is reached at the end of the run only
            power = int(rng.choice([1, 1, 2]))
            genome["start"] = [float(T) ** power * math.exp(rng.uniform(-2.0, 1.0))]
            one = genome["profiles"][0] = _profile(rng, n, T, 1)
            one["knots"], one["slopes"], one["anchor"] = [0.0], [1.0, 0.0], 1.0
        if cls.penalty and rng.random() < 0.3:
            genome["weight"] = abs(_number(rng))
    else:
        genome["d"] = d or int(rng.choice([1, 2, 3, 4], p=[0.3, 0.4, 0.2, 0.1]))
        size = min(genome["d"], 4)
        genome["eigenvalues"] = _eigenvalues(rng, size)
        for name in ("centre", "start", "push"):
            genome[name] = [_number(rng, 0.6) for _ in range(size)]
        genome["axis"] = [_number(rng) for _ in range(size)] if rng.random() < 0.4 else []
        genome["offsets"] = [[_number(rng) for _ in range(size)] for _ in range(n - 1)]
        if d and rng.random() < 0.3:
            genome["chain"] = True
        if rng.random() < 0.3:
            genome["push"] = [0.0] * size
    if kind == "box":
        sides = 1 if rng.random() < 0.5 else min(genome["d"], 3)
        genome["sides"] = [[_number(rng), abs(_number(rng)) + 0.5] for _ in range(sides)]
    elif kind == "ball":
        genome["radius"] = abs(_number(rng)) + 0.5
    elif kind == "hull":
        _hull(rng, genome)
    if rng.random() < 0.1:
        _scale(genome, 10.0 ** int(rng.integers(-3, 4)), 10.0 ** int(rng.integers(-3, 4)))
    return repair(genome, cls)


def _profile(rng: np.random.Generator, n: int, T: int, knots: int | None = None) -> Genome:
    count = int(rng.integers(0, 4)) if knots is None else knots
    places = [_number(rng)] + [abs(_number(rng)) for _ in range(count - 1)] if count else []
    if count > 1 and rng.random() < 0.3:
        places[-1] = 1.0 / T
    slopes = [float(rng.choice([1.0, 0.0, -1.0, 0.5, rng.random()])) for _ in range(count + 1)]
    if rng.random() < 0.6:
        slopes[-1] = 1.0
    offsets = [[_number(rng) for _ in range(count + 2)] for _ in range(n - 1)]
    if n > 1 and rng.random() < 0.3:  # one component against all others
        offsets = [[-v for v in [_number(rng)] * (count + 2)]] * (n - 1)
    return {
        "knots": places,
        "slopes": slopes,
        "anchor": _number(rng, 0.4),
        "offsets": deepcopy(offsets),
    }


def _eigenvalues(rng: np.random.Generator, size: int) -> list[float]:
    style = rng.random()
    if style < 0.3:
        values = [1.0] * size
    elif style < 0.6:
        values = [float(10.0 ** -rng.uniform(0, 3)) for _ in range(size)]
    else:
        values = [abs(_number(rng)) for _ in range(size)]
    if size > 1 and rng.random() < 0.3:
        values[0] = 0.0
    return values


def _hull(rng: np.random.Generator, genome: Genome) -> None:
    d = genome["d"]
    style = rng.random()
    if style < 0.4:
        vertices = [[1.0 if j == k else 0.0 for j in range(d)] for k in range(d)]
    elif style < 0.7:
        vertices = [[s if j == k else 0.0 for j in range(d)] for k in range(d) for s in (1.0, -1.0)]
    else:
        count = int(rng.integers(2, 7))
        vertices = [[_number(rng) for _ in range(d)] for _ in range(count)]
    if len(vertices) == 1:
        vertices.append([0.0] * d)
    genome["vertices"] = vertices
    count = min(len(vertices), 6)
    genome["centre"] = [abs(_number(rng)) for _ in range(count)]
    genome["start"] = [abs(_number(rng, 0.4)) for _ in range(count)]
    if rng.random() < 0.5:
        genome["start"] = [1.0 if k == int(rng.integers(count)) else 0.0 for k in range(count)]


def _number(rng: np.random.Generator, simple: float = 0.5) -> float:
    if rng.random() < simple:
        return float(rng.choice(_SIMPLE))
    return float(rng.choice([-1.0, 1.0]) * np.exp(rng.normal()))


def _scale(genome: Genome, f: float, x: float) -> None:
    """Multiply f and x by numbers."""
    for one in genome.get("profiles", ()):
        one["knots"] = [v * x for v in one["knots"]]
        one["slopes"] = [v * f / x**2 for v in one["slopes"]]
        one["anchor"] *= f / x
        one["offsets"] = [
            [row[0] * f / x] + [v * f / x**2 for v in row[1:]] for row in one["offsets"]
        ]
    if genome["family"] == "quadratic":
        genome["eigenvalues"] = [v * f / x**2 for v in genome["eigenvalues"]]
        genome["offsets"] = [[v * f / x for v in row] for row in genome["offsets"]]
        genome["push"] = [v * f / x for v in genome["push"]]
    if "weight" in genome:
        genome["weight"] *= f / x
    if "sides" in genome:
        genome["sides"] = [[v * x for v in row] for row in genome["sides"]]
    if "radius" in genome:
        genome["radius"] *= x
    if "vertices" in genome:
        genome["vertices"] = [[v * x for v in row] for row in genome["vertices"]]
    elif genome["family"] == "quadratic":
        genome["centre"] = [v * x for v in genome["centre"]]
    if "vertices" not in genome:
        genome["start"] = [v * x for v in genome["start"]]


def repair(genome: Genome, cls: InstanceClass) -> Genome:
    """Project a genome into its class, in place; return it."""
    for one in genome.get("profiles", ()):
        slopes = one["slopes"]
        if cls.convex:
            slopes[:] = [abs(s) for s in slopes]
        if genome["set"] == "none":
            slopes[0], slopes[-1] = abs(slopes[0]), abs(slopes[-1])
            if slopes[0] == 0 and slopes[-1] == 0:
                slopes[0] = 1.0
        if cls.strong:
            largest = max(slopes) or 1.0
            slopes[:] = [s or largest / 8 for s in slopes]
        if cls.bounded_variance and genome["set"] == "none":
            for row in one["offsets"]:
                row[1] = row[-1] = 0.0
        if cls.components and one["offsets"]:
            _limit_offsets(one, genome["n"])
    if genome["family"] == "quadratic":
        values = genome["eigenvalues"]
        values[:] = [abs(v) for v in values]  # of others the minimum is not known
        if cls.strong:
            values[:] = [v or (max(values) or 1.0) / 8 for v in values]
    return genome


def _limit_offsets(profile: Genome, n: int) -> None:
    """Shrink the offsets of slopes until each component is convex."""
    for k, slope in enumerate(profile["slopes"], 1):
        rows = profile["offsets"]
        least = min(min(row[k] for row in rows), -sum(row[k] for row in rows))
        if least < -slope:
            factor = slope / -least
            for row in rows:
                row[k] *= factor


def places(genome: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where the numbers of a genome stand: a container and a key."""
    items = genome.items() if isinstance(genome, dict) else enumerate(genome)
    for key, value in items:
        if key in _STRUCTURE:
            continue
        if isinstance(value, dict | list):
            yield from places(value)
        elif isinstance(value, float | Fraction):
            yield genome, key


def mutate(rng: np.random.Generator, genome: Genome, cls: InstanceClass) -> Genome:
    """Return a genome of which one number or more are changed."""
    changed = deepcopy(genome)
    where = list(places(changed))
    scale = math.exp(rng.uniform(math.log(1e-3), 0.0))
    for _ in range(1 + int(rng.poisson(0.7))):
        container, key = where[int(rng.integers(len(where)))]
        value, how = float(container[key]), rng.random()
        if how < 0.7:
            value *= math.exp(scale * rng.normal())
        elif how < 0.85:
            value += scale * rng.normal()
        else:
            value = float(rng.choice([0.0, 1.0, -1.0, 0.5, -value, 2 * value]))
        container[key] = value
    return repair(changed, cls)


def size(genome: Genome) -> float:
    """Return the cost of a genome: what shrinking lowers."""
    cost: float = 6.0 * genome["d"] + 10.0 * genome["n"]
    for container, key in places(genome):
        value = Fraction(container[key])
        if value:
            cost += 4.0 + math.log2(abs(value.numerator) * value.denominator)
    return cost + 2.0 * sum(1 for _ in places(genome))


def free_numbers(genome: Genome) -> int:
    """Return how many numbers are not 0."""
    return sum(1 for container, key in places(genome) if container[key])


def simpler(genome: Genome) -> Iterator[Genome]:
    """Yield genomes that are smaller: fewer components, coordinates, pieces and features."""

    def variant(**changes: Any) -> Genome:
        return deepcopy(genome) | changes

    n, d = genome["n"], genome["d"]
    for fewer in dict.fromkeys(k for k in (1, 2, 3, n // 2) if 0 < k < n):
        yield variant(n=fewer)
    if "vertices" not in genome:
        for fewer in dict.fromkeys(k for k in (1, 2, 3, d // 2, d - 1) if 0 < k < d):
            yield variant(d=fewer)
    elif d > 1:
        for k in range(min(d, 6)):
            rows = [row[:k] + row[k + 1 :] for row in genome["vertices"]]
            yield variant(d=d - 1, vertices=rows)
    for key in ("weight", "chain"):
        if genome.get(key):
            yield {k: v for k, v in deepcopy(genome).items() if k != key}
    if genome.get("axis"):
        yield variant(axis=[])
    profiles = genome.get("profiles", ())
    if len(profiles) > 1:
        yield variant(profiles=deepcopy(profiles[:1]))
    for p, one in enumerate(profiles):
        for k in range(len(one["knots"])):
            copy = deepcopy(genome)
            twin = copy["profiles"][p]
            del twin["knots"][k]
            side = k if k else 0
            del twin["slopes"][side]
            for row in twin["offsets"]:
                del row[side + 1]
            yield copy
    for k in range(len(genome.get("vertices", ()))):
        if len(genome["vertices"]) > 2:
            copy = deepcopy(genome)
            del copy["vertices"][k]
            yield copy
    for key in ("eigenvalues", "centre", "start", "push", "offsets", "sides"):
        if len(genome.get(key, ())) > 1:
            yield variant(**{key: deepcopy(genome[key][:1])})


def simpler_numbers(genome: Genome) -> Iterator[Genome]:
    """Yield genomes of which one number is simpler."""
    for index, (container, key) in enumerate(list(places(genome))):
        value = container[key]
        for better in _simpler_values(value):
            copy = deepcopy(genome)
            target, name = list(places(copy))[index]
            target[name] = better
            yield copy


def _simpler_values(value: Any) -> Iterator[Any]:
    exact = Fraction(value)
    cost = math.log2(max(abs(exact.numerator), 1) * exact.denominator) + 1
    candidates: list[Any] = [Fraction(0), Fraction(1), Fraction(-1)] if exact else []
    candidates += [Fraction(round(float(exact) * q), q) for q in _DENOMINATORS]
    if exact:
        candidates += [Fraction(f"{float(exact):.{k}e}") for k in range(3)]
        candidates.append(
            Fraction(2) ** round(math.log2(abs(float(exact)))) * (1 if exact > 0 else -1)
        )
    seen = {exact}
    for one in candidates:
        new = math.log2(max(abs(one.numerator), 1) * one.denominator) + (1 if one else 0)
        if one not in seen and new < cost:
            seen.add(one)
            yield one


def as_text(value: Any) -> Any:
    """Return a genome as JSON: numbers as exact text."""
    if isinstance(value, dict):
        return {key: v if key in _STRUCTURE else as_text(v) for key, v in value.items()}
    if isinstance(value, list):
        return [as_text(v) for v in value]
    return str(Fraction(value)) if isinstance(value, float | Fraction) else value


def from_text(value: Any) -> Any:
    """Return a genome from `as_text`."""
    if isinstance(value, dict):
        return {key: v if key in _STRUCTURE else from_text(v) for key, v in value.items()}
    if isinstance(value, list):
        return [from_text(v) for v in value]
    return Fraction(value) if isinstance(value, str) else value
