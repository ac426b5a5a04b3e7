"""Put `pfbench/api.py` into a checkout after the renames: run from its root."""

import re
from pathlib import Path

here = Path(__file__).parent
text = (here / "api.py").read_text(encoding="utf-8")
text = text.replace("pfbench.adapters.front ", "pfbench.adapters.solve_interface ")
text = text.replace("# Runs\n", "# isort: off\n# Runs\n", 1)
Path("pfbench/api.py").write_text(text, encoding="utf-8")

path = Path("pfbench/__init__.py")
old = path.read_text(encoding="utf-8")
start = old.index("if TYPE_CHECKING:\n")
end = old.index("_HOMES = ")
new = old[:start] + "if TYPE_CHECKING:\n    from pfbench.api import *  # noqa: F403\n\n" + old[end:]
new = new.replace("_HOMES = public_modules(__name__)", '_HOMES = public_modules(__name__, "api")')
new = new.replace("The public names are loaded on first use, so that importing pfbench is quick.", "The public names are those of `pfbench.api`; each is loaded on first use, so that importing pfbench\nis quick.")
path.write_text(new, encoding="utf-8")

path = Path("pfbench/base/lazy.py")
old = path.read_text(encoding="utf-8")
start, end = old.index("def public_modules"), old.index("def lazy_getattr")
body = '''def public_modules(package: str, listing: str = "") -> dict[str, str]:
    """Return the module of each public name of a package, by name.

    Parameters
    ----------
    package
        Its name.
    listing
        The name of its module that imports the public names; if empty, they are what the package
        imports under ``if TYPE_CHECKING:``. Neither is executed here.
    """
    module = sys.modules[package]
    file = str(module.__file__)
    if listing:
        file = str(Path(file).with_name(f"{listing}.py"))
    body = ast.parse("".join(getlines(file, vars(module)))).body
    blocks = [body] if listing else [node.body for node in body if isinstance(node, ast.If)]
    names: dict[str, str] = {}
    for node in (statement for block in blocks for statement in block):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name: str(node.module) for alias in node.names}
    return names


'''
new = old[:start] + body + old[end:]
new = new.replace("from linecache import getlines\n", "from linecache import getlines\nfrom pathlib import Path\n")
path.write_text(new, encoding="utf-8")

path = Path("pyproject.toml")
old = path.read_text(encoding="utf-8")
if '    "api",\n' not in old:
    path.write_text(old.replace('    "__main__",\n    "cli",\n', '    "__main__",\n    "cli : api",\n', 1), encoding="utf-8")
old = path.read_text(encoding="utf-8")
path.write_text(old.replace('ignore_imports = ["pfbench.cli.** -> pfbench"]', 'ignore_imports = ["pfbench.cli.** -> pfbench", "pfbench.api -> pfbench"]'), encoding="utf-8")
path = Path("CONTRIBUTING.md")
old = path.read_text(encoding="utf-8")
if "`api.py`" not in old:
    old = old.replace("| `cli` | one module for each verb | all |\n", "| `cli` | one module for each verb | all |\n| `api.py` | every name of `import pfbench as pf`, by purpose | all |\n")
    path.write_text(old, encoding="utf-8")
