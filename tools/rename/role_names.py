"""Names for variables that are called `one`, `found`, `told` ...: by what they are bound to.

A variable is named after the class of its value, after an element of what a loop goes through, or
after what the called function returns; the overrides of ``roles.tsv`` come first. ``apply.py`` uses it
where the table has no row.
"""

import ast
import builtins
import csv
import keyword
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

IRREGULAR = {
    "indices": "index", "vertices": "vertex", "matrices": "matrix", "axes": "axis", "data": "item",
    "entries": "entry", "criteria": "criterion", "errata": "erratum", "lemmata": "lemma", "children": "child",
    "halves": "half", "series": "series", "classes": "kind", "kinds": "kind", "bytes": "data", "bases": "base",
    "analyses": "analysis", "hypotheses": "hypothesis", "cases": "case", "phases": "phase", "sizes": "size",
    "catalogue": "entry", "mapping": "item", "gradients": "gradient", "values": "value", "args": "argument",
    "kwargs": "argument", "news": "news", "basis": "basis", "process": "process", "axis": "axis", "body": "statement",
    "releases": "release", "responses": "response", "databases": "database", "traces": "trace", "sources": "source",
    "names": "name", "modules": "module", "files": "file", "rules": "rule", "pages": "page", "tables": "table",
    "figures": "figure", "lines": "line", "types": "type_name", "oracles": "oracle", "samples": "sample",
    "instances": "instance", "estimates": "estimate", "rates": "rate", "prices": "price", "nodes": "node",
    "examples": "example", "packages": "package", "changes": "change", "archives": "archive", "curves": "curve",
    "variables": "variable", "archive": "member", "places": "location", "needs": "need", "purposes": "purpose",
    "messages": "message", "images": "image", "ranges": "bounds", "slopes": "slope", "stages": "stage",
}
PLURAL = {value: key for key, value in IRREGULAR.items() if key in ("indices", "vertices", "matrices", "axes", "entries", "criteria", "errata", "children")}
VERBS = frozenset(
    """get read load write make build create compute find list open parse format render draw fit run solve select
    choose pick collect gather iterate yield count measure check test evaluate apply add merge join combine split
    resolve look return describe print show store fetch ask query convert to as from update set take drop remove
    sort order rank group filter map match extract estimate derive examine judge decide state generate simulate
    sample instantiate expand reduce scale normalise project describe define prepare plan assign allocate call
    record replay reconstruct rerun execute follow trace scan search name""".split()
)
WRAPPERS = frozenset(
    "sorted list tuple set frozenset reversed iter dict int float abs bool asarray array copy deepcopy replace "
    "cast keep round ascontiguousarray unique sqrt atleast_1d ravel chain from_iterable cumsum MappingProxyType".split()
)
ELEMENTS = {
    "range": "index", "walk": "node", "iter_child_nodes": "child", "splitlines": "line", "glob": "path",
    "rglob": "path", "iterdir": "path", "fields": "field", "split": "part", "finditer": "match", "findall": "match",
    "permutations": "order", "combinations": "pair", "pairwise": "pair", "product": "combination", "iter_fields": "field",
    "entry_points": "entry_point", "arange": "index", "readlines": "line", "batched": "chunk", "spawn": "child",
}
RESULTS = {
    "len": "count", "sum": "total", "str": "text", "repr": "text", "join": "text", "read_text": "text", "group": "text",
    "match": "match", "fullmatch": "match", "search": "match", "loads": "data", "load": "data", "open": "file", "split": "parts",
    "splitlines": "lines", "strip": "text", "format": "text", "median": "median", "mean": "mean", "norm": "norm", "var": "variance",
    "perf_counter": "started", "import_module": "module", "range": "indices", "read_bytes": "content", "getattr": "value",
    "partition": "parts", "rpartition": "parts", "dumps": "text", "Counter": "counts", "array_equal": "is_equal",
    "isclose": "is_close", "exists": "exists", "is_file": "exists", "lower": "text", "zeros": "result", "empty": "result",
    "zeros_like": "result", "empty_like": "result", "copy": "copy", "flatnonzero": "indices", "argsort": "order", "argmax": "index",
    "argmin": "index", "searchsorted": "index", "dot": "product", "std": "deviation", "quantile": "quantile", "stat": "status",
    "signature": "signature", "parse": "tree", "Popen": "process", "polyfit": "coefficients", "lstsq": "solution",
    "unparse": "text", "hexdigest": "digest", "urlopen": "response", "exp": "value", "nonzero": "indices", "prod": "product",
    "max": "largest", "min": "smallest", "nanmax": "largest", "nanmin": "smallest", "defaultdict": "groups",
}
WEAK = frozenset("text product ratio difference largest smallest inf mean value values result results item items count total ratios texts".split())
GENERIC = frozenset("one found given made known asked drawn kept shown told stated there seen held taken".split())
NO_NOUNS = frozenset("fromkeys var array full solve run make plain astype tolist items keys accumulate attrgetter partial call main setting_for under within replace apply as_dict asdict ravel T inverse concatenate stack theory submit where".split())
NOT_NAMES = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"self", "cls", "_"}
PLAIN = frozenset({"builtins.str", "builtins.int", "builtins.float", "builtins.bool", "builtins.object", "builtins.dict"})
BY_WORD = {
    # word: (prefix of its type, name) in order
    "one": [("builtins.str", "name"), ("builtins.int", "number"), ("builtins.float", "value"), ("", "item")],
    "found": [
        ("builtins.str", "text"), ("builtins.int", "count"), ("builtins.float", "value"), ("builtins.bool", "is_found"),
        ("builtins.list", "results"), ("builtins.dict", "results"), ("builtins.set", "names"), ("", "result"),
    ],
    "given": [("builtins.str", "text"), ("builtins.dict", "arguments"), ("typing.Mapping", "parameters"), ("", "value")],
    "at": [("builtins.int", "index"), ("builtins.str", "location"), ("builtins.float", "position"), ("", "point")],
    "known": [("builtins.bool", "is_known"), ("", "existing")],
    "made": [("builtins.str", "text"), ("builtins.list", "created"), ("", "created")],
    "of": [("builtins.str", "subject"), ("builtins.float", "quantity"), ("builtins.int", "total"), ("", "source")],
    "most": [("builtins.function", "bound"), ("builtins.str", "bound_text"), ("builtins.int", "max_count"), ("builtins.float", "upper"), ("", "upper")],
    "least": [("builtins.int", "min_count"), ("builtins.float", "lower"), ("", "lower")],
    "told": [("builtins.str", "message"), ("builtins.dict", "report"), ("", "reported")],
    "asked": [("builtins.str", "requested"), ("builtins.int", "call_count"), ("", "request")],
    "place": [("builtins.str", "location"), ("builtins.int", "position"), ("", "location")],
    "places": [("", "locations")],
    "where": [("builtins.str", "location"), ("numpy", "mask"), ("", "location")],
    "drawn": [("numpy", "sample"), ("builtins.bool", "is_drawn"), ("", "sample")],
    "about": [("builtins.str", "description"), ("", "subject")],
    "what": [("builtins.str", "subject"), ("builtins.function", "function"), ("", "subject")],
    "said": [("builtins.str", "statement"), ("", "statement")],
    "there": [("builtins.bool", "exists"), ("", "recorded")],
    "here": [("", "current")],
    "every": [("builtins.int", "frequency"), ("builtins.str", "each_name"), ("builtins.bool", "includes_all"), ("", "full_list")],
    "kept": [("builtins.bool", "is_kept"), ("", "retained")],
    "off": [("builtins.bool", "deviates"), ("", "deviation")],
    "seen": [("", "visited")],
    "shown": [("builtins.str", "text"), ("builtins.bool", "is_shown"), ("", "displayed")],
    "whole": [("builtins.bool", "is_complete"), ("builtins.int", "total"), ("builtins.float", "total"), ("builtins.str", "full_text"), ("", "complete")],
    "others": [("", "rest")],
    "stated": [("", "statement")],
    "mine": [("", "candidate")],
    "theirs": [("", "reference")],
    "ours": [("", "computed")],
    "within": [("builtins.bool", "is_inside"), ("builtins.str", "function_class"), ("", "inner")],
    "several": [("builtins.bool", "is_plural"), ("", "group")],
    "more": [("builtins.bool", "has_more"), ("", "extra")],
    "again": [("builtins.bool", "is_repeated"), ("builtins.str", "recomputed"), ("", "recomputed")],
    "wanted": [("", "expected")],
    "beyond": [("builtins.bool", "exceeds"), ("", "excess")],
    "taken": [("builtins.float", "elapsed"), ("builtins.set", "used_names"), ("", "selected")],
    "beside": [("", "neighbour")],
    "along": [("", "path")],
    "begun": [("builtins.float", "started"), ("builtins.bool", "has_started"), ("", "started")],
    "held": [("", "retained")],
    "thing": [("", "component")],
    "apart": [("builtins.bool", "is_separate"), ("", "distance")],
    "ats": [("", "points")],
    "who": [("", "owner")],
    "fewest": [("", "smallest")],
    "whose": [("", "owner")],
    "meant": [("", "intended")],
    "out_of": [("", "total")],
}


