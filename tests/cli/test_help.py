"""The options that messages name are options that there are."""

import re
from pathlib import Path

from typer.main import get_command

from pfbench.cli.main import app

PACKAGE = Path(__file__).parents[2] / "pfbench"
OF_OTHERS = {
    "--help",
    "--map-current-user",  # unshare
    "--max-runs",  # benchopt
    "--net",  # unshare
    "--porcelain",  # git
    "--update-counts",  # pytest
}


def iterate_options(command):
    for parameter in command.params:
        yield from parameter.opts
    for verb in getattr(command, "commands", {}).values():
        yield from iterate_options(verb)


def test_every_option_that_a_text_names_exists():
    options = {*iterate_options(get_command(app))} | OF_OTHERS
    unknown = {
        f"{path.relative_to(PACKAGE)}: {option}"
        for path in PACKAGE.rglob("*.py")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+\b", path.read_text("utf-8"))
        if option not in options
    }
    assert not unknown
