"""Standalone scripts: a counterexample in at most 60 lines, with numpy alone."""

import inspect
import math
import re
import subprocess
import sys
import tempfile
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.verification.falsify.exact_numbers import Inexact
from pfbench.verification.falsify.genomes import parse_genome
from pfbench.verification.falsify.reports import Counterexample
from pfbench.verification.falsify.searched_problem import SearchedConstants, build_problem, repeat
from pfbench.verification.falsify.sources import collect_sources
from pfbench.verification.falsify.statement import SearchedStatement, prepare_run

MAX_LINES, _WIDTH, _SECONDS = 60, 110, 20.0

_HEAD = ["import math", "from types import SimpleNamespace", "import numpy as np"]

_STATE = "State = lambda x, at=None, estimate=None, output=None: SimpleNamespace(**locals())"

_SEPARABLE = """
def part(j, i, x):  # f_i' along coordinate j: a line through x_star, and changes of slope
    v, s, changes = PARTS[j % len(PARTS)][i]
    return v + s * (x - x_star[j]) + sum(c * max(r * (x - k), 0) for k, c, r in changes)
def rise(j, i, x):  # the integral from x_star
    (v, s, changes), y = PARTS[j % len(PARTS)][i], x - x_star[j]
    return v * y + s * y * y / 2 + sum(c * r * max(r * (x - k), 0) ** 2 / 2 for k, c, r in changes)
def component(i, x): return np.array([part(j, i, v) for j, v in enumerate(x)])
def gradient(x): return sum(component(i, x) for i in range(n)) / n
def value(x): return sum(rise(j, i, v) for j, v in enumerate(x) for i in range(n)) / n
"""

_QUADRATIC = """
def gradient(x): return s + H @ (x - x_star)
def component(i, x): return gradient(x) + offsets[i]
def value(x): return (s + gradient(x)) @ (x - x_star) / 2
"""

_SETS = {
    "none": "def prox(x, g, l): return x - l * g",
    "box": """
def lo(g): return np.where(g >= 0, low, high)
def prox(x, g, l): return np.minimum(np.maximum(x - l * g, low), high)
""",
    "ball": """
def lo(g): return -(RADIUS / math.sqrt(g @ g)) * g if g @ g > 0 else 0 * g
def prox(x, g, l): return (x - l * g) * min(1, RADIUS / max(np.linalg.norm(x - l * g), 1e-300))
""",
    "hull": "def lo(g): return V[[g @ v for v in V].index(min(g @ v for v in V))].copy()",
}

_COMMON = """
def batch(i, x): return sum(component(int(k), x) for k in i) / len(i)
def difference(i, x, y): return batch(i, x) - batch(i, y)
"""

_NAMESPACES = {
    "pf": "State=State, Algorithm=object, keep=np.copy, inner=np.vdot, "
    "combine=lambda x, v, w: (1 - w) * x + w * v, distance=lambda a, b: np.linalg.norm(a - b), "
    "tilt=lambda g, x, u, c: g + c * (x - u)",
    "ask": "n=n, gradient=gradient, value=value, lo=lo, prox=prox, batch=batch, "
    "difference=difference",
    "problem": "n=n, gradient=gradient, value=value, component=component, minimiser=x_star, "
    "best_known=(0, ''), set=SimpleNamespace(lo=lo), start=start.copy",
}
"""Attributes of the namespaces, of which a script has those that it uses."""

_STATES = """
def states(rng):
    x = start
    for t, s in zip(range(T), m.run(ask, start.copy(), rng)):
        yield t, x, s
        x = np.array(s.x)
"""

_DRAWS = """
def draws(path):  # a random stream that follows choices
    rng, left = SimpleNamespace(), list(path)
    def take(k): rng.k = k; return left.pop(0)
<methods>
    return rng
def leaves(f, path=(), chance=1):  # the chance and the outcome of every sequence of draws
    rng = draws(path)
    try: yield chance, f(rng)
    except IndexError:
        for i in range(rng.k): yield from leaves(f, path + (i,), chance / rng.k)
"""

