"""Simulate how often each rule of decision errs at its boundary, under six laws.

python tests/tools/levels.py [--trials 4000] [--jobs 2] [--write]

Prints the table of reports/levels.md; --write puts it there. The rules are the
functions that claims call. *violated* is said at 5e-10, which no simulation shows: what is counted
are p-values of at most 1e-3, which are said so in at most that share of all cases if the test is
right. The boundary is a mean, or a median, that is the bound. Exit status 1 if a level is above
what its rule promises by more than chance (1e-7).
"""

import argparse
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from pfbench.claims.shen2019 import unbiased
from pfbench.verification import statistics as st

PAGE = Path(__file__).resolve().parents[2] / "reports" / "levels.md"
BEGIN, END = "<!-- levels -->", "<!-- end of levels -->"

X = np.geomspace(1.0, 100.0, 4)
U = np.log(X)


@dataclass(frozen=True)
class Law:
    """A law: nonnegative samples of mean 1 and their variance, and others whose median is 0."""

    mean_one: Callable
    variance: float
    median_zero: Callable


def _two_points(rng, shape):
    return np.where(rng.random(shape) < 0.5, 10.0, 0.0)


LAWS = {
    "normal": Law(
        lambda rng, n: np.maximum(rng.normal(1, 0.2, n), 0.0),
        0.04,
        lambda rng, n: rng.normal(size=n),
    ),
    "χ² of 8": Law(
        lambda rng, n: rng.chisquare(8, n) / 8,
        0.25,
        lambda rng, n: rng.chisquare(8, n) - stats.chi2.median(8),
    ),
    "exponential": Law(
        lambda rng, n: rng.exponential(size=n),
        1.0,
        lambda rng, n: rng.exponential(size=n) - math.log(2),
    ),
    "lognormal 1": Law(
        lambda rng, n: rng.lognormal(-0.5, 1, n),
        math.e - 1,
        lambda rng, n: rng.lognormal(0, 1, n) - 1,
    ),
    "lognormal 2": Law(
        lambda rng, n: rng.lognormal(-2, 2, n),
        math.e**4 - 1,
        lambda rng, n: rng.lognormal(0, 2, n) - 1,
    ),
    "0/10 coin": Law(lambda rng, n: 10.0 * (rng.random(n) < 0.1), 9.0, _two_points),
}
"""The coin shows 10 with chance 0.1 where means are tested, and 1/2 where medians are."""

WITHIN = tuple(name for name in LAWS if name != "lognormal 2")
"""Laws with little of their mean beyond ten times it."""

COIN = ("0/10 coin",)


# --- the rules: what each says of one set of samples ----------------------------------------------


def mean(law, rng, n):
    return st.decide_mean(law.mean_one(rng, n), 1.0)


def in_turn(law, rng, n):
    return st.decide_mean_sequentially(lambda k: law.mean_one(rng, k), 1.0, batch=10, limit=n)[0]


def median(law, rng, n):
    values = 10.0 + law.median_zero(rng, st.MOST_SEEDS)
    return st.decide_median(lambda k: values[:k], 10.0, n)


def exponent(law, rng, n):
    slopes = 0.1 + 1e-3 * law.median_zero(rng, st.MOST_SEEDS)
    counts = np.exp(slopes[:, np.newaxis] * U)
    return st.decide_exponent(st.make_fit_function(X, lambda k: counts[:k]), 0.0, seeds=n)


def interval(law, rng, n):
    fit = st.fit_exponent(X, np.exp(law.median_zero(rng, n)[:, np.newaxis] * U / 1e3))
    return not fit.lower <= 0 <= fit.upper


def curved(law, rng, n):
    change = 0.1 + law.median_zero(rng, n) / 1e3
    fit = st.fit_exponent(X, np.exp(change[:, np.newaxis] * U**2 / (2 * U.max())))
    return fit.is_curved


def share(law, rng, n):
    return st.decide_share(law.mean_one(rng, n) > 0, 0.1)


def uniform(law, rng, n):
    return st.decide_uniform(rng.integers(8, size=n), 8)


def sampled_mean_by_t(law, rng, n):
    return unbiased._p_value(law.mean_one(rng, n) - 1)


