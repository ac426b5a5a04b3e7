"""Wrap docstrings and comments that renames made longer than 100 characters; mark other lines."""

import ast
import json
import subprocess
import textwrap
from collections import defaultdict
from pathlib import Path

WIDTH = 100
MARK = "  # noqa: E501"


def docstring_lines(text: str) -> dict[int, tuple[int, int]]:
    """Return the first and last line of the docstring that a line is in."""
    lines = {}
    for node in ast.walk(ast.parse(text)):
        for child in getattr(node, "body", []) if isinstance(getattr(node, "body", None), list) else []:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and isinstance(child.value.value, str):
                for line in range(child.lineno, (child.end_lineno or child.lineno) + 1):
                    lines[line] = (child.lineno, child.end_lineno or child.lineno)
    return lines


def wrap(lines: list[str], index: int, docstring: tuple[int, int] | None) -> None:
    """Wrap the paragraph that has a line, or mark the line."""
    line = lines[index]
    indent = line[: len(line) - len(line.lstrip())]
    if docstring is None:
        if not line.lstrip().startswith("# "):
            lines[index] += MARK
            return
        lead, end = f"{indent}# ", index + 1
        while end < len(lines) and lines[end].startswith(lead) and lines[end][len(lead)] not in " -":
            end += 1
    else:
        first, last = docstring
        if index + 1 in (first, last):  # a summary stays one line until it is rewritten
            if MARK not in lines[last - 1]:
                lines[last - 1] += MARK
            return
        lead, end = indent, index + 1
        while end < last - 1:
            item = lines[end]
            if not item.strip() or not item.startswith(indent) or item[len(indent)] in " -":
                break
            end += 1
    words = " ".join(item[len(lead) :].strip() for item in lines[index:end])
    lines[index:end] = textwrap.wrap(
        words, WIDTH, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False, break_long_words=False
    )


def main() -> None:
    output = subprocess.run(
        ["ruff", "check", "--select", "E501", "--output-format", "json", "."], capture_output=True, text=True
    ).stdout
    places = defaultdict(list)
    for item in json.loads(output):
        places[item["filename"]].append(item["location"]["row"])
    for file, rows in places.items():
        path = Path(file)
        text = path.read_text(encoding="utf-8")
        ranges, lines = docstring_lines(text), text.split("\n")
        for row in sorted(rows, reverse=True):
            wrap(lines, row - 1, ranges.get(row))
        path.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
