"""Edit what the tool cannot: names in strings, bare module names in pyproject.toml.

Usage, from the root of a checkout after ``apply.py``: ``python after.py table.tsv``.
"""

import csv
import re
import sys
from collections.abc import Callable
from pathlib import Path

with Path(sys.argv[1]).open(encoding="utf-8", newline="") as lines:
    ROWS = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
MODULES = {
    row["file"].removesuffix(".py").removesuffix("/__init__"): row["new"]
    for row in ROWS
    if row["kind"] == "module"
}


def edit(path: str | Path, change: Callable[[str], str]) -> None:
    """Change a file, if it exists and is affected."""
    file = Path(path)
    if not file.exists():
        print(f"after: no {file}")
        return
    old = file.read_text(encoding="utf-8")
    new = change(old)
    if new != old:
        file.write_text(new, encoding="utf-8")
        print(f"after: {file}")


def replace(old: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(old, new, text)


# The functions that the source of generated faults calls.
PLANTED = {
    row["old"]: row["new"]
    for row in ROWS
    if row["file"] == "pfbench/verification/faults/planted.py" and row["kind"] == "function"
}


def planted(text: str) -> str:
    return re.sub(
        r"(planted\\?\.)(\w+)", lambda m: m[1] + PLANTED.get(m[2], m[2]), text
    )


for folder in ("pfbench/verification/faults", "tests/verification", "tests/claims"):
    for path in sorted(Path(folder).rglob("*.py")):
        if path.stem != "planted":
            edit(path, planted)
edit("pfbench/claims/admissible.py", planted)


# The layers of import-linter inside a room name modules without their package.
def layers(text: str) -> str:
    head, mark, tail = text.partition("[tool.importlinter]")
    parts = re.split(r"(?=\[\[tool\.importlinter\.contracts\]\])", tail)
    for index, part in enumerate(parts):
        container = re.search(r'containers = \["pfbench\.(\w+)"\]', part)
        if not container:
            continue
        room = f"pfbench/{container[1]}"
        before, key, rest = part.partition("layers = [")
        body, end, after = rest.partition("]")
        body = re.sub(
            r"\b\w+\b", lambda m: MODULES.get(f"{room}/{m[0]}", m[0]), body
        )
        parts[index] = before + key + body + end + after
    return head + mark + "".join(parts)


edit("pyproject.toml", layers)

# Attributes that a string names.
edit("pfbench/claims/qu2018/corollary_rates.py", replace(r'"least"', '"min_ratio"'))
edit("pfbench/runs/planning/spec_fields.py", replace(r'(\w)\["beyond"\]', r'\1["extends_grid"]'))


# Options of the command line, which are named by the parameters of its functions.
OPTIONS = {
    "within": "function-class", "late": "late-faults", "longest": "max-check-seconds", "planted": "planted-only",
    "at-seed": "case-seed", "harder": "harder-instances", "together": "combine",
}


def options(path: Path) -> Callable[[str], str]:
    def change(text: str) -> str:
        lines = text.split("\n")
        for index, line in enumerate(lines):
            if "--" not in line:
                continue
            for old, new in OPTIONS.items():
                line = re.sub(rf"(?<![\w-])--{old}(?![-\w])", f"--{new}", line)
            most = "max-calls" if "adversary" in path.stem or "adversary" in line or "horizon" in line else "max-faults"
            line = re.sub(r"(?<![\w-])--most(?![-\w])", f"--{most}", line)
            if "pack" in path.stem or "pack check" in line:
                line = re.sub(r"(?<![\w-])--share(?![-\w])", "--fraction", line)
            lines[index] = line
        return "\n".join(lines)

    return change


DOCUMENTS = [*Path(".").glob("*.md"), *Path("docs").rglob("*.md"), *Path("docs").rglob("*.ipynb"), *Path("reports").rglob("*.md")]
SOURCES = [*Path("pfbench").rglob("*.py"), *Path("pfbench").rglob("*.txt"), *Path("tests").rglob("*.py"), *Path("benchmarks").rglob("*.py")]
for path in sorted([*DOCUMENTS, *SOURCES, Path("tox.ini")]):
    if path.name != "CHANGELOG.md":
        edit(path, options(path))
edit("pfbench/cli/adversary.py", replace(r'"most"', '"max_calls"'))


# Keywords that pass through ``**arguments``, and attributes that strings name.
for path in sorted(Path("pfbench/claims/pethick2025").rglob("*.py")):
    edit(path, replace(r"\btakes=", "expected_seconds="))
edit("pfbench/verification/claim.py", replace(r'__setattr__\(self, "takes"', '__setattr__(self, "expected_seconds"'))
for file in ("pfbench/verification/schedule_homogeneity.py", "pfbench/cli/info.py"):
    edit(file, replace(r'"normalised", ""\)', '"scale_dependence", "")'))
for file in ("pfbench/verification/trial.py", "pfbench/checking/algorithms.py"):
    edit(file, replace(r'"needed", (tuple|lambda)', r'"list_required_parameters", \1'))
OVER = replace(r"""(?<!errstate\()\bover=(?=["'](?:mean|every|last|min|least|draws))""", "statistic=")
for path in sorted([*DOCUMENTS, *SOURCES]):
    if path.name != "CHANGELOG.md" and "worst" not in path.as_posix():
        edit(path, OVER)
for pattern, new in (('"over"', '"statistic"'), ('check_function\\("most"', 'check_function("upper"'), ('check_function\\("of"', 'check_function("quantity"'), ("with over=", "with statistic=")):
    edit("pfbench/verification/statements/bound.py", replace(pattern, new))
for path in sorted(Path("pfbench/verification/statements").glob("*.py")):
    edit(path, replace(r'check_function\("of"', 'check_function("quantity"'))

# Attributes of objects whose class mypy does not know.
for file, old, new in (
    ("claims/halbey2026/worst_start", "least", "minimum_value"),
    ("claims/lacoste2016/affine", "begin", "start_point"),
    ("claims/pethick2025/geometry", "least", "minimum_value"),
    ("claims/pethick2025/geometry", "steepest", "steepest_direction"),
    ("claims/pethick2025/identities", "begin", "start_point"),
    ("claims/polytopes/contraction", "least", "minimum_value"),
    ("claims/polytopes/good_steps", "least", "minimum_value"),
    ("claims/polytopes/table1", "least", "minimum_value"),
    ("claims/relatives/shared_instances", "least", "minimum_value"),
    ("cli/info", "needs", "required_arguments"),
    ("cli/power_command", "least", "min_factor"),
    ("cli/power_command", "asked", "was_run"),
    ("cli/power_command", "lost", "lost_trials"),
    ("cli/receipt", "least", "min_factor"),
    ("cli/receipt", "asked", "was_run"),
    ("oracles/bundle", "said", "describe"),
    ("checking/resolver", "bounded", "is_bounded"),
    ("checking/function_checks", "bounded", "is_bounded"),
    ("problems/norm_constants", "bounded", "is_bounded"),
    ("problems/norm_constants", "kinds", "block_kinds"),
    ("resisting/certificate_session", "of", "algorithm"),
    ("verification/instances", "called", "with_selector"),
    ("verification/verdict_tables", "told", "describe_least_factor"),
    ("reporting/findings/ordering_text", "says", "quotation"),
    ("reporting/findings/ordering_text", "states", "stated_settings"),
):
    edit(f"pfbench/{file}.py", replace(rf"(?<=[\w)\]])\.{old}\b(?!\()" if old not in ("steepest", "called", "said", "told") else rf"(?<=[\w)\]])\.{old}\b", f".{new}"))
edit("pfbench/verification/instances.py", replace(r', "called"\)', ', "with_selector")'))

# The same in tests.
TESTS = """
claims/test_quotations says quotation
claims/test_quotations states stated_settings
claims/test_quotations ruling conclusion
claims/test_quotations dossier.assumed dossier.assumption
runs/planning/test_spec_files order.states order.stated_settings
runs/planning/test_spec_files order.place order.location
runs/planning/test_spec_files assumed assumed_settings
runs/planning/test_spec_files study.charged study.unit_cost
checking/test_units seen observed
checking/test_units where location
verification/test_power one.least one.min_factor
verification/test_power never.least never.min_factor
verification/test_power one.lost one.lost_trials
verification/test_power told describe_least_factor
claims/methods/test_at_size method.extreme method.extreme_settings
claims/methods/test_late_faults in_words format
cli/test_known in_words format
cli/test_known left seconds_left
claims/relatives/test_table1 most guarantee
claims/shen2019/test_paper family.about family.description
claims/test_catalogue about description
judging about description
cli/test_compare spec.about spec.introduction
cli/test_compare compared comparisons
sets/test_set_catalogue about description
sets/test_set_catalogue one.needed one.is_required
claims/test_catalogue subject.tested subject.algorithm_under_test
claims/test_catalogue subject.within subject.edited_part
claims/test_catalogue told.takes told.expected_seconds
claims/test_catalogue told.orders told.complexity
claims/wang2019/test_theorem3 subject.tested subject.algorithm_under_test
claims/variants/every claim.takes claim.expected_seconds
judging claim.takes claim.expected_seconds
judging orders complexity
verification/test_proofs worst.within worst.function_class
claims/test_harder problem.bounded problem.is_bounded
reporting/test_front found.compared found.comparisons
reporting/test_orderings evidence.p evidence.p_value
reporting/test_orderings evidence.short evidence.lacks_seeds
receipts/test_comparisons found.shipped found.suite_runs
receipts/test_record places list_folders
browser/test_report_page report.mine report.candidate_labels
checking/faulty_methods spent counts_array
twisted spent counts_array
reporting/test_comparison c.spent c.total_calls
reporting/test_comparison one.last one.last_values
reporting/test_comparison both.each both.with_parts
reporting/test_runtimes last final_value
reporting/test_runtimes charged calls_charged
reporting/test_runtimes found.reached found.is_reached
reporting/test_versus duel.others duel.best_other_calls
reporting/test_versus duel.other duel.best_other
reporting/test_versus one.others one.best_other_calls
reporting/test_versus other.others other.best_other_calls
reporting/test_versus place rank
resisting/test_certificate answers.passed answers.visited_points
runs/engines/test_cluster engine._expected engine._worker_count
runs/storage/test_exports store.look store.stat_entry
runs/storage/test_store damage.what damage.reason
sets/test_matrix_balls ball.largest_norm ball.max_norm
sets/test_nuclear zero.largest zero.magnitude
runs/test_shipped one.last one.last_values
runs/test_shipped other.last other.last_values
verification/faults/test_operators change.before change.line_before
verification/faults/test_operators change.after change.line_after
verification/test_stated again.home again.user_source
verification/test_units found.found found.description
verification/test_units method.normalised method.scale_dependence
"""
for line in TESTS.split("\n"):
    if line:
        file, old, new = line.split()
        dot = "" if "." in old else r"\."
        edit(f"tests/{file}.py", replace(rf"(?<=[\w)\]]){dot}{re.escape(old)}\b(?! *=[^=])" if dot else rf"\b{re.escape(old)}\b", f"{dot.strip(chr(92))}{new}"))
edit("tests/verification/faults/test_fault_study.py", replace(r"replace\(one, after=(.*)one\.after", r"replace(one, replacement=\1one.replacement"))


def following(text: str) -> str:
    head, mark, tail = text.partition("def _following")
    body, end, rest = tail.partition("\n\n\n")
    return head + mark + re.sub(r"\bindex\b", "position", body) + end + rest


edit("pfbench/verification/instruments/enumerated_random.py", following)
for file in ("theorem_check", "theorem_receipt"):
    edit(f"pfbench/receipts/{file}.py", replace(r"\bstated\b", "statements"))
for path in [*sorted(Path("tests/claims").rglob("*.py")), Path("tests/verification/test_stored_verdicts.py"), Path("tests/verification/test_stated.py"), Path("tests/judging.py")]:
    edit(path, replace(r"\b(mutant|one|FORGOTTEN)\.expected\b", r"\1.expected_claims"))
    edit(path, replace(r'hasattr\(one, "expected"\)', 'hasattr(one, "expected_claims")'))

# Stored runs and JSON keep their keys where the attribute has another name now.
edit("pfbench/runs/loop/run.py", replace(r'left_out = \("own_output", "place",', 'left_out = ("yields_output", "error_location", "unmet_assumptions",'))
edit(
    "pfbench/runs/storage/serialization.py",
    replace(
        r'    existing = \{"counts": Counts\(\*\*fields\["counts"\]\), "unmet": tuple\(fields\.get\("unmet", \(\)\)\)\}\n    return Run\(\*\*\{\*\*fields, \*\*existing\},',
        '''    parsed = {name: value for name, value in fields.items() if name not in ("unmet", "own_output")}
    parsed["counts"] = Counts(**fields["counts"])
    parsed["unmet_assumptions"] = tuple(fields.get("unmet", ()))
    parsed["yields_output"] = fields.get("own_output")
    return Run(**parsed,''',
    ),
)
edit("tests/claims/conftest.py", replace(r"claim\.takes\b", "claim.expected_seconds"))
edit("pfbench/checking/sets.py", replace(r'getattr\(self\.body, "largest_norm"', 'getattr(self.body, "max_norm"'))
edit("pfbench/cli/verify.py", replace(r'\.check, "over", ""', '.check, "statistic", ""'))
edit("pfbench/verification/instances.py", replace(r'getattr\(self\.build, "about"', 'getattr(self.build, "description"'))
edit("pfbench/verification/instruments/call_recorder.py", replace(r'getattr\(self, "asked"', 'getattr(self, "calls"'))
edit("pfbench/verification/instruments/call_recorder.py", replace(r'getattr\(self, "filled"', 'getattr(self, "table_filled"'))
edit("tests/oracles/test_budget.py", replace(r"ledger\.ended\b", "ledger.end_reason"))
edit("tests/reporting/test_comparison.py", replace(r"(scored\[\d\]|one)\.expected\b", r"\1.expected_calls"))
edit("tests/reporting/test_front.py", replace(r"(scored|algorithms)\[0\]\.expected\b", r"algorithms[0].expected_calls"))
edit("tests/resisting/test_oracle.py", replace(r"_exchange\.drawn\b", "_exchange.direction_count"))
edit("pfbench/checking/resolver.py", replace(r"\bparameter\.needed\b|\bone\.needed\b|(?<=if )(\w+)\.needed\b", lambda m: m[0].replace("needed", "is_required")))  # type: ignore[arg-type]
edit("pfbench/problems/norm_constants.py", replace(r"quality\(state\.estimate\)\.lo\b", "quality(state.estimate).lower"))
edit("pfbench/verification/worst_case/sample_runs.py", replace(r"problem\.begin\b", "problem.start_point"))
for path in [Path("tests/wrong_inputs.py"), Path("reports/inputs.md")]:
    edit(path, replace(r"(pack .*)--share\b", r"\1--fraction"))
    edit(path, replace(r"(\|?`?pfbench: |\")--share=", r"\1--fraction="))
    edit(path, replace(r"\brun\.first\(", "run.first_value("))
    edit(path, replace(r"\brun\.last\(", "run.final_value("))
edit("pfbench/cli/schemas/changes.json", replace(r'"what"', '"field"'))
for path in [Path("tests/wrong_inputs.py"), Path("reports/inputs.md")]:
    edit(path, replace(r"pack --check file --share", "pack --check file --fraction"))

# Documents and templates: public names outside blocks that the tool reads.
edit("pfbench/runs/planning/user_problem.py", replace(r'"unconstrained"', '"is_unconstrained"'))
TEMPLATES = [path for path in Path("pfbench/cli/templates").rglob("*") if path.is_file()]
for path in sorted([*DOCUMENTS, *TEMPLATES]):
    if path.name == "CHANGELOG.md" or path.suffix == ".pyc":
        continue
    for pattern, new in (
        (r"\bMutant\.of\b", "Mutant.from_variant"),
        (r"\bMutant\.edited\b", "Mutant.from_edits"),
        (r"(pf\.check\([^\n]*\)|found)\.passed\b", r"\1.is_passed"),
        (r"pethick2025\.is_unconstrained", "pethick2025.unconstrained"),
        (r"(import.*)(?<!check_)\b(integer|real)\b(?=.*)", r"\1check_\2") if False else (r"(?!x)x", ""),
        (r"(check_(?:integer|real)\([^\n]*)\bleast=", r"\1minimum="),
        (r"\)\.called\(", ").with_title("),
        (r"\bRefused\b(?!Error)", "RefusedError"),
    ):
        edit(path, replace(pattern, new))
edit("tests/base/test_notebook.py", replace(r"difference_point=", "against="))
edit("tests/base/test_constants_and_states.py", replace(r'"Refused"', '"RefusedError"'))
edit("tests/base/test_constants_and_states.py", replace(r'"Diverged"', '"DivergedError"'))
for file in ("tests/verification/test_units.py", "tests/verification/stating/test_words.py"):
    edit(file, replace(r"\bnormalised=", "scale_dependence="))
    edit(file, replace(r"\bhome=", "user_source="))
    edit(file, replace(r"\bgrows=", "varied_parameter="))
for path in TEMPLATES:
    if path.suffix == ".txt":
        for pattern, new in (
            (r"\bproblem_of\b", "load_problem"),
            (r"\bnumbers_at\b", "evaluate_measures"),
            (r"\brun_of\b", "run_algorithm"),
            (r"import positive, integer", "import integer, positive"),
            (r"gradient, is_point, check_projectable", "check_projectable, gradient, is_point"),
        ):
            edit(path, replace(pattern, new))
for path in [Path("pfbench/cli/templates/estimator.txt"), Path("docs/adding-an-algorithm.md")]:
    edit(path, replace(r"\bmost=1\.0", "upper=1.0"))
edit(
    "pfbench/verification/homogeneity.py",
    replace(
        r'    for form in \("printed", "right"\):\n        value = getattr\(erratum, form\)\n',
        '    forms = {"printed": erratum.printed_formula, "right": erratum.corrected_formula}\n    for form, value in forms.items():\n',
    ),
)
edit("tests/verification/stating/test_words.py", replace(r'"grows":', '"varied_parameter":'))
edit("pfbench/claims/polytopes/good_steps.py", replace(r'\{"of": quantity\}', '{"quantity": quantity}'))


def triangle(text: str) -> str:
    """Keep the parameter of `triangle`: instances pass it by name."""
    head, mark, tail = text.partition("def triangle(")
    body, end, rest = tail.partition("\n\n\n")
    return head + mark + re.sub(r"\bpath\b", "along", body) + end + rest


edit("pfbench/claims/polytopes/openloop.py", triangle)
# Printed titles of instances stay: they are keys of what was measured.
edit(
    "pfbench/verification/references/reference_method.py",
    replace(r'self\.problem\.name\.removeprefix\("on_"\)', 'self.problem.name.removeprefix("sines_").removeprefix("on_")'),
)