_INTEGERS = """
    def integers(n, size=None):
        return take(n) if size is None else np.array([take(n) for _ in range(size)])
    rng.integers = integers
"""

_CHOICE = """
    def choice(n, size=1, replace=True):
        urn = list(range(n))
        return np.array([take(n) if replace else urn.pop(take(len(urn))) for _ in range(size)])
    rng.choice, rng.permutation = choice, lambda n: choice(n, n, False)
"""

_LAW = """
def errors(rng):
    past, e, b = (), 0 * start, start
    for t, s in zip(range(T), m.run(ask, start.copy(), rng)):
        p = SimpleNamespace(t=t, x=s.at, error=e, step=s.at - b, error_sq=e @ e)
        p.step_sq, e, b = p.step @ p.step, s.estimate - gradient(s.at), s.at
        past += tuple(np.round(b, 9))
        yield past, p, e
        past += tuple(np.round(s.estimate, 9))
"""

_LAW_SQUARES = """
groups, best = {}, (0, 0, 0, 0)
for w, observed in leaves(lambda rng: list(errors(rng))):
    for past, p, e in observed: groups.setdefault(past, []).append((w, e, p))
for group in groups.values():
    p, chance = group[0][2], sum(w for w, _, _ in group)
    sides = sum(w * (e @ e) for w, e, _ in group) / chance, limit(c, a, p)
    for u, v in (sides, sides[::-1])[:SIDES]:
        if v > 0: best = max(best, (u / v, p.t, u, v))
"""

_LAW_MEAN = """
    off = sum(w * e for w, e, _ in group) / chance - mean_of_error(c, a, p)
    off = 1 + max(abs(off)) / max([1, *abs(gradient(start))])
    best = max(best, (off, p.t, off, 1))
"""

_MEASURES = {
    "suboptimality": "value(x)",
    "objective": "value(x)",
    "fw_gap": "gradient(x) @ (x - lo(gradient(x)))",
    "gradient_mapping_sq": "gradient(x) @ gradient(x)",
}


def write_script(
    statement: SearchedStatement, counterexample: Counterexample, seconds: float
) -> tuple[str, float]:
    """Return a script and the ratio that it printed in an interpreter of its own.

    Raises
    ------
    Inexact
        If no script of at most 60 lines prints the ratio within these seconds.
    """
    text = _compose(statement, counterexample)
    lines = text.splitlines()
    if len(lines) > MAX_LINES or max(map(len, lines)) > _WIDTH:
        raise Inexact(f"it has {len(lines)} lines of up to {max(map(len, lines))} characters")
    printed, reason = _run_script(text, min(seconds, _SECONDS))
    tolerance = 0.5 if counterexample.arithmetic == "e-process" else 1e-6
    if printed is None or abs(printed / counterexample.ratio - 1.0) > tolerance:
        raise Inexact(reason)
    return text, printed


def _run_script(text: str, seconds: float) -> tuple[float | None, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counterexample.py"
        path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-I", str(path)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return None, "it takes too long"
    if match := re.search(r"ratio (\S+)", done.stdout):
        return float(match[1]), "it prints another ratio"
    return None, (done.stderr.strip().splitlines() or ["it prints nothing"])[-1]


def _compose(statement: SearchedStatement, counterexample: Counterexample) -> str:
    """Return the text: definitions that something uses, and the statements that print."""
    sources, imports = collect_sources(statement)
    path = prepare_run(
        statement,
        build_problem(parse_genome(dict(counterexample.instance))),
        counterexample.horizon,
    )
    definitions, measurement = _compose_measurement(statement, counterexample, path, sources)
    setup = _compose_parameters(statement, counterexample, path, sources)
    used = "\n".join((sources, definitions, measurement))
    family = _SEPARABLE if counterexample.instance["family"] == "separable" else _QUADRATIC
    blocks = [*_instance_lines(path.problem), *_split_blocks(_STATE, family)]
    blocks += _split_blocks(_SETS[path.problem.set.kind], _COMMON)
    blocks += [_make_namespace(name, parts, used) for name, parts in _NAMESPACES.items()]
    blocks += [sources, *_split_blocks(definitions), setup, measurement]
    fixed, is_pruned = (sources, setup, measurement), True
    while is_pruned:
        used_blocks = [block for block in blocks if block in fixed or _is_used(block, blocks)]
        is_pruned, blocks = len(used_blocks) < len(blocks), used_blocks
    words = " ".join(statement.claim.statement.split()).replace('"', "'").replace("\\", "/")[:70]
    head = f'"""Counterexample to {statement.claim.name}: {words}"""'
    lines: list[str] = []
    for line in "\n".join([head, *dict.fromkeys((*_HEAD, *imports)), *blocks]).splitlines():
        is_long = len(line) > _WIDTH and re.match(r"\w+ = (?!lambda)", line) is not None
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="    ") if is_long else [line]
    text = "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"
    return re.sub(_BODY, _join_body, text)