def snake(name: str) -> str:
    """Return a class's name in lower case with underscores."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip("_")).lower()


def class_noun(name: str) -> str:
    """Return the last word of a class's name."""
    words = snake(name).split("_")
    last = words[-1]
    if last in ("error", "problem", "set", "method") or len(words) == 1:
        return last
    return last if len(last) > 3 else "_".join(words[-2:])


def singular(noun: str) -> str:
    """Return one of what a plural names; empty if the noun is no plural."""
    *head, last = noun.split("_")
    if "of" in head or "by" in head or "per" in head or "for" in head or "in" in head or "with" in head:
        cut = next(i for i, word in enumerate(head) if word in ("of", "by", "per", "for", "in", "with"))
        return singular("_".join(head[:cut])) if cut else ""
    if last in IRREGULAR:
        new = IRREGULAR[last]
    elif last.endswith("ies"):
        new = last[:-3] + "y"
    elif last.endswith(("sses", "xes", "shes", "ches")):
        new = last[:-2]
    elif last.endswith("s") and not last.endswith(("ss", "us", "is")):
        new = last[:-1]
    else:
        return ""
    if last in IRREGULAR and new == "item" and head:
        return ""
    return "_".join([*head, new])


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    if not noun:
        return ""
    *head, last = noun.split("_")
    if head and head[0] in ("is", "has"):
        return ""
    if last in PLURAL:
        new = PLURAL[last]
    elif last.endswith("s") and not last.endswith("ss"):
        new = last
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        new = last[:-1] + "ies"
    elif last.endswith(("s", "x", "sh", "ch")):
        new = last + "es"
    else:
        new = last + "s"
    return "_".join([*head, new])


