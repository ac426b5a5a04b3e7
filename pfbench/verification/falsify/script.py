"""Standalone scripts: a counterexample in at most 60 lines, with numpy alone."""

import inspect
import math
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any

import numpy as np

from pfbench.verification.falsify.exact_numbers import Inexact
from pfbench.verification.falsify.genomes import parse_genome
from pfbench.verification.falsify.reports import Counterexample
from pfbench.verification.falsify.searched_problem import SearchedConstants, build_problem
from pfbench.verification.falsify.sources import collect_sources_and_imports
from pfbench.verification.falsify.statement import SearchedStatement, prepare_run

MAX_LINES, _WIDTH, _SECONDS = 60, 110, 20.0

_BODY = r"""(?mx)^((\ *)(?:def|for|while|if|elif|else)\b.*:)\n
    \2\ {4}(?!\ |(?:def|for|while|if|with|try)\b)(.*[^:(,\n])\n(?!\2\ {4})"""
"""A header whose body is one simple statement, which may follow on its line."""


def compose_and_run_script(
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
    command, limit = [sys.executable, "-I", "-c", text], min(seconds, _SECONDS)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise Inexact("it takes too long") from error
    printed = re.search(r"ratio (\S+)", done.stdout)
    if printed is None:
        raise Inexact((done.stderr.strip().splitlines() or ["it prints nothing"])[-1])
    tolerance = 0.5 if counterexample.arithmetic == "e-process" else 1e-6
    if abs(float(printed[1]) / counterexample.ratio - 1.0) > tolerance:
        raise Inexact("it prints another ratio")
    return text, float(printed[1])


def _compose(statement: SearchedStatement, counterexample: Counterexample) -> str:
    """Return the text: what is used of the template and of the claim's module."""
    sources, imports = collect_sources_and_imports(statement)
    problem = build_problem(parse_genome(dict(counterexample.instance)))
    path = prepare_run(statement, problem, counterexample.horizon)
    setup = _compose_parameters(statement, counterexample, path, sources)
    blocks = _select_blocks(sources, _list_tags(statement, counterexample, path))
    head = "\n".join(dict.fromkeys([*blocks[0].splitlines(), *imports]))
    seed = "None" if statement.is_deterministic else counterexample.run_seed
    for name, value in (("@rng", f"np.random.default_rng({seed})"), ("@t", counterexample.t)):
        blocks[-1] = blocks[-1].replace(name, str(value))
    position, fixed = blocks.index("@instance"), (head, sources, setup, blocks[-1])
    blocks = [head, *_instance_lines(problem), *blocks[position + 1 :]]
    blocks = [{"@sources": sources, "@setup": setup}.get(block, block) for block in blocks]
    for _ in blocks:
        blocks = [block for block in blocks if block in fixed or _is_used(block, blocks)]
    words = " ".join(statement.claim.statement.split()).replace('"', "'").replace("\\", "/")
    lines = [f'"""Counterexample to {statement.claim.name}: {words}'[: _WIDTH - 3] + '"""']
    for line in "\n".join(blocks).splitlines():
        is_long = len(line) > _WIDTH and re.match(r"\w+ = (?!lambda)", line) is not None
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="    ") if is_long else [line]
    return re.sub(_BODY, _join_body, "\n".join(line for line in lines if line) + "\n")


def _join_body(match: re.Match[str]) -> str:
    joined = f"{match[1]} {match[3]}\n"
    return joined if len(joined) <= _WIDTH + 1 else match[0]


def _is_used(block: str, blocks: Sequence[str]) -> bool:
    """Return whether another block has the name that a block defines."""
    match = re.match(r"(?:def )?(\w+)", block)
    rest = (other for other in blocks if other is not block)
    return match is not None and any(re.search(rf"\b{match[1]}\b", text) for text in rest)


