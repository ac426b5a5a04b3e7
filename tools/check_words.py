"""Check names and texts against the vocabulary of words.toml; the counts may only go down.

Usage, from the root of a checkout::

    python check_words.py                    # fails where a rule is broken more often than allowed
    python check_words.py --list W2 [FILE]   # file:line of each place where a rule is broken
    python check_words.py --write            # take the present counts as those allowed

W1  a banned name: of a function, class, parameter, attribute or variable
W2  a function named by a participle, adverb or preposition
W3  a summary of a function without an imperative, or with "Return what", "Return how"
W4  a summary of a module, class or property that defines by "What", "Where", "How"
W5  a banned word in a string or a document
W6  a module that has a namesake in the package
"""

import argparse
import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
WORDS = tomllib.loads((HERE / "words.toml").read_text(encoding="utf-8"))
BASELINE = HERE / "words-baseline.json"
NAMES = frozenset(WORDS["identifiers"]["banned"])
FIRST, LAST = (frozenset(WORDS["functions"][f"banned_{end}"]) for end in ("first", "last"))
ALLOWED = frozenset(WORDS["functions"]["allowed"])
NUMBERED = WORDS.get("modules", {}).get("allowed", [])
IN_PLACE = [(item["files"], frozenset(item["names"])) for item in WORDS.get("allowed", [])]
SUMMARY = {key: frozenset(words) for key, words in WORDS["docstrings"].items()}
PROSE = re.compile(
    r"(?<![\w'-])(?:" + "|".join(map(re.escape, WORDS["prose"]["banned"])) + r")(?![\w'-])", re.I
)
DOCUMENTS = ("*.md", "docs/**/*.md")
PROPERTIES = ("property", "cached_property", "derived")


class Fault(NamedTuple):
    """A place where a rule is broken."""

    rule: str
    file: str
    line: int
    text: str


def is_allowed(file: str, name: str) -> bool:
    """Return whether the vocabulary allows a name in a file."""
    return any(name.strip("_") in names and fnmatch(file, files) for files, names in IN_PLACE)


def is_bad_function(name: str) -> bool:
    """Return whether a name is neither a verb nor a noun."""
    first, *rest = name.strip("_").lower().split("_")
    if name.strip("_") in ALLOWED or name.startswith("__"):
        return False
    participle = first.endswith("ed") and len(first) > 4 and first not in ALLOWED
    return participle or first in FIRST or bool(rest and rest[-1] in LAST)


def bad_summary(node: ast.AST, text: str) -> str:
    """Return the rule that the summary of a docstring breaks, or an empty string."""
    first, second, *_ = [*text.split()[:2], "", ""]
    decorators = [ast.unparse(part) for part in getattr(node, "decorator_list", [])]
    if isinstance(node, ast.FunctionDef) and not any(d.endswith(PROPERTIES) for d in decorators):
        bad = first.rstrip(".,:;") in SUMMARY["banned_first"]
        bad |= first in ("Return", "Yield") and second in SUMMARY["banned_second"]
        return "W3" if bad else ""
    return "W4" if first in SUMMARY["banned_noun"] else ""


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that a file defines, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.end_lineno or node.lineno


def check_source(path: Path, file: str) -> Iterator[Fault]:
    """Yield the faults of a source file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, line in names(tree):
        if name.strip("_") in NAMES and not is_allowed(file, name):
            yield Fault("W1", file, line, name)
    summaries = set()
    for node in ast.walk(tree):
        named = isinstance(node, ast.FunctionDef) and not is_allowed(file, node.name)
        if named and is_bad_function(node.name):
            yield Fault("W2", file, node.lineno, node.name)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = (ast.get_docstring(node) or "").strip()
            if text and (rule := bad_summary(node, text)):
                yield Fault(rule, file, getattr(node, "lineno", 1), text.splitlines()[0])
            if text:
                summaries.add(id(node.body[0].value))  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for match in PROSE.finditer(node.value):
                line = node.lineno + node.value[: match.start()].count("\n")
                yield Fault("W5", file, line, match.group())


def check_document(path: Path, file: str) -> Iterator[Fault]:
    """Yield the faults of a document, code blocks left out."""
    code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        for match in () if code else PROSE.finditer(re.sub(r"`[^`]*`", "", line)):
            yield Fault("W5", file, number, match.group())


def check(root: Path, package: str) -> list[Fault]:
    """Return all faults of a checkout."""
    faults: list[Fault] = []
    paths = [p for p in sorted((root / package).rglob("*.py")) if "templates" not in p.parts]
    named = [
        p for p in paths if not any(fnmatch(p.relative_to(root).as_posix(), m) for m in NUMBERED)
    ]
    stems = Counter(path.stem for path in named)
    for path in paths:
        file = path.relative_to(root).as_posix()
        faults += check_source(path, file)
        if path in named and stems[path.stem] > 1 and path.stem not in ("__init__", "catalogue"):
            faults.append(Fault("W6", file, 1, path.stem))
    for pattern in DOCUMENTS:
        for path in sorted(root.glob(pattern)):
            faults += check_document(path, path.relative_to(root).as_posix())
    return faults


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Check names and texts against words.toml.")
    parser.add_argument("--package", default="pfbench")
    parser.add_argument("--list", metavar="RULE", help="print the places where a rule is broken")
    parser.add_argument("file", nargs="?", help="with --list: a file or folder")
    parser.add_argument("--write", action="store_true", help="take the present counts as allowed")
    options = parser.parse_args()
    faults = check(Path.cwd(), options.package)
    counts = dict(sorted(Counter(fault.rule for fault in faults).items()))
    if options.list:
        for fault in faults:
            if fault.rule == options.list and fault.file.startswith(options.file or ""):
                print(f"{fault.file}:{fault.line}: {fault.rule} {fault.text}")
        return 0
    if options.write:
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    allowed = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    failed = [rule for rule in counts if counts[rule] > allowed.get(rule, 0)]
    for rule, count in counts.items():
        print(f"{rule} {count:6} of {allowed.get(rule, 0)} allowed{' FAILS' * (rule in failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
