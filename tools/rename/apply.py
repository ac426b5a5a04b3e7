"""Apply the rename table to a checkout, mechanically.

Usage, from the root of a checkout (commit first: files are changed in place)::

    python facts.py pfbench tests benchmarks docs -o facts.json      # once, takes minutes
    python apply.py table.tsv facts.json --only pfbench/verification/laws [--public] [--dry-run]

Names are resolved by scope, attributes and keyword arguments by the types of mypy (``facts.py``),
strings by their use. What cannot be decided is printed and left alone, so that the
output is the list of what remains to be done by hand. Standard library only.
"""

import argparse
import ast
import csv
import json
import multiprocessing
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from role_names import RoleNames, load_roles
from check_words import NAMES, is_allowed

TEXTS = (
    "*.md",
    "*.rst",
    "*.toml",
    "*.cfg",
    "*.ini",
    "*.json",
    "*.yml",
    "*.ipynb",
    "*.j2",
    "templates/*.txt",
    ".ci/run",
)
BY_NAME = {
    "getattr": 1,
    "hasattr": 1,
    "setattr": 1,
    "delattr": 1,
    "attrgetter": 0,
    "methodcaller": 0,
}


@dataclass
class Plan:
    """Renames by module, by class and member, by function and parameter."""

    modules: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    members: dict[tuple[str, str], str] = field(default_factory=dict)
    inner: dict[tuple[str, str], str] = field(default_factory=dict)
    parameters: dict[tuple[str, str], str] = field(default_factory=dict)
    variables: dict[tuple[str, str], str] = field(default_factory=dict)
    attribute_owners: dict[str, set[str | None]] = field(default_factory=dict)
    blocked: set[tuple[str, str]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def module(self, name: str) -> str:
        """Return the new name of a module or package."""
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            old = ".".join(parts[:end])
            if old in self.modules:
                new = self.module(".".join(parts[: end - 1])) + f".{self.modules[old]}"
                return ".".join([new.lstrip("."), *parts[end:]])
        return name

    def member(self, owners: Iterable[str], name: str) -> str | None:
        """Return the new name of an attribute; None if it stays, or if its owners disagree."""
        owners = [owner for owner in owners if owner != "?"]  # of `C | None` it is that of C
        if not owners:
            candidates = self.attribute_owners.get(name, {None})
            return next(iter(candidates)) if len(candidates) == 1 else None
        new = {self.members.get((owner.rstrip("?"), name)) for owner in owners}
        return new.pop() if len(new) == 1 else None


# --- the plan -------------------------------------------------------------------------------------


def module_of_file(file: str) -> str:
    """Return the module of a file."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def read_plan(table: Path, facts: dict[str, Any], only: list[str], public: bool) -> Plan:
    """Read the selected rows of the table."""
    plan = Plan()
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    classes = facts["classes"]
    for row in rows:
        kind, file, old, new = row["kind"], row["file"], row["old"], row["new"]
        if only and file != "*" and not any(file.startswith(item) for item in only):
            continue
        is_held = row["reason"].startswith(("PUBLIC", "BY STRING")) and not public
        if kind in ("json-key", "cli-option") or is_held:
            continue
        module, scope, name = module_of_file(file), *split(old)
        if kind == "module":
            plan.modules[module] = new
        elif kind == "variable-rule":
            if ":" in old:
                plan.variables[tuple(old.split(":"))] = new  # type: ignore[index]
        elif kind == "parameter":
            plan.parameters[f"{module}.{scope}", name] = new
        elif not scope:
            plan.names[module, name] = new
        elif f"{module}.{scope}" in classes:
            plan.members[f"{module}.{scope}", name] = new
        else:
            plan.inner[f"{module}.{scope}", name] = new
    spread(plan, classes)
    return plan


def split(qualified: str) -> tuple[str, str]:
    """Return the scope and the last part of a qualified name."""
    scope, _, name = qualified.rpartition(".")
    return scope, name


def spread(plan: Plan, classes: dict[str, Any]) -> None:
    """Rename a member in all classes that share it: by inheritance, or by a protocol they fit."""
    related: dict[str, set[str]] = defaultdict(set)
    for name, item in classes.items():
        for base in item["mro"]:
            if base in classes:
                related[name].add(base)
                related[base].add(name)
    protocols = {name: set(item["names"]) for name, item in classes.items() if item["protocol"]}
    for name, item in classes.items():
        has = set(item["names"]).union(*(classes[b]["names"] for b in item["mro"] if b in classes))
        for protocol, needs in protocols.items():
            plain = {part for part in needs if not part.startswith("__")}
            if protocol != name and plain and plain <= has:
                related[name].add(protocol)
                related[protocol].add(name)
    waiting = list(plan.members.items())
    while waiting:
        (owner, name), new = waiting.pop()
        for other in related[owner]:
            if name not in classes[other]["names"]:
                continue
            existing = plan.members.get((other, name))
            if existing is None:
                plan.members[other, name] = new
                waiting.append(((other, name), new))
            elif existing != new:
                plan.notes.append(f"{other}.{name}: {existing} and {new}, by inheritance")
    for name, item in classes.items():
        for attribute in item["names"]:
            change = plan.members.get((name, attribute))
            plan.attribute_owners.setdefault(attribute, set()).add(change)


# --- scopes ---------------------------------------------------------------------------------------


@dataclass
class Scope:
    """A module, class, function or comprehension with the names that it binds."""

    kind: str
    name: str
    parent: "Scope | None"
    bound: dict[str, str] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    children: list["Scope"] = field(default_factory=list)

    def find(self, name: str) -> "Scope | None":
        """Return the scope that binds a name, as Python looks it up."""
        current: Scope | None = self
        first = True
        while current is not None:
            if name in current.bound and (first or current.kind != "class"):
                return current
            current, first = current.parent, False
        return None

    def iterate_scopes(self) -> Iterator["Scope"]:
        """Yield it and all scopes inside."""
        yield self
        for child in self.children:
            yield from child.iterate_scopes()


class Binder(ast.NodeVisitor):
    """Build the scopes of a file; remember of which scope each name, argument and import is."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.scope = self.top = Scope("module", module, None)
        self.scope_by_node: dict[int, Scope] = {}
        self.order: list[ast.AST] = []

    def note(self, node: ast.AST) -> None:
        """Remember the scope of a node."""
        self.scope_by_node[id(node)] = self.scope
        self.order.append(node)

    def enter(self, kind: str, name: str) -> Scope:
        """Open a scope."""
        child = Scope(kind, f"{self.scope.name}.{name}", self.scope)
        self.scope.children.append(child)
        self.scope = child
        return child

    def leave(self) -> None:
        """Close a scope."""
        assert self.scope.parent is not None
        self.scope = self.scope.parent

    def bind(self, name: str, kind: str) -> None:
        """Bind a name where it is, the first kind counts."""
        target = self.scope
        if name in target.outer:
            return
        if kind == "walrus":
            while target.kind == "comprehension" and target.parent:
                target = target.parent
        target.bound.setdefault(name, kind)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, "class")
        self.note(node)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self.enter("class", node.name)
        for statement in node.body:
            self.visit(statement)
        self.leave()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.bind(node.name, "function")
        self.note(node)
        arguments = node.args
        candidates = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        candidates += [item for item in (arguments.vararg, arguments.kwarg) if item]
        for part in (*node.decorator_list, *arguments.defaults, *arguments.kw_defaults):
            if part is not None:
                self.visit(part)
        for item in candidates:
            if item.annotation is not None:
                self.visit(item.annotation)
        if node.returns is not None:
            self.visit(node.returns)
        self.enter("function", node.name)
        for item in candidates:
            self.bind(item.arg, "parameter")
            self.note(item)
        for statement in node.body:
            self.visit(statement)
        self.leave()

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in (*node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        self.enter("function", "<lambda>")
        candidates = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for item in [*candidates, *(a for a in (node.args.vararg, node.args.kwarg) if a)]:
            self.bind(item.arg, "parameter")
            self.note(item)
        self.visit(node.body)
        self.leave()

    def comprehension(self, node: Any) -> None:
        self.visit(node.generators[0].iter)
        self.enter("comprehension", "<comprehension>")
        for number, item in enumerate(node.generators):
            self.visit(item.target)
            if number:
                self.visit(item.iter)
            for condition in item.ifs:
                self.visit(condition)
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                self.visit(getattr(node, part))
        self.leave()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            self.bind(name, "import")
            target = alias.name if alias.asname else alias.name.split(".")[0]
            self.scope.imports[name] = (target, "")
        self.note(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            self.bind(name, "import")
            self.scope.imports[name] = (node.module or "", alias.name)
        self.note(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.bind(node.target.id, "walrus")
        self.note(node.target)
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id, "variable")
        self.scope.used.add(node.id)
        self.note(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bind(node.name, "variable")
        self.note(node)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.bind(node.name, "variable")
        self.note(node)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.note(node)
        self.scope.outer.update(node.names)

    visit_Nonlocal = visit_Global  # type: ignore[assignment]

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.note(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.note(node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.note(node)


# --- one file -------------------------------------------------------------------------------------


PARSED: dict[Path, Any] = {}


class Renamer:
    """Collect the edits of one file."""

    def __init__(
        self, plan: Plan, path: Path, module: str, facts: dict[str, Any] | None, exports: Any
    ) -> None:
        self.plan, self.path, self.module, self.exports = plan, path, module, exports
        if path not in PARSED:
            source = path.read_bytes()
            tree = ast.parse(source)
            binder = Binder(module)
            binder.visit(tree)
            PARSED[path] = (source, source.splitlines(keepends=True), tree, binder)
        self.source, self.lines, self.tree, self.binder = PARSED[path]
        existing = facts or {"attributes": [], "keywords": [], "names": []}
        self.attributes: dict[tuple[int, int, str], list[str]] = defaultdict(list)
        for line, end, name, owners in existing["attributes"]:  # several of a generic function
            self.attributes[line, end, name] += owners
        self.calls = {(a, b, tuple(c)): (d, e, f) for a, b, c, d, e, f in existing["keywords"]}
        self.types = {(a, b, c): d for a, b, c, d in existing["names"]}
        self.edits: dict[tuple[int, int, int], bytes] = {}
        self.notes: list[str] = []
        self.local: dict[tuple[int, str], str | None] = {}
        self.ruled = True
        self.roles: RoleNames | None = None
        if self.path_is_checked():
            self.roles = RoleNames(self, frozenset(NAMES), ROLES)

    def path_is_checked(self) -> bool:
        """Return whether the linter reads the file."""
        return self.module.startswith("pfbench") and "templates" not in self.module

    # --- what a name stands for

    def target(self, scope: Scope, name: str) -> str | None:
        """Return the new name of a name in the scope that binds it; None if it stays."""
        key = (id(scope), name)
        if key not in self.local:
            new = self.avoid_collision(scope, name, self.decide_by_table(scope, name))
            self.local[key] = new or self.decide_by_role(scope, name)
        return self.local[key]

    def decide(self, scope: Scope, name: str) -> str | None:
        return self.decide_by_table(scope, name) or self.decide_by_role(scope, name)

    def decide_by_role(self, scope: Scope, name: str) -> str | None:
        """Return the name for a variable with a banned name."""
        if self.roles is None or scope.kind not in ("function", "comprehension"):
            return None
        kind = scope.bound[name]
        is_lambda = "<lambda>" in scope.name.rpartition(".")[2]
        if kind not in ("variable", "walrus") and not (kind == "parameter" and is_lambda):
            return None
        if is_allowed(self.path.relative_to(Path.cwd()).as_posix(), name):
            return None
        return self.roles.choose(scope, name)

    def decide_by_table(self, scope: Scope, name: str) -> str | None:
        kind = scope.bound[name]
        if kind == "import":
            return (
                self.resolve_import(*scope.imports[name], name) if name in scope.imports else None
            )
        if scope.kind == "module":
            return self.plan.names.get((self.module, name))
        if scope.kind == "class":
            return self.plan.members.get((scope.name, name))
        new = self.plan.inner.get((scope.name, name))
        if kind == "parameter":
            new = self.parameter(scope.name, name)
        if new or kind == "parameter" or self.roles is not None and name.strip("_") in NAMES:
            return new
        return self.name_by_type(scope, name)

    def parameter(self, function: str, name: str) -> str | None:
        """Return the new name of a parameter."""
        return self.plan.parameters.get((function, name))

    def name_by_type(self, scope: Scope, name: str) -> str | None:
        """Return the name that the class of a variable's value asks for."""
        if not self.ruled or not any(key[0] == name for key in self.plan.variables):
            return None
        result = {
            self.types.get((node.lineno, node.col_offset, name))
            for node in self.binder.order
            if isinstance(node, ast.Name)
            and node.id == name
            and self.binder.scope_by_node[id(node)].find(name) is scope
        }
        result.discard(None)
        return self.plan.variables.get((name, result.pop())) if len(result) == 1 else None  # type: ignore[arg-type]

    def resolve_import(self, module: str, name: str, bound: str) -> str | None:
        """Return the new name of an import; None if it stays, or has an alias."""
        if name and bound != name:
            return None
        full = f"{module}.{name}" if name else module
        symbol = ".".join(self.exports.get((module, name), (module, name)))
        if full in self.plan.modules and symbol in (full, f"{full}."):
            return self.plan.modules[full]
        return self.plan.names.get(self.exports.get((module, name), (module, name)))

    def avoid_collision(self, scope: Scope, old: str, new: str | None) -> str | None:
        """Return a new name unless it would collide with another one."""
        if new is None or new == old:
            return None
        for other, kind in scope.bound.items():
            rival = kind != "import" or scope.bound[old] == "import"
            if other not in (old, new) and rival and self.decide(scope, other) == new:
                if scope.bound[old] == "import" or other < old:
                    return self.refuse(scope, old, f"{other} becomes {new}")
        if scope.kind == "class":  # methods do not see the names of a class
            if new in scope.bound and self.decide(scope, new) in (None, new):
                return self.refuse(scope, old, f"{new} is taken in {scope.name}")
            return new if new not in scope.used else self.refuse(scope, old, f"{new} is used")
        scopes = list(scope.iterate_scopes())
        for user in scopes:
            clash = user.find(new)
            if clash is None or self.decide(clash, new) not in (None, new):
                continue
            if clash in scopes:
                if old in user.used or user is scope or clash is scope:
                    return self.refuse(scope, old, f"{new} is taken in {clash.name}")
            elif new in user.used or scope.bound[old] == "variable":
                return self.refuse(scope, old, f"{new} is used from outside")
        return new

    def refuse(self, scope: Scope, name: str, why: str) -> None:
        """Record that a name stays; if its module defines it, it stays everywhere."""
        self.notes.append(f"{scope.name}.{name} stays: {why}")
        if scope.kind in ("module", "class") and scope.bound[name] != "import":
            self.plan.blocked.add((scope.name, name))

    # --- edits

    def put(self, line: int, start: int, old: str, new: str | None) -> None:
        """Replace a name at a place, if it stands there."""
        if new is None:
            return
        end = start + len(old.encode())
        if self.lines[line - 1][start:end].decode() != old:
            self.notes.append(f"{self.path}:{line}: {old} is not where it should be")
            return
        self.edits[line, start, end] = new.encode()

    def run(self) -> bytes:
        """Return the source with all names changed."""
        for node in self.binder.order:
            scope = self.binder.scope_by_node[id(node)]
            match node:
                case ast.Name():
                    if result := scope.find(node.id):
                        self.put(
                            node.lineno, node.col_offset, node.id, self.target(result, node.id)
                        )
                case ast.arg():
                    self.put(node.lineno, node.col_offset, node.arg, self.target(scope, node.arg))
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self.definition(node, scope)
                case ast.ExceptHandler() | ast.MatchAs() if node.name:
                    self.word(
                        node.lineno, node.col_offset, node.name, self.target(scope, node.name)
                    )
                case ast.Global() | ast.Nonlocal():
                    for name in node.names:
                        if result := scope.find(name):
                            self.word(node.lineno, node.col_offset, name, self.target(result, name))
                case ast.Import() | ast.ImportFrom():
                    self.imports(node, scope)
                case ast.Attribute():
                    self.attribute(node)
                case ast.Call():
                    self.keywords(node)
        self.strings()
        self.docstrings()
        text = list(self.lines)
        for (line, start, end), new in sorted(self.edits.items(), reverse=True):
            item = text[line - 1]
            text[line - 1] = item[:start] + new + item[end:]
        return b"".join(text)

    def word(self, line: int, start: int, old: str, new: str | None) -> None:
        """Replace the first occurrence of a word from a place on."""
        if new is not None:
            pattern = rb"\b" + old.encode() + rb"\b"
            if result := re.compile(pattern).search(self.lines[line - 1], start):
                self.edits[line, result.start(), result.end()] = new.encode()

    def definition(self, node: Any, scope: Scope) -> None:
        """Rename a function or class where it is defined."""
        start = node.col_offset + len("class " if isinstance(node, ast.ClassDef) else "def ")
        if isinstance(node, ast.AsyncFunctionDef):
            start += len("async ")
        self.put(node.lineno, start, node.name, self.target(scope, node.name))

    def imports(self, node: Any, scope: Scope) -> None:
        """Rename modules and names in an import."""
        if isinstance(node, ast.ImportFrom) and node.module:
            new = self.plan.module(node.module)
            if new != node.module:
                self.word(node.lineno, node.col_offset, node.module, new)
        for alias in node.names:
            if isinstance(node, ast.Import):
                new = self.plan.module(alias.name)
                if new != alias.name:
                    self.put(alias.lineno, alias.col_offset, alias.name, new)
                continue
            module = node.module or ""
            if alias.asname in (None, alias.name):
                change = self.target(scope, alias.name)
                if change is None and (new := self.resolve_import(module, alias.name, alias.name)):
                    change = f"{new} as {alias.name}"  # its new name is taken here
            else:
                change = self.resolve_import(module, alias.name, alias.name)
            self.put(alias.lineno, alias.col_offset, alias.name, change)
            if alias.asname == alias.name and change:
                line, start = alias.lineno, alias.col_offset + len(alias.name)
                self.word(line, start, alias.name, change)

    def attribute(self, node: ast.Attribute) -> None:
        """Rename an attribute by the class, or the module, that defines it."""
        new = self.attribute_name(node)
        if new is None and (self.attributes.get((node.end_lineno, node.end_col_offset, node.attr)) or ["?"]) == ["?"]:
            if len(self.plan.attribute_owners.get(node.attr, {None})) > 1:
                self.notes.append(f"{self.path}:{node.lineno}: .{node.attr} of an unknown type")
        start = node.end_col_offset - len(node.attr.encode())  # type: ignore[operator]
        self.put(node.end_lineno, start, node.attr, new)  # type: ignore[arg-type]

    def attribute_name(self, node: ast.Attribute) -> str | None:
        """Return the new name of an attribute."""
        key = (node.end_lineno, node.end_col_offset, node.attr)
        owners = self.attributes.get(key) or self.owners_by_super(node)
        module = self.resolve_module(node.value)
        if module or owners[:1] and owners[0].endswith(":"):
            module = module or owners[0][:-1]
            full = f"{module}.{node.attr}"
            new = self.plan.modules.get(full) or self.plan.names.get(
                self.exports.get((module, node.attr), (module, node.attr))
            )
        else:
            new = self.plan.member(owners, node.attr)
        return new

    def owners_by_super(self, node: ast.Attribute) -> list[str]:
        """Return the class of which `super()` takes an attribute, ``?`` if it is none."""
        call = node.value
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "super"):
            return ["?"]
        scope: Scope | None = self.binder.scope_by_node[id(node)]
        while scope is not None and scope.kind != "class":
            scope = scope.parent
        bases = self.exports["classes"].get(scope.name, {"mro": []})["mro"] if scope else []
        known_bases = [base for base in bases if base in self.exports["classes"]]
        return [b for b in known_bases if node.attr in self.exports["classes"][b]["names"]][:1] or ["?"]

    def resolve_module(self, node: ast.expr) -> str:
        """Return the module that an expression is; mypy has no types in annotations."""
        if isinstance(node, ast.Name):
            scope = self.binder.scope_by_node[id(node)].find(node.id)
            if scope is None or node.id not in scope.imports:
                return ""
            module, name = scope.imports[node.id]
            full = f"{module}.{name}" if name else module
        elif isinstance(node, ast.Attribute) and (inner := self.resolve_module(node.value)):
            full = f"{inner}.{node.attr}"
        else:
            return ""
        return full if full in self.exports["modules"] else ""

    def keywords(self, node: ast.Call) -> None:
        """Rename keyword arguments by what is called."""
        names = tuple(item.arg for item in node.keywords if item.arg)
        if not names:
            return
        called, first, inner = self.calls.get(
            (node.lineno, node.col_offset, names), (["?"], "", [])
        )
        for item in node.keywords:
            if item.arg:
                new = self.keyword(called, first, inner, item.arg)
                self.put(item.lineno, item.col_offset, item.arg, new)

    def keyword(self, called: list[str], first: str, inner: list[str], name: str) -> str | None:
        """Return the new name of one keyword argument."""
        result = set()
        for item in inner or called:
            if item in ("dataclasses.replace", "copy.replace"):
                result.add(self.plan.member([first.split("[")[0]], name))
            elif item.endswith("()"):
                owner = item[:-2]
                result.add(
                    self.plan.parameters.get((f"{owner}.__init__", name))
                    or self.inherited_field(owner, name)
                )
            elif item in ("?", "functools.partial.__call__"):
                result.add(self.plan.member(["?"], name))
            else:
                result.add(self.plan.parameters.get((item, name)))
        return result.pop() if len(result) == 1 else None

    def inherited_field(self, owner: str, name: str) -> str | None:
        """Return the new name of a field of a dataclass, perhaps of a base."""
        bases = self.exports["classes"].get(owner, {"mro": []})["mro"]
        return next(
            (
                self.plan.members[item, name]
                for item in (owner, *bases)
                if (item, name) in self.plan.members
            ),
            None,
        )

    # --- strings

    def strings(self) -> None:
        """Rename attributes named by strings, `__all__`, annotations in quotes, dotted modules."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                position = BY_NAME.get(name)
                if position is not None and len(node.args) > position:
                    self.rename_named_attribute(
                        node.args[position], node.args[0] if position else None
                    )
                if name in ("TypeVar", "NamedTuple", "NewType") and node.args:
                    self.public(node.args[0])
                if name == "edited":
                    for item in ast.walk(node):
                        self.rename_in_source(item)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if node.targets[0].id == "__all__":
                    for item in ast.walk(node.value):
                        self.public(item)
            elif isinstance(node, ast.ClassDef):
                self.slots(node)
            for part in ("annotation", "returns"):
                for item in ast.walk(getattr(node, part, None) or ast.Pass()):
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        self.rename_in_annotation(item)
        for node in self.binder.order:
            if isinstance(node, ast.Constant) and "." in node.value:
                self.rename_module_paths(node)

    def rename_named_attribute(self, node: ast.expr, receiver: ast.expr | None) -> None:
        """Rename an attribute that a string names, of a module, a class or an unknown object."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if receiver is not None and (module := self.resolve_module(receiver)):
                home = self.exports.get((module, node.value), (module, node.value))
                self.replace_in_string(node, node.value, self.plan.names.get(home))
                return
            if isinstance(receiver, ast.Name) and (
                scope := self.binder.scope_by_node[id(receiver)].find(receiver.id)
            ):
                owner = self.full_name(scope, receiver.id)
                if owner in self.exports["classes"]:
                    bases = [owner, *self.exports["classes"][owner]["mro"]]
                    new = [self.plan.members.get((item, node.value)) for item in bases]
                    self.replace_in_string(node, node.value, next(filter(None, new), None))
                    return
            candidates = self.plan.attribute_owners.get(node.value, {None})
            if len(candidates) > 1:
                self.notes.append(f"{self.path}:{node.lineno}: {node.value!r} names an attribute")
            self.replace_in_string(
                node, node.value, next(iter(candidates)) if len(candidates) == 1 else None
            )

    def public(self, node: ast.AST) -> None:
        scope = self.binder.top
        if isinstance(node, ast.Constant) and node.value in scope.bound:
            self.replace_in_string(node, node.value, self.target(scope, node.value))

    def slots(self, node: ast.ClassDef) -> None:
        """Rename what `__slots__` of a class names."""
        owner = f"{self.binder.scope_by_node[id(node)].name}.{node.name}"
        for statement in node.body:
            if (
                isinstance(statement, ast.Assign)
                and ast.unparse(statement.targets[0]) == "__slots__"
            ):
                for item in ast.walk(statement.value):
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        self.replace_in_string(
                            item, item.value, self.plan.members.get((owner, item.value))
                        )

    def rename_in_source(self, node: ast.AST) -> None:
        """Rename attributes in a text that stands in a method's source."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in set(re.findall(r"\.([A-Za-z_]\w*)", node.value)):
                candidates = self.plan.attribute_owners.get(name, {None})
                if len(candidates) == 1 and (new := next(iter(candidates))):
                    self.replace_in_string(node, f".{name}", f".{new}")
                elif len(candidates) > 1:
                    self.notes.append(f"{self.path}:{node.lineno}: an edit quotes .{name}")

    def rename_in_annotation(self, node: ast.Constant) -> None:
        for name in set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", node.value)):
            result = self.binder.top.find(name)
            if result is not None and (new := self.target(result, name)):
                self.replace_in_string(node, name, new)

    def rename_module_paths(self, node: ast.Constant) -> None:
        for old in set(re.findall(r"\bpfbench(?:\.\w+)+", node.value)):
            new = rename_path(self.plan, old, self.exports)
            if new != old:
                self.replace_in_string(node, old, new)

    def replace_in_string(self, node: ast.Constant, old: str, new: str | None) -> None:
        """Replace a word inside a string, in whatever lines it has."""
        if new is None:
            return
        before = rb"" if old.startswith(".") else rb"(?<![\w.])"
        pattern = re.compile(before + re.escape(old).encode() + rb"(?!\w)")
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            low = node.col_offset if line == node.lineno else 0
            high = node.end_col_offset if line == node.end_lineno else None
            for result in pattern.finditer(self.lines[line - 1]):
                if result.start() >= low and (high is None or result.end() <= high):
                    self.edits[line, result.start(), result.end()] = new.encode()

    def docstrings(self) -> None:
        """Rename what docstrings name: parameters and fields in their lists, names in backticks."""
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            text = node.body[0] if node.body else None
            if not (isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)):
                continue
            if not isinstance(text.value.value, str):
                continue
            for line in range(text.lineno, (text.end_lineno or text.lineno) + 1):
                self.docline(node, line)

    def docline(self, node: Any, line: int) -> None:
        text = self.lines[line - 1]
        listed = re.fullmatch(rb"\s+(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?\s*", text)
        spans = [(m.start(), m.end(), False) for m in re.finditer(rb"\w+", text)] if listed else []
        spans += [
            (m.start(1), m.end(1), True) for m in re.finditer(rb"(?<!`)`([A-Za-z_][\w.]*)`", text)
        ]
        for start, end, ticks in spans:
            old = text[start:end].decode()
            new = self.resolve_documented(node, old, ticks)
            if new and new != old:
                self.edits[line, start, end] = new.encode()

    def resolve_documented(self, node: Any, name: str, ticks: bool) -> str | None:
        """Return the new name of what a docstring names."""
        own = self.find_scope(node)
        if own is not None and own.kind == "function" and own.bound.get(name) == "parameter":
            return self.target(own, name)
        if own is not None and own.kind == "class" and (own.name, name) in self.plan.members:
            return self.plan.members[own.name, name]
        if not ticks:
            return None
        first, _, rest = name.partition(".")
        if name.startswith("pfbench."):
            return rename_path(self.plan, name, self.exports)
        result = (own or self.binder.top).find(first)
        if result is None or result.kind == "function":
            return None
        new = self.target(result, first) or first
        if rest and "." not in rest:
            owner = self.full_name(result, first)
            rest = self.plan.members.get((owner, rest), rest)
        return f"{new}.{rest}" if rest else new

    def full_name(self, scope: Scope, name: str) -> str:
        module, inner = scope.imports.get(name, (self.module, name))
        return ".".join(self.exports.get((module, inner), (module, inner)))

    def find_scope(self, node: Any) -> Scope | None:
        if isinstance(node, ast.Module):
            return self.binder.top
        outer = self.binder.scope_by_node.get(id(node))
        if outer is None:
            return None
        qualified = f"{outer.name}.{node.name}"
        return next((item for item in outer.children if item.name == qualified), None)


def rename_path(plan: Plan, old: str, exports: Any) -> str:
    """Return a dotted path with the new names of its modules and of what follows them."""
    parts = old.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(parts[:end])
        if module in exports["modules"]:
            rest = parts[end:]
            if rest:
                home = exports.get((module, rest[0]), (module, rest[0]))
                if len(rest) > 1:
                    rest[1] = plan.members.get((".".join(home), rest[1]), rest[1])
                rest[0] = plan.names.get(home, rest[0])
            return ".".join([plan.module(module), *rest])
    return old


# --- all files ------------------------------------------------------------------------------------


def read_exports(facts: dict[str, Any], root: Path) -> dict[Any, Any]:
    """Return the home of each imported name, through all re-exports."""
    imports: dict[tuple[str, str], tuple[str, str]] = {}
    modules = {item["module"] for item in facts["files"].values()}
    for file, item in facts["files"].items():
        tree = ast.parse((root / file).read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    key = (item["module"], alias.asname or alias.name)
                    imports.setdefault(key, (node.module, alias.name))
    exports: dict[Any, Any] = {}
    for key in imports:
        home, visited = key, set()
        while home in imports and home not in visited:
            visited.add(home)
            home = imports[home]
        exports[key] = home
    exports["modules"] = modules | {m.rpartition(".")[0] for m in modules}
    exports["classes"] = facts["classes"]
    return exports


ROLES = load_roles()


def name_parameters(plan: Plan, facts: dict[str, Any], exports: Any, root: Path) -> None:
    """Name the parameters that have no row and a banned name."""
    STATE.update(plan=plan, facts=facts, root=root, exports=exports)
    found: dict[tuple[str, str], str] = {}
    for names, log in in_processes(name_files, facts):
        found |= names
        PARAMETER_LOG.extend(log)
    plan.parameters.update(found)


PARAMETER_LOG: list[tuple[str, ...]] = []


def spread_parameters(plan: Plan, facts: dict[str, Any]) -> None:
    """Rename a parameter of a method in all methods that override it."""
    classes = facts["classes"]
    for (function, name), new in list(plan.parameters.items()):
        owner, _, method = function.rpartition(".")
        if owner in classes:
            for other, item in classes.items():
                related = owner in item["mro"] or other in classes[owner]["mro"]
                if related and method in item["names"]:
                    plan.parameters.setdefault((f"{other}.{method}", name), new)


def rename_attributes(plan: Plan, text: str) -> str:
    """Rename attributes that have one new name wherever they are defined."""

    def new(result: re.Match[str]) -> str:
        candidates = plan.attribute_owners.get(result[1], {None})
        return "." + (next(iter(candidates)) or result[1] if len(candidates) == 1 else result[1])

    return re.sub(r"(?<=\w)\.([A-Za-z_]\w*)", new, text)


def rename_block(plan: Plan, text: str, exports: Any) -> str:
    """Rename what a block of Python in a document imports, and attributes of one name."""
    names: dict[str, str] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                key = (node.module, alias.name)
                if (new := plan.names.get(exports.get(key, key))) and alias.asname is None:
                    names[alias.name] = new
    text = rename_attributes(plan, text)
    for old, new in names.items():
        text = re.sub(rf"(?<![\w.\"']){old}(?!\w)", new, text)
    return text


def rename_texts(plan: Plan, exports: Any, root: Path, dry: bool) -> Counter[str]:
    """Rename modules in documents, settings and scripts: dotted, and as paths."""
    counts: Counter[str] = Counter()
    paths = {old.replace(".", "/"): plan.module(old).replace(".", "/") for old in plan.modules}
    shorts = {
        before.removeprefix("pfbench/"): after.removeprefix("pfbench/")
        for before, after in paths.items()
        if "/" in before.removeprefix("pfbench/")
    }
    by_length = [sorted(names, key=len, reverse=True) for names in (paths, shorts)]
    either = ["|".join(map(re.escape, names)) or "(?!)" for names in by_length]
    full = re.compile(rf"\b({either[0]})(?=\.py\b|/|`|\s|$)")
    short = re.compile(rf"(?<![\w/])({either[1]})(?=\.py\b|/)")
    files = {path for pattern in TEXTS for path in root.rglob(pattern)}
    for path in sorted(files):
        if any(part in (".git", ".tox", ".venv", "build", ".mypy_cache", ".ruff_cache") for part in path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        new = re.sub(r"\bpfbench(?:\.\w+)+", lambda m: rename_path(plan, m.group(), exports), text)
        new = full.sub(lambda m: paths[m[1]], new)
        new = short.sub(lambda m: shorts[m[1]], new)
        if path.suffix == ".j2":
            new = re.sub(r"{[{%].*?[%}]}", lambda m: rename_attributes(plan, m.group()), new)
        if path.suffix == ".txt":
            new = rename_block(plan, new, exports)
        if path.suffix == ".md":
            block = re.compile(r"(```python\n)(.*?)(\n```)", re.S)
            new = block.sub(lambda m: m[1] + rename_block(plan, m[2], exports) + m[3], new)
        if new != text:
            counts[path.relative_to(root).as_posix()] += 1
            if not dry:
                path.write_text(new, encoding="utf-8")
    return counts


def move_files(plan: Plan, root: Path) -> None:
    """Move the files of renamed modules, the deepest first."""
    for old in sorted(plan.modules, key=lambda name: -name.count(".")):
        path = root / old.replace(".", "/")
        source = path if path.is_dir() else path.with_suffix(".py")
        name = plan.modules[old] + ("" if path.is_dir() else ".py")
        source.rename(source.with_name(name))


STATE: dict[str, Any] = {}


def in_processes(function: Any, facts: dict[str, Any]) -> list[Any]:
    """Return what a function returns for the files, in several processes."""
    files = sorted(STATE.get("files") or facts["files"])
    chunks = [files[k::PROCESSES] for k in range(PROCESSES)]
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        return pool.map(function, chunks, chunksize=1)


def rename_files(files: list[str]) -> Any:
    """Return the new sources of some files, with notes and the names chosen by role."""
    plan, root, exports = STATE["plan"], STATE["root"], STATE["exports"]
    results = []
    for file in files:
        existing = STATE["facts"]["files"][file]
        renamer = Renamer(plan, root / file, existing["module"], existing, exports)
        renamer.ruled = not STATE["only"] or file.startswith(tuple(STATE["only"]))
        new = renamer.run()
        log = [(*item, file) for item in (renamer.roles.log if renamer.roles else [])]
        changed = new != renamer.source
        if changed:
            ast.parse(new)
        results.append((file, new if changed else None, renamer.notes, log, len(renamer.edits)))
    return results, plan.blocked


def name_files(files: list[str]) -> Any:
    """Return the names of parameters without a row in some files."""
    plan, root, exports = STATE["plan"], STATE["root"], STATE["exports"]
    found: dict[tuple[str, str], str] = {}
    log = []
    for file in files:
        existing = STATE["facts"]["files"][file]
        renamer = Renamer(plan, root / file, existing["module"], existing, exports)
        if renamer.roles is None:
            continue
        for scope in renamer.binder.top.iterate_scopes():
            if scope.kind != "function" or "<lambda>" in scope.name.rpartition(".")[2]:
                continue
            for name, kind in scope.bound.items():
                if kind == "parameter" and renamer.decide_by_table(scope, name) is None:
                    if not is_allowed(file, name) and (new := renamer.roles.choose(scope, name)):
                        found[scope.name, name] = new
        log += [(*item, file) for item in renamer.roles.log if (item[0], item[1]) in found]
    return found, log


PROCESSES = 6


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Apply the rename table to a checkout.")
    parser.add_argument("table", type=Path)
    parser.add_argument("facts", type=Path)
    parser.add_argument("--only", action="append", default=[], help="rows of files that begin so")
    parser.add_argument("--public", action="store_true", help="rows marked PUBLIC, too")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--files", help="edit only files whose path has this pattern; move none")
    parser.add_argument("--log", type=Path, help="where names chosen by role are written")
    chosen = parser.parse_args()
    root = Path.cwd()
    facts = json.loads(chosen.facts.read_text(encoding="utf-8"))
    facts["files"] = {file: item for file, item in facts["files"].items() if file.endswith(".py")}
    for path in sorted((root / "tests").rglob("conftest.py")):  # mypy cannot tell them apart
        file = path.relative_to(root).as_posix()
        empty = {"attributes": [], "keywords": [], "names": []}
        facts["files"].setdefault(file, {"module": module_of_file(file), **empty})
    if chosen.files:
        STATE["files"] = [file for file in facts["files"] if re.search(chosen.files, file)]
    plan = read_plan(chosen.table, facts, chosen.only, chosen.public)
    spread_parameters(plan, facts)
    exports = read_exports(facts, root)
    name_parameters(plan, facts, exports, root)
    spread_parameters(plan, facts)
    before, sources = -1, {}
    while len(plan.blocked) != before:  # a name that cannot change in its own module stays
        before, sources, notes, edits = len(plan.blocked), {}, list(plan.notes), 0
        log: list[tuple[str, ...]] = []
        plan.names = {key: new for key, new in plan.names.items() if key not in plan.blocked}
        members = {(name, plan.members.get((owner, name))) for owner, name in plan.blocked}
        plan.members = {
            key: new for key, new in plan.members.items() if (key[1], new) not in members
        }
        STATE.update(plan=plan, facts=facts, root=root, exports=exports, only=chosen.only)
        for results, blocked in in_processes(rename_files, facts):
            plan.blocked |= blocked
            for file, new, item_notes, item_log, count in results:
                notes += item_notes
                log += item_log
                if new is not None:
                    sources[file], edits = new, edits + count
    plan.notes, changed = notes, len(sources)
    if chosen.log:
        lines = sorted({"\t".join(item) for item in [*PARAMETER_LOG, *log]})
        chosen.log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for file, new in sources.items():
        if not chosen.dry_run:
            (root / file).write_bytes(new)
    texts = {} if chosen.files else rename_texts(plan, exports, root, chosen.dry_run)
    if not chosen.dry_run and not chosen.files:
        move_files(plan, root)
    print("\n".join(sorted(set(plan.notes))))
    print(f"{edits} edits in {changed} files, {len(texts)} documents, {len(set(plan.notes))} notes")


if __name__ == "__main__":
    main()
