"""Scripts of counterexamples, which have at most 100 lines and need only NumPy."""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from importlib.resources import files
from typing import Any, cast

from pfbench.base.files import is_user_file
from pfbench.verification.falsify.exact_numbers import Inexact
from pfbench.verification.falsify.genomes import parse_genome
from pfbench.verification.falsify.reports import (
    Counterexample,
    format_literal,
    list_instance_code_lines,
)
from pfbench.verification.falsify.searched_problem import SearchedConstants, build_problem
from pfbench.verification.falsify.statement import SearchedStatement

_MAX_LINES, _WIDTH, _SECONDS = 100, 120, 20.0

_MODULES = ("math", "numpy", "itertools", "functools", "dataclasses")
_POINT_FUNCTIONS = ("keep", "inner", "combine", "distance", "tilt")


def compose_and_run_script(
    statement: SearchedStatement, counterexample: Counterexample, seconds: float
) -> tuple[str, float]:
    """Return the script of a counterexample, and the ratio measured/bound that a run of it prints.

    Raises
    ------
    Inexact
        If no script of at most 100 lines prints the ratio within these seconds.
    """
    text = _compose_script(statement, counterexample)
    lines = text.splitlines()
    if len(lines) > _MAX_LINES or max(map(len, lines)) > _WIDTH:
        size = f"{len(lines)} lines of up to {max(map(len, lines))} characters"
        raise Inexact(f"it needs {size}, more than {_MAX_LINES} lines of {_WIDTH}")
    command, limit = [sys.executable, "-I", "-c", text], min(seconds, _SECONDS)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise Inexact(f"the script takes more than {limit:.3g} s") from error
    printed = re.search(r"ratio (\S+)", done.stdout)
    if printed is None:
        raise Inexact((done.stderr.strip().splitlines() or ["the script prints no ratio"])[-1])
    tolerance = 0.5 if counterexample.arithmetic == "e-process" else 1e-6
    if abs(float(printed[1]) / counterexample.ratio - 1.0) > tolerance:
        raise Inexact(f"the script prints the ratio {printed[1]}, not {counterexample.ratio:g}")
    return text, float(printed[1])


def _compose_script(statement: SearchedStatement, counterexample: Counterexample) -> str:
    """Return the text of a script, put together from the template and the claim's module."""
    problem = build_problem(parse_genome(dict(counterexample.instance)))
    case = statement.prepare_run(problem, counterexample.horizon)
    sources, imports = collect_sources_and_imports(statement, case.algorithm)
    setup = _compose_parameter_assignments(counterexample, case, sources)
    tags = _list_template_tags(counterexample, case)
    blocks = _select_blocks(sources, tags)
    head = "\n".join(dict.fromkeys([*blocks[0].splitlines(), *imports]))
    seed = "None" if statement.is_deterministic else counterexample.run_seed
    end = blocks[-1].replace("@rng", f"np.random.default_rng({seed})")
    end, fixed = end.replace("@t", str(counterexample.t)), {"@sources": sources, "@setup": setup}
    numbers = list_instance_code_lines(problem)
    if "gradient_mapping_sq" in tags and problem.set.kind != "none":
        numbers.append(f"lam = {format_literal(problem.gradient_mapping_step)}")
    blocks = [head, *numbers, *(fixed.get(block, block) for block in blocks[2:-1]), end]
    fixed_blocks = (head, sources, setup, end)
    for _ in blocks:
        blocks = [item for item in blocks if item in fixed_blocks or _is_block_used(item, blocks)]
    words = " ".join(statement.claim.statement.split()).replace('"', "'").replace("\\", "/")
    lines = [f'"""Counterexample to {statement.claim.name}: {words}'[: _WIDTH - 3] + '"""']
    for line in "\n".join(blocks).splitlines():
        line = re.sub(r"^(\w+ = lambda [^:]*: )(.{90,})$", r"\1(\2)", line)  # may be wrapped, then
        is_long = len(line) > _WIDTH and re.match(r"\w+ = ", line) is not None
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="    ") if is_long else [line]
    return "\n".join(filter(None, lines)) + "\n"