_BODY = r"""(?mx)^((\ *)(?:def|for|while|if|elif|else)\b.*:)\n
    \2\ {4}(?!\ |(?:def|for|while|if|with|try)\b)(.*[^:(,\n])\n(?!\2\ {4})"""
"""A header whose body is one simple statement, which may follow on its line."""


def _join_body(match: re.Match[str]) -> str:
    joined = f"{match[1]} {match[3]}\n"
    return joined if len(joined) <= _WIDTH + 1 else match[0]


def _split_blocks(*texts: str) -> list[str]:
    """Return the definitions of a text: each begins a line."""
    return re.split(r"\n(?=\S)", "\n".join(text.strip("\n") for text in texts))


def _is_used(block: str, blocks: list[str]) -> bool:
    """Return whether another block has the name that a block defines."""
    match = re.match(r"(?:def |class )?(\w+)", block)
    others = (other for other in blocks if other is not block)
    return match is not None and any(re.search(rf"\b{match[1]}\b", text) for text in others)


def _make_namespace(name: str, parts: str, text: str) -> str:
    """Return a namespace with those of its attributes that a text reads."""
    used = set(re.findall(r"\.(\w+)", text))
    items = [part for part in re.split(r", (?=\w+=)", parts) if part.partition("=")[0] in used]
    return f"{name} = SimpleNamespace({', '.join(items)})"


def _literal(value: Any) -> str:
    """Return a number, or lists of numbers, as Python: short fractions and roots where exact."""
    if isinstance(value, np.ndarray | list | tuple):
        items = [_literal(item) for item in value]
        is_constant = len(items) > 6 and len(set(items)) == 1
        text = f"[{items[0]}] * {len(items)}" if is_constant else f"[{', '.join(items)}]"
        return f"({', '.join(items)})" if isinstance(value, tuple) else text
    if isinstance(value, bool | int | str | np.integer):
        return repr(value)
    number = float(value)
    if not math.isfinite(number):
        return "math.inf"
    short, square = (Fraction(x).limit_denominator(1000) for x in (number, number * number))
    if float(short) == number:
        return str(short)
    return f"math.sqrt({square})" if math.sqrt(square) == number else repr(number)


def _instance_lines(problem: Any) -> list[str]:
    """Return the numbers of a problem, a line each."""
    body, arrays = problem.set, {"start": problem.x_0, "x_star": problem.minimiser}
    lines = [f"n = {problem.n}", f"RADIUS = {_literal(getattr(body, 'radius', 0))}"]
    if hasattr(problem, "distinct"):
        parts = [
            [(part.value, part.slope, part.changes) for part in coordinate.parts]
            for coordinate in problem.distinct
        ]
        periods = (parts[:k] for k in range(1, len(parts) + 1))
        shortest = next(period for period in periods if repeat(period, len(parts)) == parts)
        lines.append(f"PARTS = {_literal(shortest)}")
        arrays["x_star"] = problem.base
    else:
        matrix = np.array([problem.apply(unit) for unit in np.eye(problem.d)]).T
        diagonal = np.diag(matrix)
        is_diagonal = bool((matrix == np.diag(diagonal)).all())
        text = f"np.diag({_literal(diagonal)})" if is_diagonal else f"np.array({_literal(matrix)})"
        lines += [f"H = {text}"]
        arrays |= {"s": problem.slope, "offsets": problem.offsets}
    if body.vertices:
        lines.append(f"V = np.array({_literal(body.vertices)}, float)  # ties: the first vertex")
    arrays |= {"low": body.low, "high": body.high} if body.kind == "box" else {}
    return lines + [f"{key} = np.array({_literal(value)}, float)" for key, value in arrays.items()]


