"""``pfbench new``: create a working file from a template, with its test."""

import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from pfbench import __version__
from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write, translate_os_errors
from pfbench.base.names import unknown_name_error
from pfbench.cli.options import argument
from pfbench.cli.terminal import print_parts

_FORM = re.compile(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*")

_PROBLEM = "quadratic[source=synthetic,rows=200,columns=10,set=l2]"

NEXT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "algorithm": (
            f'solve -p "{_PROBLEM}" -a "{{file}}:{{cls}}[iterations=100,batch=8]"',
            "check {file}:{cls}",
            "verify --algorithm {file}:{cls}",
            "compare {file}:{cls}",
        ),
        "estimator": (
            "check {file}:{cls}",
            f'solve -p "{_PROBLEM}" -a "{{file}}:{{cls}}FW[iterations=100,batch=8,step=0.02]"',
            "compare {file}:{cls}FW",
        ),
        "set": (
            "check {file}:{cls}",
            'solve -p "nonconvex-logistic[set={file}:{cls},radius=2]" '
            '-a "frank-wolfe[iterations=50]"',
            "info {file}:{cls}",
        ),
        "problem": (
            "check {file}:{cls}",
            'solve -p "{file}:{cls}[rows=50]" -a "frank-wolfe[iterations=50]"',
            "info {file}:{cls}",
        ),
        "claim": ("verify {file}", "faults {file}", "info {file}:RATE"),
        "theorem": (
            "units {file}",
            "verify {file}",
            "faults {file} --max-faults 20",
            "archive make {file} -o archive.zip",
            "archive check archive.zip",
        ),
        "test": (
            'solve -p "quadratic[source=synthetic,rows=40,columns=4,set=l2]" -a "{file}:{module}"',
            "check {file}:{module}",
        ),
        "sweep": ("run {file} --dry-run", "run {file}", "report {file}"),
        "suite": (
            "compare frank-wolfe --suite {file} --grid",
            "compare frank-wolfe --suite {file}",
        ),
    }
)
"""Next commands to try with a new file, by kind."""

FOLDER: Mapping[str, str] = MappingProxyType(
    {
        "objective.py": "benchopt_objective",
        "datasets/problems.py": "benchopt_dataset",
        "solvers/methods.py": "benchopt_solver",
    }
)
"""Files of a benchopt benchmark, with their templates."""

ACTION: Mapping[str, str] = MappingProxyType({"action.yml": "action", "verify.sh": "action_script"})
"""Files of a GitHub action, with their templates."""

REPOSITORY: Mapping[str, str] = MappingProxyType(
    {
        "README.md": "repository",
        ".gitignore": "ignored",
        "my_thing.py": "theorem",
        "test_my_thing.py": "theorem_test",
        ".github/workflows/verify.yml": "workflow",
        **{f"my_thing_action/{name}": template for name, template in ACTION.items()},
    }
)
"""Files of a repository of a theorem, with their templates."""

_FOLDERS = ("benchopt", "action", "repository")


