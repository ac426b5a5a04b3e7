"""Standalone scripts: a counterexample in fewer than 60 lines, with numpy and fractions alone."""

import inspect
import re
import subprocess
import sys
import tempfile
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.verification.falsify.bodies import Genome
from pfbench.verification.falsify.confirmation import exact_statement
from pfbench.verification.falsify.genomes import from_text
from pfbench.verification.falsify.numbers import Digits, Exact, Inexact
from pfbench.verification.falsify.problems import SearchConstants, build, exact_number
from pfbench.verification.falsify.reports import Counterexample
from pfbench.verification.falsify.sources import sources_of
from pfbench.verification.falsify.statement import Statement, trajectory

MAX_LINES, _WIDTH, _SECONDS = 60, 110, 60.0

_PF = {
    "State": "State=State",
    "Algorithm": "Algorithm=object",
    "keep": "keep=np.copy",
    "inner": "inner=lambda a, b: a @ b",
    "combine": "combine=lambda x, v, w: (1 - w) * x + w * v",
    "distance": "distance=lambda a, b: np.linalg.norm(a - b)",
}
_ASK = {k: f"{k}={k}" for k in ("n", "gradient", "lo", "prox", "batch", "difference")}
_ASK["value"] = "value=cost"
_PROBLEM = {
    **{k: f"{k}={k}" for k in ("n", "gradient")},
    "value": "value=cost",
    "minimiser": "minimiser=x_star",
    "set": "set=SimpleNamespace(lo=lo)",
    "start": "start=lambda: start",
}
_MEASURES = {
    "suboptimality": "problem.value(x)<penalty> - problem.best_known[0]",
    "objective": "problem.value(x)<penalty>",
    "fw_gap": "gradient(x) @ (x - lo(gradient(x)))",
    "gradient_mapping_sq": "gradient(x) @ gradient(x)",
}


def standalone(statement: Statement, found: Counterexample, genome: Genome) -> tuple[str, float]:
    """Return a script and the ratio that it printed in an interpreter of its own.

    Raises
    ------
    Inexact
        If no script of at most 60 lines prints the ratio.
    """
    reason = "its source is not known"
    for exact in (True, False):
        text = _compose(statement, found, genome, exact)
        lines = text.splitlines()
        if len(lines) >= MAX_LINES or max(map(len, lines)) > _WIDTH:
            reason = f"it has {len(lines)} lines of up to {max(map(len, lines))} characters"
            continue
        printed, reason = _run(text)
        if printed is not None and abs(printed / found.ratio - 1.0) <= (
            1e-6 if found.arithmetic != "e-process" else 0.5
        ):
            return text, printed
    raise Inexact(reason)


def _run(text: str) -> tuple[float | None, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counterexample.py"
        path.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(path)],
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, "it takes too long"
    if match := re.search(r"ratio (\S+)", done.stdout):
        return float(match[1]), "it prints another ratio"
    return None, (done.stderr.strip().splitlines() or ["it prints nothing"])[-1]


def _compose(statement: Statement, found: Counterexample, genome: Genome, exact: bool) -> str:
    """Fill in the parts of a script, and leave out those that nothing uses."""
    words = " ".join(statement.claim.statement.split()).replace('"', "'")[:70]
    sources = sources_of(statement)
    values, groups = _problem(genome, exact)
    others, more = _measurement(statement, found, sources)
    constants, parameters, steps = _read(statement, found, exact)
    values |= others | {
        "constants": constants,
        "parameters": parameters,
        "T": str(steps or found.horizon),
        "those": others["those"].replace("<T>", str((steps or found.horizon) - 1)),
        "sources": sources,
    }
    used = f"{sources}\n{values['measure']}"
    known = {"best_known": f"best_known=({values['least']}, '')"}
    values |= {
        "pf": _namespace("pf", _PF, used),
        "ask": _namespace("ask", _ASK, used),
        "problem": _namespace("problem", _PROBLEM | known, used),
    }
    blocks = [("-", f'"""Counterexample to {statement.claim.name}: {words}"""')]
    text = Path(__file__).with_name("script_parts.txt").read_text(encoding="utf-8")
    for part in text.split("### ")[1:]:
        head, _, body = part.partition("\n")
        group, name = head.split()
        if group in groups | more:
            for key, value in values.items():
                body = body.replace(f"<{key}>", value)
            blocks.append((name, body))
    pruned = True
    while pruned:
        kept = [
            (name, text)
            for k, (name, text) in enumerate(blocks)
            if name == "-"
            or any(re.search(rf"\b{name}\b", b) for j, (_, b) in enumerate(blocks) if j != k)
        ]
        pruned, blocks = len(kept) < len(blocks), kept
    lines: list[str] = []
    for line in "".join(f"{text}\n" for _, text in blocks).splitlines():
        wide = len(line) > _WIDTH and re.match(r"\w+ = (?!lambda)", line) is not None
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="    ") if wide else [line.rstrip()]
    return "\n".join(_joined([line for line in lines if line.strip()])) + "\n"