def _is_block_used(block: str, blocks: Sequence[str]) -> bool:
    """Return whether another block of the script uses the name that `block` defines."""
    match = re.match(r"(?:def |class )?(\w+)", block)
    rest = (other for other in blocks if other is not block)
    return match is not None and any(re.search(rf"\b{match[1]}\b", text) for text in rest)


def _select_blocks(sources: str, tags: Sequence[str]) -> list[str]:
    """Return the blocks of the template that a script needs.

    In the template, the text after `#:` is a regular expression. The code before it is kept if the
    expression matches the sources or the tags. An expression alone on a line applies to the whole
    block. Namespaces keep only the attributes that the sources read.
    """
    context, blocks = sources + "".join(f"<{tag}>" for tag in tags), list[str]()
    template = (files(__package__) / "script_template.txt").read_text(encoding="utf-8")
    for block in template.split("\n\n"):
        lines = [line.rstrip().partition("#: ")[::2] for line in block.splitlines()]
        selected = [code.rstrip() for code, rule in lines if code and re.search(rule, context)]
        if selected and all(re.search(rule, context) for code, rule in lines if not code):
            blocks.append("\n".join(selected))
    used = set(re.findall(r"\.(\w+)", sources))
    for k, block in enumerate(blocks):
        if namespace := re.fullmatch(r"(\w+ = SimpleNamespace\()(.*)\)", block):
            items = re.split(r", (?=\w+=)", namespace[2])
            items = [item for item in items if item.partition("=")[0] in used]
            blocks[k] = f"{namespace[1]}{', '.join(items)})"
    return blocks


def _list_template_tags(report: Counterexample, case: Any) -> list[str]:
    """Return the tags that select template lines: problem family, set, and kind of statement."""
    statement, check = case.statement, case.statement.check
    tags = [report.instance["family"], report.instance["set"]]
    if statement.statistic == "law":
        is_bias = check.mean is not None and report.bound == 1.0 and report.measured == report.ratio
        return [*tags, "law", "bias" if is_bias else "exact" if check.exact else "square"]
    tags += ["run", check.quantity if isinstance(check.quantity, str) else "measure"]
    if statement.is_for_each_run:
        return [*tags, statement.statistic, *["shift"] * (report.bound <= 0)]
    tags.append("mean" if case.is_mean_over_run else "end")
    way = "sampled" if report.arithmetic == "e-process" else "enumerated"
    return [*tags, "certain" if statement.is_deterministic else way]


def _compose_parameter_assignments(counterexample: Counterexample, case: Any, sources: str) -> str:
    """Return Python code that sets the constants, the parameters, the step count and the method."""

    def join(values: Mapping[str, Any]) -> str:
        return ", ".join(f"{name}={format_literal(value)}" for name, value in values.items())

    constants, name = case.constants, case.statement.method_class.__name__
    if isinstance(constants, SearchedConstants):
        names = {"n", "d", "L", *case.problem.read, *counterexample.constants}
        used = names.intersection(re.findall(r"\.(\w+)", sources))
        values = {name: getattr(constants, name) for name in sorted(used)}
    else:
        values = vars(constants)
    c, a, T = join(values), join(case.parameters_set_by_claim), case.steps or counterexample.horizon
    return f"c = SimpleNamespace({c})\na = SimpleNamespace({a})\nT, m = {T}, {name}()"


# --- the source of a claim ---


