"""A counterexample is confirmed or it is none; true bounds, attained or not, stay."""

import json
import subprocess
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

from pfbench.base.user_code import load_user_object
from pfbench.cli.main import app
from pfbench.verification.falsify import falsify as whole
from pfbench.verification.falsify.conditions import comparison_of, predicate_of
from pfbench.verification.falsify.exact_module import load_exact
from pfbench.verification.falsify.falsify import falsify
from pfbench.verification.falsify.genomes import as_text, from_text
from pfbench.verification.falsify.lint import lint
from pfbench.verification.falsify.numbers import Digits, Exact, Inexact, comparisons_agree
from pfbench.verification.falsify.problems import build, exact_number

FOLDER = Path(__file__).parent / "claims"
EDGES = FOLDER / "edge_cases.py"
SCHEMA = Path(whole.__file__).parents[2] / "cli" / "schemas" / "falsify.json"

HUBER = {
    "family": "separable",
    "set": "none",
    "n": 1,
    "d": 1,
    "profiles": [{"knots": [0.0], "slopes": [1.0, 0.0], "anchor": 1.0, "offsets": []}],
    "start": [2.0],
}


def claims(file, *names):
    module = import_module(load_user_object(f"{FOLDER / file}:__name__"))
    every = [*getattr(module, "TRUE", ()), *getattr(module, "FALSE", ())]
    return module if not names else [one for one in every if one.name in names]


def edge(name):
    return getattr(claims("edge_cases.py"), name)


def number(text):
    return Exact(Fraction(text))


def test_roots_stay_symbolic():
    two, eight = number("2").sqrt(), number("8").sqrt()
    assert (two * two).factor == 2
    assert two + two == eight
    assert two < number("3/2") < eight
    assert str(eight) == "sqrt(8)"
    assert 1 / two == two / 2
    with pytest.raises(Inexact):
        two + number("3").sqrt()
    with pytest.raises(Inexact):
        float(two)
    with pytest.raises(Inexact):
        two + 0.1
    assert np.float64(0.5) * number("2") == 1
    assert np.linalg.norm(np.array([number("3"), number("4")])) == 5
    assert number("4") ** -0.5 == Fraction(1, 2)


def test_comparisons_that_rounding_decides_are_seen():
    kinds = [Digits.kind(digits) for digits in (50, 100)]
    for kind in kinds:
        third = kind.from_fraction(Fraction(1, 3))
        assert (third * 3 - 1 < 0) in (True, False)
    assert not comparisons_agree(kinds[0].differences, kinds[1].differences)


def test_a_module_is_loaded_with_exact_literals():
    twin = load_exact(claims("edge_cases.py"), Exact)
    below = twin.BELOW.check.bounds[""]

    class ParameterNamespace:
        L_f = delta = iterations = number("1")

    assert below(ParameterNamespace, ParameterNamespace) == number("2") * (
        1 - number("1/1000000000")
    )


def test_constants_of_an_instance_are_exact():
    problem = build(HUBER, exact_number(Exact))
    c = problem.constants(problem.start())
    assert (c.L_f, c.R, c.delta) == (1, 3, Fraction(5, 2))
    assert problem.minimiser[0] == -1
    assert from_text(json.loads(json.dumps(as_text(HUBER)))) == HUBER