def load_roles() -> list[dict[str, str]]:
    """Return the overrides."""
    path = HERE / "roles.tsv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


class RoleNames:
    """Choose names in one file; `renamer` resolves what the table already renames."""

    def __init__(self, renamer: Any, banned: frozenset[str], roles: list[dict[str, str]]) -> None:
        self.renamer, self.banned, self.roles = renamer, banned, roles
        self.chosen: dict[tuple[int, str], str | None] = {}
        self.pending: set[tuple[int, str]] = set()
        self.log: list[tuple[str, str, str, str]] = []
        cached = getattr(renamer.binder, "role_facts", None)
        if cached is not None:
            self.parents, self.bindings, self.labels, self.returned, self.filled = cached
            return
        self.parents: dict[int, ast.AST] = {}
        for node in ast.walk(renamer.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[id(child)] = node
        self.bindings: dict[tuple[int, str], list[ast.AST]] = {}
        for node in renamer.binder.order:
            scope = renamer.binder.scope_by_node[id(node)]
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.bindings.setdefault((id(scope.find(node.id)), node.id), []).append(node)
            elif isinstance(node, ast.arg):
                self.bindings.setdefault((id(scope), node.arg), []).append(node)
        self.labels: dict[tuple[int, str], set[str]] = {}
        for node in renamer.binder.order:
            if isinstance(node, ast.Name):
                scope = renamer.binder.scope_by_node[id(node)].find(node.id)
                label = renamer.types.get((node.lineno, node.col_offset, node.id))
                if scope is not None and label:
                    self.labels.setdefault((id(scope), node.id), set()).add(label)
        self.returned: set[tuple[int, str]] = set()
        self.filled: dict[tuple[int, str], list[ast.expr]] = {}
        for node in renamer.binder.order:
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            scope = renamer.binder.scope_by_node[id(node)].find(node.id)
            key = (id(scope), node.id)
            parent = self.parents.get(id(node))
            if isinstance(parent, ast.Return) and parent.value is node:
                self.returned.add(key)
            elif isinstance(parent, ast.Attribute) and parent.attr in ("append", "add"):
                call = self.parents.get(id(parent))
                if isinstance(call, ast.Call) and call.func is parent and call.args:
                    self.filled.setdefault(key, []).append(call.args[0])
            elif isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
                statement = self.parents.get(id(parent))
                if isinstance(statement, ast.Assign):
                    self.filled.setdefault(key, []).append(statement.value)
        renamer.binder.role_facts = (self.parents, self.bindings, self.labels, self.returned, self.filled)

    def choose(self, scope: Any, name: str) -> str | None:
        """Return the new name of a variable; None if it stays."""
        bare = name.strip("_")
        if bare not in self.banned:
            return None
        key = (id(scope), name)
        if key in self.chosen:
            return self.chosen[key]
        if key in self.pending:
            return None
        self.pending.add(key)
        options = []
        for new, why in self.candidates(scope, name):
            new = new.strip("_")
            if not new or new in [item for item, _ in options]:
                continue
            options.append((new, why))
        result, why = None, ""
        for new, why in options:
            if self.is_good(new) and self.is_free(scope, name, new):
                result = new
                break
        if result is None:
            for new, why in options:
                for other in (f"other_{new}", f"{new}_value", f"current_{new}"):
                    if self.is_good(new) and self.is_free(scope, name, other):
                        result, why = other, f"{why}, collision"
                        break
                if result:
                    break
        self.pending.discard(key)
        if result is not None and name.startswith("_"):
            result = f"_{result}"
        self.chosen[key] = result
        self.log.append((scope.name, name, result or "-", why))
        return result

    def is_good(self, new: str) -> bool:
        return new.isidentifier() and new not in NOT_NAMES and new not in self.banned and new == new.lower() and len(new) > 1

    def is_free(self, scope: Any, old: str, new: str) -> bool:
        """Return whether nothing else has the name where the variable is seen."""
        subtree = list(scope.iterate_scopes())
        for user in subtree:
            for other in user.bound:
                if other == new or (other != old or user is not scope) and self.final(user, other) == new:
                    return False
            if new in user.used:
                return False
        above = scope.parent
        while above is not None:
            for other in above.bound:
                if self.final(above, other) == new and any(other in user.used for user in subtree):
                    return False
                if above.kind in ("function", "comprehension") and self.final(above, other) == new and scope.kind != "comprehension":
                    if any(other in user.used for user in subtree):
                        return False
            above = above.parent
        # a comprehension whose element is renamed must not hide a name of its first iterable: it is outside
        return True

    def final(self, scope: Any, name: str) -> str:
        key = (id(scope), name)
        if key in self.chosen:
            return self.chosen[key] or name
        return self.renamer.decide_by_table(scope, name) or name

    # --- candidates

    def candidates(self, scope: Any, name: str) -> Iterator[tuple[str, str]]:
        bare = name.strip("_")
        for row in self.roles:
            if row["old"] == name and fnmatch(scope.name, row["scope"]):
                yield row["new"], "override"
        nodes = self.bindings.get((id(scope), name), [])
        label = self.label(scope, name, nodes)
        by_type = self.renamer.name_by_type(scope, name)
        if by_type:
            yield by_type, "type"
        by_class = self.by_class(label)
        if by_class:
            yield by_class, "class"
        weak: list[str] = []
        for node in nodes:
            new = self.by_binding(scope, node)
            if new and new.rpartition("_")[2] in WEAK:
                weak.append(new)
            elif new:
                yield new, "binding"
        nouns = {self.noun(value) for value in self.filled.get((id(scope), name), [])}
        if len(nouns) == 1 and (noun := nouns.pop()) and noun.rpartition("_")[2] not in WEAK:
            yield plural(noun), "filled"
        if (id(scope), name) in self.returned and scope.kind == "function" and bare in GENERIC:
            new = self.returned_noun(scope)
            if new:
                yield new, "returned"
        if bare in GENERIC or bare not in BY_WORD:
            for new in weak:
                yield new, "weak"
        for prefix, new in BY_WORD.get(bare, [("", "item")]):
            if label.startswith(prefix):
                yield new, f"word {label[:30]}"
        if by_class:
            yield f"other_{by_class}", "class"

    def returned_noun(self, scope: Any) -> str:
        """Return a noun after the function that returns a variable."""
        name = scope.name.rpartition(".")[2]
        outer = scope.parent
        new = (self.renamer.decide_by_table(outer, name) if outer is not None and name in outer.bound else None) or name
        return self.function_noun(new)

    def label(self, scope: Any, name: str, nodes: list[ast.AST]) -> str:
        labels = self.labels.get((id(scope), name), set())
        if len(labels) == 1:
            return next(iter(labels))
        for node in nodes:
            annotation = getattr(node, "annotation", None)
            parent = self.parents.get(id(node))
            if isinstance(parent, ast.AnnAssign) and parent.target is node:
                annotation = parent.annotation
            if annotation is not None:
                return self.annotation_label(annotation)
        heads = {label.split("[")[0] for label in labels}
        return heads.pop() if len(heads) == 1 else ""

    def annotation_label(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return ""
        if isinstance(node, ast.BinOp):  # C | None
            sides = [self.annotation_label(side) for side in (node.left, node.right)]
            sides = [side for side in sides if side]
            return sides[0] if len(sides) == 1 else ""
        if isinstance(node, ast.Subscript):
            outer = self.annotation_label(node.value)
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return f"{outer}[{', '.join(self.annotation_label(item) for item in inner)}]"
        if isinstance(node, ast.Name):
            if node.id in ("str", "int", "float", "bool", "dict", "list", "tuple", "set", "object", "frozenset", "bytes"):
                return f"builtins.{node.id}"
            scope = self.renamer.binder.top.find(node.id)
            if scope is None:
                return ""
            if node.id in ("Sequence", "Iterable", "Mapping", "Iterator", "Collection"):
                return f"typing.{node.id}"
            if node.id in ("Callable",):
                return "builtins.function"
            if node.id in ("Array", "Indices", "Vector"):
                return "numpy.ndarray"
            return self.renamer.full_name(scope, node.id)
        if isinstance(node, ast.Attribute):
            if ast.unparse(node) == "np.ndarray":
                return "numpy.ndarray"
            module = self.renamer.resolve_module(node.value)
            return f"{module}.{node.attr}" if module else ""
        return ""

    def by_class(self, label: str) -> str:
        """Return the noun of a class of the package, plural for what holds many."""
        outer, _, rest = label.partition("[")
        inner = [part.strip(" ]") for part in rest.split(", ")] if rest else []
        if outer in ("re.Match",):
            return "match"
        if outer == "re.Pattern":
            return "pattern"
        if outer == "pathlib.Path":
            return "path"
        if outer == "types.ModuleType":
            return "module"
        if outer == "datetime.datetime":
            return "time"
        if outer.startswith("ast."):
            return "node"
        if outer == "pandas.core.frame.DataFrame":
            return "frame"
        if outer == "numpy.random._generator.Generator":
            return "rng"
        if outer == "inspect.Parameter":
            return "parameter"
        if outer == "dataclasses.Field":
            return "field"
        if outer.startswith("pfbench."):
            module, _, name = outer.rpartition(".")
            if outer in self.renamer.exports["classes"]:
                new = self.renamer.plan.names.get((module, name), name)
                return class_noun(new)
        if outer == "builtins.type":
            return "kind"
        if outer.rpartition(".")[2] in ("list", "Sequence", "tuple", "set", "frozenset", "Iterable", "Iterator", "Collection", "dict", "Mapping", "deque", "Generator", "MutableMapping"):
            nouns = [self.by_class(part) for part in inner if part]
            if nouns and nouns[-1] and len(set(nouns)) == 1 or (nouns and nouns[-1] and outer.rpartition(".")[2] in ("dict", "Mapping", "MutableMapping")):
                return plural(nouns[-1])
        return ""

    def by_binding(self, scope: Any, node: ast.AST) -> str:
        """Return a name after what binds a variable."""
        path: list[int] = []
        child: ast.AST = node
        parent = self.parents.get(id(node))
        while isinstance(parent, ast.Tuple | ast.List | ast.Starred):
            if not isinstance(parent, ast.Starred):
                path.insert(0, parent.elts.index(child))  # type: ignore[arg-type]
            child, parent = parent, self.parents.get(id(parent))
        if isinstance(parent, ast.For | ast.comprehension) and parent.target is child:
            return self.element(parent.iter, path)
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
            value = parent.value
            if path and isinstance(value, ast.Tuple) and path[0] < len(value.elts) and not any(isinstance(item, ast.Starred) for item in value.elts):
                return self.noun(value.elts[path[0]])
            return self.noun(value) if value is not None and not path else ""
        if isinstance(parent, ast.withitem):
            return self.noun(parent.context_expr)
        return ""

    def element(self, source: ast.expr, path: list[int]) -> str:
        """Return a noun for an element of what is iterated over."""
        name = called_name(source)
        arguments = source.args if isinstance(source, ast.Call) else []
        if name == "enumerate" and path:
            return "index" if path[0] == 0 else self.element(arguments[0], path[1:]) if arguments else ""
        if name in ("zip", "zip_longest", "product") and path and path[0] < len(arguments):
            return self.element(arguments[path[0]], path[1:])
        if name == "items" and isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
            noun = self.noun(source.func.value)
            if path == [0]:
                key = re.search(r"_(?:by|per)_(\w+)$", noun)
                return key[1] if key else ("name" if noun in ("parameters", "arguments") else "key")
            return singular(noun) if path == [1] else ""
        if name == "keys":
            return "key"
        if name == "values" and isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
            return singular(self.noun(source.func.value)) if not path else ""
        if name in ("sorted", "list", "tuple", "set", "reversed", "iter", "frozenset", "chain", "islice", "tqdm") and arguments:
            return self.element(arguments[0], path)
        if name in ("filter", "filterfalse", "takewhile") and len(arguments) > 1:
            return self.element(arguments[1], path)
        if path:
            return ""
        if name in ELEMENTS:
            return ELEMENTS[name]
        if isinstance(source, ast.IfExp):
            return self.element(source.body, path) or self.element(source.orelse, path)
        if isinstance(source, ast.BinOp):
            return self.element(source.left, path) or self.element(source.right, path)
        if isinstance(source, ast.BoolOp):
            return next(filter(None, (self.element(item, path) for item in source.values)), "")
        return singular(self.noun(source))

    def noun(self, node: ast.expr) -> str:  # noqa: C901
        """Return a noun phrase for the value of an expression; empty if there is none."""
        match node:
            case ast.Name():
                scope = self.renamer.binder.scope_by_node[id(node)].find(node.id)
                new = node.id
                if scope is not None:
                    new = self.renamer.decide(scope, node.id) or node.id
                return self.clean(new)
            case ast.Attribute():
                return self.clean(self.renamer.attribute_name(node) or node.attr)
            case ast.Starred() | ast.NamedExpr() | ast.Await():
                return self.noun(node.value)
            case ast.Subscript():
                key = node.slice
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    return self.clean(key.value)
                whole = self.noun(node.value)
                return whole if isinstance(key, ast.Slice) else singular(whole)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                first = node.generators[0]
                elt = node.elt
                if isinstance(elt, ast.Name) and isinstance(first.target, ast.Name) and elt.id == first.target.id:
                    return self.noun(first.iter)
                return plural(self.noun(elt)) or ""
            case ast.DictComp():
                return plural(self.noun(node.value)) or ""
            case ast.BoolOp():
                return next(filter(None, map(self.noun, node.values)), "")
            case ast.IfExp():
                return self.noun(node.body) or self.noun(node.orelse)
            case ast.BinOp():
                if isinstance(node.op, ast.BitOr | ast.Add | ast.BitAnd) and not isinstance(node.left, ast.Constant):
                    return self.noun(node.left)
                return {ast.Sub: "difference", ast.Div: "ratio", ast.MatMult: "product", ast.Mult: "product"}.get(type(node.op), "")
            case ast.JoinedStr():
                return "text"
            case ast.Lambda():
                return "function"
            case ast.Constant():
                return "text" if isinstance(node.value, str) else ""
            case ast.Call():
                return self.call_noun(node)
        return ""

    def call_noun(self, node: ast.Call) -> str:
        name = called_name(node)
        if name in ("next", "iter") and node.args:
            source = node.args[0]
            if isinstance(source, ast.GeneratorExp):
                return singular(self.noun(source))
            return self.element(source, [])
        if name in WRAPPERS and node.args:
            return self.noun(node.args[0])
        if name in ("max", "min") and len(node.args) == 1 and not isinstance(node.args[0], ast.GeneratorExp):
            return singular(self.noun(node.args[0])) or RESULTS[name]
        if name in ("get", "pop", "setdefault") and isinstance(node.func, ast.Attribute):
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                return self.clean(node.args[0].value)
            return singular(self.noun(node.func.value))
        if name in ("filter", "map") and len(node.args) > 1:
            return self.noun(node.args[1])
        if name in RESULTS:
            return RESULTS[name]
        if isinstance(node.func, ast.Name):
            scope = self.renamer.binder.scope_by_node[id(node.func)].find(node.func.id)
            name = (self.renamer.decide(scope, name) if scope is not None else None) or name
        elif isinstance(node.func, ast.Attribute):
            name = self.renamer.attribute_name(node.func) or name
            receiver = node.func.value
            if name.startswith("from_") or name in ("parse", "theory"):
                if isinstance(receiver, ast.Name) and receiver.id[:1].isupper():
                    return class_noun(receiver.id)
        if name[:1].isupper() or name.startswith("_") and name[1:2].isupper():
            return class_noun(name)
        return self.function_noun(name)

    def function_noun(self, name: str) -> str:
        """Return what a function is named to return."""
        words = name.strip("_").split("_")
        if words[0] in ("is", "has", "can", "needs", "with"):
            return ""
        if words[0] in VERBS and len(words) > 1:
            words = words[1:]
        elif words[0] in VERBS:
            return ""
        for cut in ("of", "by", "for", "from", "in", "with", "at", "to", "on"):
            if cut in words[1:]:
                words = words[: words.index(cut, 1)]
        if len(words) == 1 and (words[0].endswith("ed") or words[0] in NO_NOUNS):
            return ""
        return self.clean("_".join(words))

    def clean(self, name: str) -> str:
        name = name.strip("_")
        if name.isupper() or name != name.lower():
            name = name.lower()
        return "" if name in self.banned or not name.isidentifier() or len(name) < 3 else name


def called_name(node: ast.expr) -> str:
    """Return the last name of what is called; empty for other expressions."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