class _Simplifier(ast.NodeTransformer):
    """Transformer that removes docstrings, annotations, decorators, and branches that never run.

    `fixed` has the values of attributes of `self` that decide branches. Field defaults stay.
    """

    def __init__(self, fixed: Mapping[str, Any]) -> None:
        self.fixed = fixed

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        is_fixed = is_own and node.attr in self.fixed and isinstance(node.ctx, ast.Load)
        return ast.Constant(self.fixed[node.attr]) if is_fixed else self.generic_visit(node)

    def visit_If(self, node: Any) -> Any:
        self.generic_visit(node)
        test = ast.fix_missing_locations(ast.Expression(node.test))
        try:
            is_true = eval(compile(test, "<test>", "eval"), {"__builtins__": {}})
        except Exception:  # the test depends on the run
            return node
        return (node.body if is_true else node.orelse) or ast.Pass()

    visit_IfExp = visit_If

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node if node.decorator_list else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return ast.Assign([node.target], node.value or ast.Constant(None))


def _names_read_but_not_set(node: ast.AST, aliases: Sequence[str]) -> list[str]:
    """Return the names, also in modules `aliases`, that a syntax node reads but does not set."""
    nodes = [*ast.walk(node)]
    names = [child for child in nodes if isinstance(child, ast.Name)]
    local = {child.id for child in names if isinstance(child.ctx, ast.Store)}
    parts = [child for child in nodes if getattr(getattr(child, "value", 0), "id", "") in aliases]
    attributes = [child.attr for child in parts if isinstance(child, ast.Attribute)]
    return [*attributes, *(child.id for child in names if child.id not in local)]