@pytest.mark.parametrize("seed", range(3))
def test_an_attained_bound_stays_and_one_that_is_false_by_1e_9_falls(seed):
    attained = falsify(edge("ATTAINED"), minutes=0.02, seed=seed)
    assert not attained
    assert attained.ratio == pytest.approx(1.0, abs=1e-6)
    below = falsify(edge("BELOW"), minutes=0.02, seed=seed)
    assert below.verdict == "violated"
    assert below.arithmetic == "rational"
    assert 1.0 < Fraction(below.ratio_exact) < 1 + Fraction(2, 10**9)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("deterministic.py", "gd-last-3"),
        ("deterministic.py", "cyclic-rate"),
        ("deterministic.py", "fw-open-2"),
        ("stochastic.py", "shuffled-mean"),
        ("stochastic.py", "sgd-law-2"),
    ],
)
def test_false_claims_fall_with_a_script_of_their_own(file, name, tmp_path):
    (claim,) = claims(file, name)
    found = falsify(claim, minutes=0.1)
    assert found.verdict == "violated"
    assert found.numbers <= 5
    assert found.script_ratio == pytest.approx(found.ratio, rel=1e-6)
    assert len(found.script.splitlines()) < 60
    path = found.write(tmp_path / "script.py")
    command = [sys.executable, "-I", str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "pfbench" not in found.script
    assert f"ratio {found.script_ratio!r}" in printed
    again = whole.replay(claim, json.loads(json.dumps(found.as_json())))
    assert again.is_confirmed
    assert again.exact == found.ratio_exact


@pytest.mark.parametrize("k", range(3))
def test_errata_fall_from_the_printed_statement(k):
    found = falsify(claims("errata.py").FALSE[k], minutes=0.05)
    assert found.verdict == "violated"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        *(("f convex", True), ("convex", True), ("f smooth and strongly convex", True)),
        *(("components convex", True), ("f is not convex", True), ("bounded domain", True)),
        *(("f smooth with bounded gradients", False), ("convex near x*", False)),
        ("D is large", False),
    ],
)
def test_assumptions_are_read_whole(text, known):
    assert (predicate_of(text) is not None) is known
    assert comparison_of(text) is None


def test_conditions_are_kept_and_unknown_ones_make_candidates():
    assert not falsify(edge("NEAR"), minutes=0.02)
    assert not falsify(edge("LONG"), minutes=0.01)
    odd = falsify(edge("ODD"), minutes=0.02)
    assert odd.verdict == "not falsified"
    assert "f is pleasant" in odd.reason
    assert falsify(edge("ODD"), minutes=0.02, allow=("f is pleasant",)).verdict == "violated"


def test_a_mean_that_cannot_be_enumerated_is_tested_by_an_e_process():
    found = falsify(edge("MEAN"), minutes=0.1)
    assert found.verdict == "violated"
    assert found.arithmetic == "e-process"
    assert found.e_value > 1e9


def test_a_method_that_raises_is_refused_with_the_reason():
    refused = falsify(edge("RAISES"), minutes=0.02)
    assert refused.verdict == "refused"
    assert "RuntimeError" in refused.reason
    assert falsify(edge("COUNT"), minutes=0.02).verdict == "refused"


def test_what_is_unclear_is_said_before_the_search():
    remarks = " ".join(lint(edge("SINGLE")))
    assert 'says "for some"' in remarks
    assert 'statistic="every"' in remarks
    assert not lint(edge("ATTAINED"))


def test_the_same_command_goes_on(tmp_path):
    one = falsify(edge("ATTAINED"), minutes=0.02, folder=tmp_path)
    (state,) = tmp_path.glob("*.json")
    stored = json.loads(state.read_text())
    again = falsify(edge("ATTAINED"), minutes=0.02, folder=tmp_path)
    assert again.search["evaluations"] >= stored["counters"]["evaluations"]
    assert again.ratio >= one.ratio
    same = falsify(edge("ATTAINED"), minutes=0.02)
    assert (same.ratio, same.search["steps"]) == (one.ratio, one.search["steps"])


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner, common = CliRunner(), ["--minutes", "0.02", "--jobs", "0", "--store", "store"]
    arguments = ["falsify", f"{EDGES}:HALF", *common, "--script", "."]
    done = runner.invoke(app, [*arguments, "--json", "found.json"], prog_name="pfbench")
    assert done.exit_code == 1, done.output
    assert "half: violated" in done.output
    content = json.loads(Path("found.json").read_text())
    jsonschema.validate(content, json.loads(SCHEMA.read_text()))
    assert Path("half-counterexample.py").is_file()
    replayed = runner.invoke(app, ["falsify", f"{EDGES}:HALF", "--replay", "found.json"])
    assert replayed.exit_code == 1
    assert "half: confirmed" in replayed.output
    kept = runner.invoke(app, ["falsify", f"{EDGES}:ATTAINED", *common])
    assert kept.exit_code == 0, kept.output
    assert "This is not a proof." in kept.output
    refused = runner.invoke(app, ["falsify", f"{EDGES}:COUNT", *common])
    assert refused.exit_code == 2