def _joined(lines: list[str]) -> list[str]:
    """Return lines with a body of one simple statement behind its colon."""
    made: list[str] = []
    indents = [len(line) - len(line.lstrip()) for line in lines] + [0]
    k = 0
    while k < len(lines):
        line, body = lines[k], lines[k + 1].strip() if k + 1 < len(lines) else ""
        opens = re.match(r"\s*(def|for|while|if|elif|else)\b.*:$", line)
        simple = indents[k + 1] > indents[k] and (
            k + 2 >= len(lines) or indents[k + 2] <= indents[k]
        )
        if (
            opens
            and simple
            and not body.endswith((":", "("))
            and not re.match(r"(def|for|while|if)\b", body)
        ) and len(line) + 1 + len(body) <= _WIDTH:
            made.append(f"{line} {body}")
            k += 2
            continue
        made.append(line)
        k += 1
    return made


def _namespace(name: str, parts: dict[str, str], text: str) -> str:
    """Return a namespace with those of its attributes that a text uses."""
    used = set(re.findall(rf"\b{name}\.(\w+)", text))
    return f"{name} = SimpleNamespace({', '.join(v for k, v in parts.items() if k in used)})"


def _literal(value: Any, exact: bool) -> str:
    """Return a number, or lists of numbers, as Python."""
    if isinstance(value, np.ndarray | list | tuple):
        items = [_literal(v, exact) for v in value]
        if len(items) > 6 and len(set(items)) == 1:
            return f"[{items[0]}] * {len(items)}"
        return f"[{', '.join(items)}]"
    if isinstance(value, Exact):
        if value.root != 1:
            return f"math.sqrt({float(value.factor**2 * value.root)!r})"
        value = value.factor
    if isinstance(value, int | Fraction):
        if not exact:
            return repr(float(value))
        short = Fraction(value)
        return f"F({short.numerator})" if short.denominator == 1 else f"F({str(short)!r})"
    return repr(float(value))


def _problem(genome: Genome, exact: bool) -> tuple[dict[str, str], set[str]]:
    """Return the numbers of a problem by placeholder, and the groups of parts that it needs."""
    problem = build(genome, exact_number(Exact))
    body = problem.set
    groups = {"head", "common", genome["family"], body.kind}
    found: dict[str, Any] = {"start": problem.start(), "weight": problem.weight}
    if genome["family"] == "separable":
        profiles = problem.profiles
        groups.add("knots" if any(one.knots for one in profiles) else "plain")
        found["knots"] = [one.knots for one in profiles]
        found["parts"] = [
            [
                [one._mean[0][0] + row[0], list(slopes)]
                for row, slopes in zip(one._offsets, one.component_slopes, strict=True)
            ]
            for one in profiles
        ]
        found["x_star"] = problem._base
    else:
        d, one = problem.d, Exact(Fraction(1))
        units = [np.array([one * int(j == k) for j in range(d)]) for k in range(d)]
        matrix = np.array([problem._apply(unit) for unit in units], dtype=object).T
        first = matrix[0][0]
        same = bool((matrix == np.diag([first] * d)).all())
        found |= {"slope": problem._slope, "offsets": problem._offsets}
        found |= {"matrix": first if same else matrix, "x_star": problem._minimum}
    if body.kind == "box":
        found |= {"low": body.low, "high": body.high}
    if body.kind in ("ball", "hull"):
        found |= {"radius": getattr(body, "radius", 0), "vertices": body.vertices}
    if genome.get("weight"):
        groups = (groups | {"penalty"}) - {"none"}
    values = {name: _literal(value, exact) for name, value in found.items()}
    if isinstance(found.get("matrix"), np.ndarray):
        values["matrix"] = f"vec({values['matrix']})"
    values |= {
        "n": str(problem.n),
        "dtype": "object" if exact else "float",
        "times": "@" if isinstance(found.get("matrix"), np.ndarray) else "*",
        "is_minimiser": "  # the minimiser" if problem.minimiser is not None else "",
        "least": "0" if problem.minimiser is None else _literal(problem.best, exact),
    }
    return values, groups


