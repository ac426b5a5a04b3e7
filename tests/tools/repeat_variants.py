"""Hold every right variant to the claims of its method, with many seeds; none may be violated.

python tests/tools/repeat_variants.py --seeds 50 --jobs 2 [--slow] [NAME ...]

A line for each variant and claim: how often each verdict came, and the first reason of one that is
violated. NAME is a part of the names of variants or claims. Exit status 1 if one is violated.
"""

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from claims.variants.every import VARIANTS, claims_of, is_slow

from pfbench.verification.session import judge
from pfbench.verification.subject import Subject


def repeated(at, name, seeds):
    """Return how often a variant has each verdict on a claim, and why it is violated."""
    variant = VARIANTS[at]
    (claim,) = (one for one in claims_of(variant) if one.name == name)
    verdicts, why = Counter(), ""
    for seed in range(1, seeds + 1):
        found = judge(claim, Subject(variant), seed=seed)
        verdict = found.measured.get("verdict", found.verdict)
        verdicts[verdict] += 1
        why = why or (f"seed {seed}: {found.reason}" if verdict == "violated" else "")
    return verdicts, why


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--slow", action="store_true", help="checks that take long, too")
    asked = parser.parse_args()
    tasks = [
        (at, claim.name)
        for at, variant in enumerate(VARIANTS)
        for claim in claims_of(variant)
        if (asked.slow or not is_slow(variant, claim))
        and (not asked.names or any(n in f"{variant.__name__} {claim.name}" for n in asked.names))
    ]
    total = Counter()
    with ProcessPoolExecutor(asked.jobs) as pool:
        pending = [pool.submit(repeated, *task, asked.seeds) for task in tasks]
        for (at, name), future in zip(tasks, pending, strict=True):
            verdicts, why = future.result()
            total += verdicts
            told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
            print(f"{VARIANTS[at].__name__:24} {name:32} {told}", why, flush=True)
    print(f"{len(tasks)} pairs, {total.total()} verdicts, {total['violated']} violated")
    return int(total["violated"] > 0)


if __name__ == "__main__":
    sys.exit(main())
