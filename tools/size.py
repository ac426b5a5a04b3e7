"""Check that the code is no larger than tools/size.toml allows.

Counts code lines (without blanks, comments and docstrings) of the folders that it names and of the
trusted base, which docs/architecture.md lists, and the lines of the scripts of pages. Raise a limit
only with an entry in CHANGELOG.md that says why.

python tools/size.py [--write]

--write lowers the limits to the present sizes.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = ROOT / "tools" / "size.toml"
SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count_code_lines(source: str) -> int:
    """Return the number of code lines of a Python source."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines -= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def list_trusted_base() -> list[Path]:
    """Return the files that the section "Trusted base" of docs/architecture.md lists."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    files = []
    for part in re.split(r"[|;]", page.partition("\n## Trusted base\n")[2].partition("\n## ")[0]):
        folder = re.search(r"in `([\w/]+)`:", part)
        root = ROOT / "pfbench" / (folder[1] if folder else "")
        files += [root / name for name in re.findall(r"`([\w/]+\.py)`", part)]
    return files


def measure() -> dict[str, int]:
    """Return the sizes by the names of tools/size.toml."""
    sizes = {
        folder: sum(count_code_lines(p.read_text("utf-8")) for p in (ROOT / folder).rglob("*.py"))
        for folder in ("pfbench", "tests")
    }
    sizes["trusted"] = sum(count_code_lines(p.read_text("utf-8")) for p in list_trusted_base())
    scripts = (ROOT / "pfbench").rglob("*.js")
    return sizes | {"javascript": sum(len(p.read_text("utf-8").splitlines()) for p in scripts)}


def main() -> int:
    """Print each size beside its limit; return 1 if one is exceeded."""
    limits, sizes = tomllib.loads(LIMITS.read_text("utf-8")), measure()
    if "--write" in sys.argv[1:]:
        lowered = {name: min(size, limits[name]) for name, size in sizes.items()}
        LIMITS.write_text("".join(f"{name} = {size}\n" for name, size in lowered.items()), "utf-8")
        limits = lowered
    for name, size in sizes.items():
        print(f"{name:<12}{size:>7} of {limits[name]} lines allowed")
    return int(any(sizes[name] > limits[name] for name in sizes))


if __name__ == "__main__":
    sys.exit(main())
