"""Code and objects of users may refer to themselves: every walk over them ends."""

import functools
import math
import sys
from dataclasses import dataclass

import pytest
from judging import judge

import pfbench as pf
from pfbench.checking.findings import locate_methods
from pfbench.claims.catalogue import CLAIMS
from pfbench.runs.storage.content_keys import reachable_files_by_module
from pfbench.verification import Subject
from pfbench.verification.user_claims import _flatten_statements


def half(x, k):
    return x if k == 0 else half(x / 2, k - 1)


def even(k):
    return k == 0 or odd(k - 1)


def odd(k):
    return k != 0 and even(k - 1)


def ceil(z):
    return max(1, math.ceil(z))


def rounds(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given)

    wrapper.__wrapped__ = wrapper
    return wrapper


@dataclass(frozen=True, kw_only=True)
class Short(pf.Algorithm):
    """Stochastic Frank-Wolfe whose last component is never drawn."""

    requires = frozenset({"batch", "lo"})

    iterations: int
    step: float
    batch: int

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.batch(rng.integers(ask.n - 1, size=self.batch), x)
            at, x = x, x + self.scale(self.step) * (ask.lo(g) - x)
            yield pf.State(x, at, g)

    def scale(self, step):
        return half(2 * step, 1)


class Mutual(Short):
    def scale(self, step):
        return step if even(2) else odd(0)


class Namesake(Short):
    def scale(self, step):
        return step * ceil(0.5)


class Rounds(Short):
    @rounds
    def scale(self, step):
        return step


class Holder(Short):
    def scale(self, step):
        return step


Holder.home = [Holder]
Holder.home.append(Holder.home)


@pytest.mark.parametrize("kind", [Short, Mutual, Namesake, Holder])
def test_a_fault_is_seen_where_code_names_itself(kind):
    assert judge(CLAIMS["methods-law-sfw"], Subject(kind)).verdict == "violated"


class Faulty:
    scale = rounds(half)

    @property
    def radius(self):
        raise ZeroDivisionError


def test_wrappers_in_a_circle_and_properties_that_raise_have_a_place_or_none():
    (location,) = locate_methods(Faulty(), "missing", "scale", "radius")
    assert "Faulty.radius" in location
    assert locate_methods(Rounds, "scale") == ()


def test_claims_are_gathered_from_a_list_that_holds_itself():
    claim = CLAIMS["methods-run-sfw"]
    every = {"a": [claim]}
    every["b"] = every
    deep = [claim]
    for _ in range(3000):
        deep = [deep]
    assert list(_flatten_statements([every, deep])) == [claim, claim]


@pytest.mark.parametrize(
    "text",
    [
        f"import deep_helper\nx = {' + '.join(['1'] * 2500)}",
        "import deep_helper\ndef f(k):\n  if k == 0: pass\n"
        + "".join(f"  elif k == {k}: pass\n" for k in range(1, 1200)),
    ],
    ids=["sum", "elif"],
)
def test_the_source_of_deeply_nested_code_is_read(text, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "deep_module.py").write_text(text)
    (tmp_path / "deep_helper.py").write_text("import deep_module\n")
    for name in ("deep_module", "deep_helper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert {"deep_module", "deep_helper"} <= reachable_files_by_module(
        frozenset({"deep_module"})
    ).keys()
