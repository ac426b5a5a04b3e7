"""Add the column "worst ratio found" to a table of verdicts, or renew it, by searches alone.

python tests/tools/add_worst_ratios.py reports/verification.md [--jobs 1] [--seed 0]

The searches are those of `pfbench verify --full --table`, in processes that are killed at their
limit; the verdicts stay as they are.
"""

import re
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path

from pfbench.claims.catalogue import CLAIMS, select_claims
from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.verification.added_searches import OPTIONS, SECONDS
from pfbench.verification.falsify.falsification import search_claims
from pfbench.verification.falsify.reports import REFUSED
from pfbench.verification.summaries import describe_worst_ratio
from pfbench.verification.verdict_tables import WORST_RATIO, escape_markdown

HEAD = ["claim", "verdict", "says", "measured", "tested on", "runs", "s"]


def add_column(text, worst_ratios):
    """Return a page of verdicts with the column, from texts by the name of the claim."""
    lines, in_table, has_column = text.splitlines(), False, False
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if [cell for cell in cells if cell != WORST_RATIO] == HEAD:
            in_table, has_column = True, WORST_RATIO in cells
        in_table = in_table and bool(cells)
        if in_table:
            fixed = {"claim": WORST_RATIO, "---": "---"}
            new = fixed.get(cells[0], escape_markdown(worst_ratios.get(cells[0], "")))
            cells[4 : 4 + has_column] = [new]
            lines[number] = f"| {' | '.join(cells)} |"
    return "\n".join(lines) + "\n"


def search(names, jobs, seed):
    """Return the worst ratios of claims in words, by name; a claim that is refused has none."""
    claims = [claim for claim in select_claims(names) if claim.kind in ("bound", "law")]
    options = OPTIONS | {"seed": seed, "seconds": SECONDS["full"]}
    with closing(MultiProcessEngine(jobs)) as engine:
        reports = search_claims(engine, claims, options)
    for report in reports:
        reason = f"refused, {report.reason}" if report.verdict == REFUSED else f"{report.ratio:.6g}"
        if "only bounds and error laws" not in reason:
            print(f"{report.claim}: {report.seconds:.1f} s, {reason}", flush=True)
    tested = [report for report in reports if report.verdict != REFUSED]
    worst = ({"worst ratio": r.ratio, "worst ratio at": r.place_of_worst_ratio} for r in tested)
    return {r.claim: describe_worst_ratio(item) for r, item in zip(tested, worst, strict=True)}


def main():
    """Search the claims of a table, and write the table."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    text = arguments.table.read_text(encoding="utf-8")
    names = [name for name in CLAIMS if f"\n| {name} | " in text]
    arguments.table.write_text(
        add_column(text, search(names, arguments.jobs, arguments.seed)), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