def _name_of_definition(node: ast.AST) -> str:
    """Return the name that a statement defines; empty if it defines none."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return str(getattr(node, "name", "") or getattr(target, "id", ""))


def collect_sources_and_imports(
    statement: SearchedStatement, algorithm: Any
) -> tuple[str, list[str]]:
    """Return the source code of a statement's method, measure and bound, and the imports for it.

    The code contains all definitions that they use, of the claim's module and of user-defined
    modules that it imports. Branches that the options of the method `algorithm` decide are left
    out.
    """
    method, classes, check = statement.method_class, dict[str, Any](), vars(statement.check)
    functions = {"limit": statement.bound or check["square"], "measure": check.get("quantity")}
    functions["mean_of_error"] = check.get("mean")
    modules = dict.fromkeys(_flatten_class(algorithm, ["run"], classes))
    bound_by_method = {name: value for module in modules for name, value in vars(module).items()}
    for function in functions.values():
        home = sys.modules.get(str(getattr(function, "__module__", "")), statement.module)
        _add_user_modules(home, modules)
    values = {name: value for module in modules for name, value in vars(module).items()}
    values |= bound_by_method
    aliases = [k for k, v in values.items() if inspect.ismodule(v) and v in modules]
    body, definitions = list[Any](), dict[str, Any](classes)
    for module in sorted(modules, key=lambda m: m is statement.module):
        for node in ast.parse(inspect.getsource(module)).body:
            name = _name_of_definition(node)
            if module is statement.module or vars(module).get(name) is values.get(name):
                definitions[name] = classes.get(name, node)
            body.append(node)
    lines, needed, used = list[str](), [method.__name__], dict[str, ast.AST]()
    for name, function in functions.items():
        if callable(function):
            node, enclosed = _find_node_and_closure(function)
            lines += [f"{key} = {value!r}" for key, value in enclosed.items()]
            is_lambda = isinstance(node, ast.Lambda)
            lines.append(f"{name} = {ast.unparse(node) if is_lambda else node.name}")
            needed += _names_read_but_not_set(node, aliases) if is_lambda else [node.name]
    while needed:
        name = needed.pop()
        if name not in definitions and isinstance(values.get(name), int | float | str):
            definitions = {name: ast.parse(f"{name} = {values[name]!r}").body[0], **definitions}
        if name and name in definitions and name not in used:
            used[name] = _Simplifier({}).visit(definitions[name])
            needed += _names_read_but_not_set(used[name], aliases)
    nodes = (ast.fix_missing_locations(used[name]) for name in definitions if name in used)
    text, imports = "\n".join([*map(ast.unparse, nodes), *lines]), list[str]()
    pairs: Any = ((node, alias) for node in body for alias in getattr(node, "names", ()))
    for origin, alias in pairs:
        if isinstance(origin, ast.Import) and alias.name in _MODULES:
            imports.append(ast.unparse(ast.Import([alias])))
        elif alias.name == "pfbench":
            text = re.sub(rf"\b{alias.asname or alias.name}\.", "pf.", text)
        elif getattr(origin, "module", "") in _MODULES and re.search(rf"\b{alias.name}\b", text):
            imports.append(f"from {origin.module} import {alias.name}")
        elif (alias.asname or alias.name) in aliases:
            text = re.sub(rf"\b{alias.asname or alias.name}\.", "", text)
        elif alias.name in _POINT_FUNCTIONS:
            text = re.sub(rf"(?<![\w.]){alias.name}\(", f"pf.{alias.name}(", text)
    return text, imports


def _add_user_modules(module: Any, modules: dict[Any, None]) -> None:
    """Add a module to `modules`, and the user-defined modules whose objects it uses."""
    modules[module] = None
    for value in [*vars(module).values()]:
        name = str(getattr(value, "__module__", ""))
        home = value if inspect.ismodule(value) else sys.modules.get(name)
        if home not in modules and is_user_file(getattr(home, "__file__", None) or sys.prefix):
            _add_user_modules(home, modules)


def _flatten_class(item: Any, names: list[str], classes: dict[str, Any]) -> list[Any]:
    """Add the class of an object to `classes`, as a definition without bases; return its modules.

    The definition has all members that the members in `names` use. Properties, and objects with
    parameters, such as an estimator, become attributes of the class.
    """
    kind, members, values = type(item), dict[str, Any](), {**vars(item)}
    modules = [sys.modules[base.__module__] for base in kind.__mro__[-2::-1]]
    for base in kind.__mro__[-2::-1]:
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(base)))
        members |= {_name_of_definition(node): node for node in tree.body[0].body}
    is_frozen = is_dataclass(item) and cast(Any, item).__dataclass_params__.frozen
    fixed = {k: v for k, v in values.items() if is_frozen and isinstance(v, str | bool | None)}
    needed, used = [*names], dict[str, Any]()
    while needed:
        name = needed.pop()
        if isinstance(getattr(kind, name, None), property) and name in members:
            values[name] = getattr(item, name)
        elif name in members and name not in (*used, *values):
            used[name] = _Simplifier(fixed).visit(members[name])
            nodes = ast.walk(used[name])
            names += [node.attr for node in nodes if isinstance(node, ast.Attribute)]
            needed += names
    codes = dict[str, str]()
    for name in sorted({*names} & {*values} - {*fixed}):
        part, is_nested = values[name], is_dataclass(values[name])
        codes[name] = f"{type(part).__name__}()" if is_nested else format_literal(part)
        modules[:0] = _flatten_class(part, [*names, "__call__"], classes) if is_nested else ()
    line = f"{', '.join(codes)} = {', '.join(codes.values())}" if codes else "pass"
    flat: Any = ast.parse(f"class {kind.__name__}: {line}").body[0]
    flat.body += used.values()
    classes[kind.__name__] = flat
    return modules


def _find_node_and_closure(function: Any) -> tuple[Any, dict[str, Any]]:
    """Return the syntax tree of a function, and the values of its closure by name."""
    code, source = function.__code__, inspect.getsource(sys.modules[function.__module__])
    enclosed = dict(inspect.getclosurevars(function).nonlocals)
    home, spots = (code.co_name, code.co_firstlineno), {p[::2] for p in code.co_positions()}
    for node in ast.walk(ast.parse(source)):
        is_def = isinstance(node, ast.FunctionDef) and (node.name, node.lineno) == home
        is_body = isinstance(node, ast.Lambda) and (node.body.lineno, node.body.col_offset) in spots
        if (is_def or is_body) and all(isinstance(v, int | float) for v in enclosed.values()):
            return node, enclosed
    raise Inexact("the source code of a function of the claim, or a variable of it, is not found")
