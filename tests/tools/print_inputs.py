"""Give every wrong input of tests/wrong_inputs.py, and print the table of what was said.

python tests/tools/print_inputs.py [--write]

--write puts it into reports/inputs.md.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "docs")]

from answers import PAGE, asked, printed, row, table, workplace  # noqa: E402
from command_line import SMALL, SVRG  # noqa: E402

PARTS = {
    "command": (
        "On the command line",
        f"Exit status 2, before any work; nothing is left. `P` is `{SMALL}`, `A` is `{SVRG}`.",
    ),
    "failing": ("What runs, and fails", "Exit status 1."),
    "python": (
        "In Python",
        "An `InputError`, before any work, or a run that says why it ended. `problem` is a small "
        "quadratic, `method` Frank-Wolfe, `run` a run of it; `f`, `g` and `lmo` are functions.",
    ),
    "method": (
        "In the loop of one's own method",
        "The line stands in `mine(ask, x, rng)`, before `yield pf.State(x)`: how the run ends.",
    ),
}


def main() -> None:
    """Print the page, or write it."""
    with TemporaryDirectory() as folder, workplace(Path(folder)):
        answers = {given: row(given, printed(kind, given)[1]) for kind, given, _ in asked()}
    parts = [
        f"## {title}\n\n{about}\n\n{table(kind, answers)}\n"
        for kind, (title, about) in PARTS.items()
    ]
    text = "\n".join([HEAD.format(number=len(answers)), *parts])
    if "--write" in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


HEAD = """# Wrong inputs

What pfbench says to {number} wrong inputs: misspelt names, wrong kinds, numbers out of range, files
that are not there or damaged, methods with mistakes. Each is given again by the tests, which hold
it to this table; `python tests/tools/print_inputs.py --write` makes it. None ends in a traceback.
"""


if __name__ == "__main__":
    main()