def _read(statement: Statement, found: Counterexample, exact: bool) -> tuple[str, str, int | None]:
    """Return the constants and the parameters as Python, and the number of steps."""
    failure = "no constants"
    for kind in (Exact, Digits.kind(50)):
        try:
            problem = build(from_text(dict(found.instance)), exact_number(kind))
            path = trajectory(exact_statement(statement, kind), problem, found.horizon or None)
            if statement.bound is not None and statement.statistic in ("every", "step", "least"):
                path.limit(found.t)
            elif statement.bound is not None:
                path.limit()
            break
        except Inexact as error:
            failure = str(error)
    else:
        raise Inexact(failure)
    constants = path.constants
    names = sorted(problem.read | {"n", *found.constants})
    if not isinstance(constants, SearchConstants):
        names = sorted(vars(constants))
    made = ", ".join(f"{k}={_scalar(getattr(constants, k), exact)}" for k in names)
    given = ", ".join(f"{k}={_scalar(v, exact)}" for k, v in vars(path.parameters).items())
    return made, given, path.steps


def _scalar(value: Any, exact: bool) -> str:
    if isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, Exact | Fraction):
        return _literal(value, exact)
    return repr(float(value.to_float() if hasattr(value, "to_float") else value))


def _measurement(
    statement: Statement, found: Counterexample, sources: str
) -> tuple[dict[str, str], set[str]]:
    """Return what is measured, by placeholder, and the groups of parts that it needs."""
    over, check, t = statement.statistic, statement.check, found.t
    method = statement.method if inspect.isclass(statement.method) else type(statement.method)
    values = {"method": method.__name__, "t": str(t), "at": "", "measure": "", "those": ""}
    groups = {"several"} if re.search(r"rng\.(choice|permutation)", sources) else set[str]()
    groups |= {"integers"} if "rng.integers" in sources else set()
    if over == "law":
        of_mean = check.mean is not None and found.bound == 1.0 and found.measured == found.ratio
        exact = {"exact"} if check.exact and not of_mean else set()
        return values, groups | exact | {"law", "tree", "bias" if of_mean else "square"}
    if not callable(check.quantity):
        if check.quantity not in _MEASURES:
            raise Inexact(f"{check.quantity} has no script")
        penalty = " + w * sum(abs(x))" if found.instance.get("weight") else ""
        values["measure"] = _MEASURES[check.quantity].replace("<penalty>", penalty)
        groups.add("named")
    groups |= {"states", "bound"}
    if over in ("every", "step", "least"):
        values["at"] = f", {t}"
        rng = "None" if statement.is_deterministic else f"np.random.default_rng({found.run_seed})"
        values |= {"rng": rng, "best": "min" if over == "least" else "max"}
        values["when"] = f"t <= {t}" if over == "least" else f"t == {t - (over == 'every')}"
        points = {"step": "x, s.x", "every": "s.x", "least": "x"}[over]
        return values | {"value": f"measure(problem, {points})"}, (groups | {"every"}) - {
            "several",
            "integers",
        }
    uniform = over == "mean" or (
        getattr(method, "output", "last") == "uniform" and over == "output"
    )
    values["points"] = "x if s.at is None else s.at" if uniform else "s.x"
    values["those"] = "" if uniform else " if t == <T>"
    if statement.is_deterministic:
        return values, (groups | {"mean", "once"}) - {"several", "integers"}
    if found.arithmetic == "e-process":
        return values, (groups | {"mean", "sampled"}) - {"several", "integers"}
    return values, groups | {"mean", "tree", "enumerated"}
