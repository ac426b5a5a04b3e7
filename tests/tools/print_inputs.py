"""Give every wrong input of tests/wrong_inputs.py, and print the table of pfbench's answers.

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
        f"Exit status 2, before any work; no file is left. `P` is `{SMALL}`, `A` is `{SVRG}`.",
    ),
    "failing": ("Commands that run, and fail", "The exit status is 1."),
    "python": (
        "In Python",
        "The answer is an `InputError` before any work, or a run that says why it ended. `problem` "
        "is a small quadratic, `method` Frank-Wolfe, `run` its run; `f`, `g`, `lmo` are functions.",
    ),
    "method": (
        "In the loop of a user-defined method",
        "Each input is a line of `mine(ask, x, rng)`, before `yield pf.State(x)`.",
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

This page lists the answers to {number} wrong inputs: misspelt names, wrong types, bad numbers,
missing or damaged files, methods with mistakes. Tests repeat each input and compare the answer;
`python tests/tools/print_inputs.py --write` writes this page. No answer is a traceback.
"""


if __name__ == "__main__":
    main()