def refuted(decision):
    return getattr(decision, "p_value", decision) <= 1e-3


def held(decision):
    return decision.verdict.keeps_bound


@dataclass(frozen=True)
class Rule:
    """A rule, what of it errs, the level that is promised, and under which laws."""

    name: str
    says: str
    decide: Callable
    errs: Callable
    level: float
    sizes: tuple
    promised: tuple = tuple(LAWS)
    laws: tuple = tuple(LAWS)


RULES = (
    Rule("`decide_mean`", "p ≤ 1e-3", mean, refuted, 1e-3, (20, 80)),
    Rule("`decide_mean`", "holds", mean, held, 0.05, (20, 48, 80), WITHIN),
    Rule("`decide_mean_sequentially`", "p ≤ 1e-3", in_turn, refuted, 1e-3, (80,)),
    Rule("`decide_mean_sequentially`", "holds", in_turn, held, 0.05, (80, 320), WITHIN),
    Rule("`decide_median`", "p ≤ 1e-3", median, refuted, 1e-3, (20,)),
    Rule("`decide_median`", "holds", median, held, 0.05, (6, 20)),
    Rule("`decide_exponent`", "p ≤ 1e-3", exponent, refuted, 1e-3, (20,)),
    Rule("`decide_exponent`", "holds", exponent, held, 0.05, (6, 20)),
    Rule("`fit_exponent`", "interval misses", interval, bool, 0.05, (6, 20, 41)),
    Rule("`fit_exponent`", "curved", curved, bool, 0.025, (20,)),
    Rule("`decide_share`", "p ≤ 1e-3", share, refuted, 1e-3, (20,), COIN, COIN),
    Rule("`decide_share`", "holds", share, held, 0.05, (20, 80), COIN, COIN),
    Rule("`decide_uniform`", "p ≤ 1e-3", uniform, refuted, 1e-3, (20,), COIN, COIN),
    Rule("t-test", "p ≤ 1e-3", sampled_mean_by_t, refuted, 1e-3, (2000,), ("normal",)),
)


def errors(rule, law, n, trials):
    """Return in how many of so many cases a rule errs."""
    rng = np.random.default_rng((RULES.index(rule), list(LAWS).index(law), n))
    return sum(bool(rule.errs(rule.decide(LAWS[law], rng, n))) for _ in range(trials))


def is_above(count, trials, level):
    """Return whether so many errors are more than chance explains, at 1e-7."""
    return stats.binom.sf(count - 1, trials, level) < 1e-7


def table(trials, jobs):
    """Return the table as lines, and what in it is above its level."""
    cells = [(rule, law, n) for rule in RULES for n in rule.sizes for law in rule.laws]
    with ProcessPoolExecutor(jobs) as pool:
        pending = {
            (RULES.index(rule), n, law): pool.submit(errors, rule, law, n, trials)
            for rule, law, n in cells
        }
        found = {key: future.result() for key, future in pending.items()}
    lines = [
        f"| rule | says | promised | seeds or runs | {' | '.join(LAWS)} |",
        f"| --- | --- | --- | --- | {' | '.join(['---'] * len(LAWS))} |",
    ]
    above = []
    for i, rule in enumerate(RULES):
        for n in rule.sizes:
            row = []
            for law in LAWS:
                if law not in rule.laws:
                    row.append("")
                    continue
                count = found[i, n, law]
                row.append(f"{count / trials:.4f}" + "†" * (law not in rule.promised))
                if law in rule.promised and is_above(count, trials, rule.level):
                    above.append(f"{rule.name} {rule.says}, {n}, {law}: {row[-1]}")
            lines.append(
                f"| {rule.name} | {rule.says} | {rule.level:g} | {n} | {' | '.join(row)} |"
            )
    return lines, above


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="put it into reports/levels.md")
    asked = parser.parse_args()
    lines, above = table(asked.trials, asked.jobs)
    made = [f"Shares of {asked.trials} cases each.", "", *lines]
    print("\n".join([*made, "", *above]))
    if asked.write:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        _, _, tail = rest.partition(END)
        text = "\n".join([head + BEGIN, *made, END + tail])
        PAGE.write_text(text, encoding="utf-8")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