def _select_blocks(sources: str, tags: Sequence[str]) -> list[str]:
    """Return the blocks of the template, with the lines whose rule after `#:` is met.

    A rule is a pattern that the sources have, or the tags; a rule on a line of its own is that of a
    block. Namespaces keep the attributes that the sources read.
    """
    context, blocks = sources + "".join(f"<{tag}>" for tag in tags), list[str]()
    template = (files(__package__) / "script_template.txt").read_text(encoding="utf-8")
    for block in template.split("\n\n"):
        lines = [line.rstrip().partition("#: ")[::2] for line in block.splitlines()]
        if all(re.search(rule, context) for code, rule in lines if not code):
            code_lines = [
                code.rstrip() for code, rule in lines if code and re.search(rule, context)
            ]
            blocks += ["\n".join(code_lines)] if code_lines else []
    used = set(re.findall(r"\.(\w+)", sources))
    for k, block in enumerate(blocks):
        if namespace := re.fullmatch(r"(\w+ = SimpleNamespace\()(.*)\)", block):
            items = re.split(r", (?=\w+=)", namespace[2])
            items = [item for item in items if item.partition("=")[0] in used]
            blocks[k] = f"{namespace[1]}{', '.join(items)})"
    return blocks


def _list_tags(
    statement: SearchedStatement, counterexample: Counterexample, path: Any
) -> list[str]:
    """Return the tags of the template that apply."""
    check, report = statement.check, counterexample
    tags = [report.instance["family"], report.instance["set"]]
    if statement.statistic == "law":
        is_bias = check.mean is not None and report.bound == 1.0 and report.measured == report.ratio
        return [*tags, "law", "bias" if is_bias else "exact" if check.exact else "square"]
    tags += ["run", check.quantity if isinstance(check.quantity, str) else "measure"]
    if statement.is_for_each_run:
        return [*tags, statement.statistic]
    tags.append("mean" if path.is_mean_over_run else "end")
    if statement.is_deterministic:
        return [*tags, "certain"]
    return [*tags, "sampled" if report.arithmetic == "e-process" else "enumerated"]


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
    lines = [f"n = {problem.n}"]
    if hasattr(problem, "distinct"):
        coordinates, arrays["x_star"] = problem.distinct, problem.base
        parts = [[(p.value, p.slope, p.changes) for p in item.parts] for item in coordinates]
        lines.append(f"PARTS = {_literal(parts)}")
    else:
        matrix = np.array([problem.apply(unit) for unit in np.eye(problem.d)]).T
        diagonal = np.diag(matrix)
        is_diagonal = bool((matrix == np.diag(diagonal)).all())
        text = f"np.diag({_literal(diagonal)})" if is_diagonal else f"np.array({_literal(matrix)})"
        lines += [f"H = {text}"]
        arrays |= {"s": problem.slope, "offsets": problem.offsets}
    if body.kind == "hull":
        lines.append(f"V = np.array({_literal(body.vertices)}, float)  # ties: the first vertex")
    elif body.kind == "ball":
        lines.append(f"RADIUS = {_literal(body.radius)}")
    arrays |= {"low": body.low, "high": body.high} if body.kind == "box" else {}
    return lines + [f"{key} = np.array({_literal(value)}, float)" for key, value in arrays.items()]


def _compose_parameters(
    statement: SearchedStatement, counterexample: Counterexample, path: Any, sources: str
) -> str:
    """Return the constants, the parameters, the method and the number of steps as Python."""
    constants, method = path.constants, statement.method
    if isinstance(constants, SearchedConstants):
        names = {"n", "d", "L", *path.problem.read, *counterexample.constants}
        used = sorted(name for name in names if re.search(rf"\.{name}\b", sources))
        values = {name: getattr(constants, name) for name in used}
    else:
        values = vars(constants)
    fields = {k: v for k, v in vars(path.algorithm).items() if f"self.{k}" in sources}
    texts = [
        ", ".join(f"{name}={_literal(value)}" for name, value in part.items())
        for part in (values, vars(path.parameters), fields)
    ]
    name = (method if inspect.isclass(method) else type(method)).__name__
    return (
        f"c = SimpleNamespace({texts[0]})\na = SimpleNamespace({texts[1]})\n"
        f"T, m = {path.steps or counterexample.horizon}, {name}(); vars(m).update({texts[2]})"
    )