def create_files(
    kind: str = argument("KIND", f"One of {', '.join((*NEXT, *_FOLDERS))}.", default=...),
    name: str = argument("NAME", default=...),
) -> None:
    """Create a working file from a template, with its test.

    NAME.py, which works unchanged, and its test test_NAME.py are written to the current folder. For
    sweep and suite the file is NAME.toml; a suite has the methods of the suite quick. For test the
    file has three solvers. benchopt writes the folder benchmark_NAME for `benchopt run`. action
    writes the folder NAME_action with an action for GitHub workflows, and its shell script.
    repository writes the folder NAME with a theorem, its test, the action and a workflow. No file
    is overwritten.
    """
    if kind not in (*NEXT, *_FOLDERS):
        raise unknown_name_error("kind", kind, (*NEXT, *_FOLDERS))
    if not _FORM.fullmatch(name):
        raise InputError(f"NAME={name!r} must be letters and digits, with single hyphens between.")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().replace("_", "-").split("-")
    module, suffix = "_".join(words), ".toml" if kind in ("sweep", "suite") else ".py"
    names = {
        "my_thing": module,
        "my-thing": "-".join(words),
        "MyThing": "".join(word.capitalize() for word in words),
        "THIS_VERSION": __version__,
    }
    if kind == "benchopt":
        after = ("pip install benchopt", "benchopt run {folder} --max-runs 10")
        _write_folder(Path(f"benchmark_{module}"), FOLDER, names, after)
        return
    if kind == "action":
        command = f"sh {{folder}}/verify.sh {module}.py"
        _write_folder(Path(f"{module}_action"), ACTION, names, (command,))
        return
    if kind == "repository":
        inside = {_substitute_names(path, names): template for path, template in REPOSITORY.items()}
        after = ("git init {folder}", f"cd {{folder}} && sh {module}_action/verify.sh {module}.py")
        _write_folder(Path(names["my-thing"]), inside, names, after)
        return
    file, test = Path(f"{module}{suffix}"), Path(f"test_{module}.py")
    _check_not_existing(file, test)
    iskeyword = module in sys.stdlib_module_names or keyword.iskeyword(module)
    if iskeyword or module in sys.modules or find_spec(module) is not None:
        raise InputError(f"{module} is a Python module or keyword: choose another NAME.")
    for path, template in ((file, kind), (test, f"{kind}_test")):
        _write_from_template(path, template, names)
    commands = [name.format(file=file, module=module, cls=names["MyThing"]) for name in NEXT[kind]]
    displayed = [
        f"wrote {file} and {test}; next:",
        *(f"  pfbench {command}" for command in commands),
    ]
    print_parts("\n".join([*displayed, f"  pytest {test}"]))


def _suite_template() -> str:
    """Return a template for a suite file, with the methods of the built-in suite ``quick``."""
    from pfbench.cli.catalogue import suite_spec_paths
    from pfbench.runs.planning.suite import adapt_suite_text

    problem = "nonconvex-logistic[source=synthetic,rows=200,columns=10,seed={seed}]"
    description = (
        "The methods of the suite quick on other problems; docs/compare.md has all fields."
    )
    text = adapt_suite_text(
        suite_spec_paths()["quick"].read_text("utf-8"), "MyThing", description, {"mine": problem}
    )
    hint = (
        "# Your own: FILE.py:NAME, relative to this file's folder; {seed} is the seed of the run."
    )
    return text.replace("[problems]\n", f"{hint}\n[problems]\n")


def _write_folder(
    folder: Path, inside: Mapping[str, str], names: Mapping[str, str], after: Sequence[str]
) -> None:
    """Create a folder of files from templates, and print the commands to run next."""
    _check_not_existing(folder)
    for name, template in inside.items():
        path = folder / name
        with translate_os_errors(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        _write_from_template(path, template, names)
    commands = [name.format(folder=folder) for name in after]
    print_parts("\n  ".join([f"wrote {folder}: {', '.join(inside)}; next:", *commands]))


def _write_from_template(path: Path, template: str, names: Mapping[str, str]) -> None:
    """Create a file from a template, in which the names of the new item replace placeholders."""
    path_of = files("pfbench.cli") / "templates" / f"{template}.txt"
    text = _suite_template() if template == "suite" else path_of.read_text("utf-8")
    with translate_os_errors(str(path)), atomic_write(path) as target:
        target.write(_substitute_names(text, names).encode())


def _substitute_names(text: str, names: Mapping[str, str]) -> str:
    return re.sub("|".join(names), lambda match: names[match[0]], text)


def _check_not_existing(*paths: Path) -> None:
    """Raise an error if one of the paths to be written exists already."""
    for path in paths:
        if path.exists() or path.is_symlink():
            raise InputError(f"{path} exists already: choose another NAME, or move the file away.")