def _compose_parameters(
    statement: SearchedStatement, counterexample: Counterexample, path: Any, sources: str
) -> str:
    """Return the constants, the parameters and the method as Python."""
    constants, method = path.constants, statement.method
    values = vars(constants)
    if isinstance(constants, SearchedConstants):
        names = {"n", "d", "L", *path.problem.read, *counterexample.constants}
        used = sorted(name for name in names if re.search(rf"\.{name}\b", sources))
        values = {name: getattr(constants, name) for name in used}
    fields = {k: v for k, v in vars(path.algorithm).items() if f"self.{k}" in sources}
    texts = [
        ", ".join(f"{name}={_literal(value)}" for name, value in part.items())
        for part in (values, vars(path.parameters), fields)
    ]
    name = (method if inspect.isclass(method) else type(method)).__name__
    return (
        f"c = SimpleNamespace({texts[0]})\na = SimpleNamespace({texts[1]})\n"
        f"m = {name}(); vars(m).update({texts[2]})"
    )


def _compose_measurement(
    statement: SearchedStatement, counterexample: Counterexample, path: Any, sources: str
) -> tuple[str, str]:
    """Return definitions, and the statements that measure and print."""
    check, t, statistic = statement.check, counterexample.t, statement.statistic
    methods = _INTEGERS if "rng.integers" in sources else ""
    methods += _CHOICE if re.search(r"rng\.(choice|permutation)", sources) else ""
    draws = _DRAWS.replace("<methods>\n", methods.lstrip("\n").replace("\n\n", "\n"))
    steps = f"T = {path.steps or counterexample.horizon}\n"
    if statistic == "law":
        is_mean = counterexample.bound == 1.0 and counterexample.measured == counterexample.ratio
        squares = _LAW_SQUARES.replace("SIDES", str(1 + check.exact))
        law = squares + (_LAW_MEAN if is_mean and check.mean is not None else "")
        end = "print(f't = {best[1]}: measured {best[2]} > law {best[3]}, ratio {best[0]}')"
        return draws + _LAW, steps + law + end
    is_each, argument = statement.is_for_each_run, f", {t}" if statement.is_for_each_run else ""
    end = (
        f"\nbound = limit(c, a{argument})\nprint('t = {t}: measured', measured, '> bound', bound, "
    )
    end += "'ratio', float(measured / bound))"
    definitions = _STATES
    if isinstance(check.quantity, str):
        definitions += f"measure = lambda problem, x: {_MEASURES[check.quantity]}\n"
    if is_each:
        points = {"step": "x, s.x", "every": "s.x", "least": "x"}[statistic]
        when = f"t <= {t}" if statistic == "least" else f"t == {t - (statistic == 'every')}"
        seed = counterexample.run_seed
        rng = "None" if statement.is_deterministic else f"np.random.default_rng({seed})"
        values = f"measure(problem, {points}) for t, x, s in states({rng}) if {when}"
        return definitions, f"{steps}measured = min({values}){end}"
    points = "x if s.at is None else s.at" if path.is_mean else "s.x"
    only = "" if path.is_mean else " if t == T - 1"
    definitions += f"""
def run(rng):
    v = [measure(problem, {points}) for t, x, s in states(rng){only}]
    return sum(v) / len(v)
"""
    if counterexample.arithmetic == "e-process":
        sample = "v = [float(run(np.random.default_rng(k))) for k in range(1000)]\n"
        sample += "measured = np.mean(v)\nprint('standard error', np.std(v) / 1000**0.5)"
        return definitions, steps + sample + end
    if statement.is_deterministic:
        return definitions, f"{steps}measured = run(None){end}"
    return definitions + draws, f"{steps}measured = sum(w * v for w, v in leaves(run)){end}"
