"""Search the planted false and true claims of tests/falsifying, and print a table by kind.

python tests/tools/tabulate_falsification.py [--false 180] [--true 6] [--false-seeds 3]
    [--true-seeds 10] [--only NAME,...] [--record FILE.jsonl]

A search ends at the first confirmed violation. Its effort is counted in steps of the method, so
that the result is that of the seed; a clock that is ten times slower ends it. With --record each
search is a line of a file, and those that the file has are not run again.
"""

import json
import sys
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from statistics import median
from time import process_time

from pfbench.base.user_code import load_user_object
from pfbench.verification.falsify.falsification import search_claim

ROOT = Path(__file__).resolve().parents[1] / "falsifying" / "claims"
FILES = ("deterministic.py", "stochastic.py")


def load_claims(sort):
    """Return the claims of a sort, TRUE or FALSE."""
    return [claim for file in FILES for claim in load_user_object(f"{ROOT / file}:{sort}")]


def search(claim, seed, seconds):
    """Return the record of a search."""
    start = process_time()
    report = search_claim(claim, seconds=seconds, seed=seed, patience=10.0)
    fields = {name: getattr(report, name) for name in ("verdict", "ratio", "t", "d", "n")}
    fields["arithmetic"] = getattr(report, "arithmetic", "")
    fields["has_script"] = bool(getattr(report, "script", ""))
    return fields | {"cpu": process_time() - start, "complete": report.search.get("complete")}


def tabulate(records):
    """Return the table by kind: claims, searches, violated, claims violated with each seed."""
    lines = [
        "| sort | kind | claims | searches | violated | with each seed | CPU s, median, most |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    groups = defaultdict(list)
    for record in records:
        groups[record["sort"], record["kind"]].append(record)
        groups[record["sort"], "all"].append(record)
    for (sort, kind), group in sorted(
        groups.items(), key=lambda item: (item[0][0], item[0][1] == "all", item[0])
    ):
        by_claim = defaultdict(list)
        for record in group:
            by_claim[record["claim"]].append(record["verdict"] == "violated")
        cpu = [record["cpu"] for record in group]
        cells = (sort, kind, len(by_claim), len(group), sum(map(sum, by_claim.values())))
        cells += (sum(map(all, by_claim.values())), f"{median(cpu):.1f}, {max(cpu):.1f}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main():
    """Run the searches, print each and the table."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    for sort, seconds, seeds in (("false", 180.0, 3), ("true", 6.0, 10)):
        parser.add_argument(f"--{sort}", type=float, default=seconds, metavar="SECONDS")
        parser.add_argument(f"--{sort}-seeds", type=int, default=seeds)
    parser.add_argument("--only", default="")
    parser.add_argument("--record", type=Path)
    arguments = vars(parser.parse_args())
    path, only = arguments["record"], set(filter(None, arguments["only"].split(",")))
    lines = path.read_text("utf-8").splitlines() if path and path.exists() else []
    records = [json.loads(line) for line in lines]
    done = {(record["claim"], record["seed"]) for record in records}
    for sort in ("false", "true"):
        claims = [c for c in load_claims(sort.upper()) if not only or c.name in only]
        for seed in range(arguments[f"{sort}_seeds"]):
            for claim in claims:
                if (claim.name, seed) in done:
                    continue
                record = {"sort": sort, "kind": claim.source, "claim": claim.name, "seed": seed}
                record |= search(claim, seed, arguments[sort])
                records.append(record)
                print(json.dumps(record), file=sys.stderr, flush=True)
                if path:
                    with path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(record) + "\n")
    print(tabulate(records))
    wrong = [r for r in records if r["sort"] == "true" and r["verdict"] == "violated"]
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
