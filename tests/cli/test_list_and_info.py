"""``pfbench list`` and ``pfbench info``."""

import json
import math
from itertools import chain

import pytest
from typer.testing import CliRunner

from pfbench.cli.main import app

KINDS = (
    *("algorithms", "problems", "sets", "estimators", "measures", "papers", "claims"),
    *("reports", "suites", "data"),
)


@pytest.fixture(scope="module")
def listed():
    """What is listed as JSON, by kind."""
    outcomes = {kind: CliRunner().invoke(app, ["list", kind, "--json"]) for kind in KINDS}
    assert all(outcome.exit_code == 0 and not outcome.stderr for outcome in outcomes.values())
    return {kind: json.loads(outcome.stdout) for kind, outcome in outcomes.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_json_conforms_to_the_published_schema(listed, conforms, kind):
    conforms(listed[kind], "list.json")


def test_every_item_has_a_source_and_a_summary_of_one_line(listed):
    for item in chain.from_iterable(listed.values()):
        assert item["source"].strip(), item
        assert item["summary"].strip(), item
        assert "\n" not in item["summary"]


def test_away_from_a_terminal_each_item_is_one_line(pfbench):
    items = pfbench("list", "data", "--json").json
    lines = pfbench("list", "data").out.splitlines()[1:]
    assert len(lines) == len(items)
    for line, item in zip(lines, items, strict=True):
        assert line.split()[0] == item["name"]
        assert item["summary"] in line
        assert item["source"] in line
        assert line == line.rstrip()


def test_in_a_narrow_terminal_nothing_is_cut(pfbench, listed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = pfbench("list").out + pfbench("list", "claims").out
    assert max(map(len, text.splitlines())) <= 60
    assert "…" not in text
    words = set(text.split())
    for item in chain.from_iterable(listed.values()):
        prefix = f"{item['kind']}:" if item["kind"] in ("penalty", "estimator") else ""
        assert prefix + item["name"] in words


def test_reports_of_the_current_folder_come_first(pfbench, folder):
    (folder / "reports").mkdir()
    (folder / "reports" / "gradient-estimators.toml").write_text("title = mine\n")
    listed = pfbench("list", "reports", "--json").json
    (found,) = (one for one in listed if one["name"] == "gradient-estimators")
    assert found["source"] == "reports/gradient-estimators.toml"
    assert found["summary"].startswith("damaged: ")


def test_a_line_of_a_text_that_looks_like_a_table_hides_no_title(pfbench, folder):
    (folder / "reports").mkdir()
    (folder / "reports" / "mine.toml").write_text('about = """\n[1] a source"""\ntitle = "T"\n')
    listed = pfbench("list", "reports", "--json").json
    assert [one["summary"] for one in listed if one["name"] == "mine"] == ["T"]


# --- ``pfbench info`` -----------------------------------------------------------------------------


def every_name(pfbench):
    return [(item["name"], item["kind"]) for item in pfbench("list", "--json").json]


@pytest.mark.thin(64)
@pytest.mark.parametrize("share", range(64))
def test_everything_that_is_listed_can_be_shown(pfbench, share):
    for name, kind in every_name(pfbench)[share::64]:
        about = pfbench("info", f"{kind}:{name}", "--json").json
        assert (about["schema"], about["name"], about["kind"]) == (2, name, kind)
        shown = pfbench("info", f"{kind}:{name}")
        assert (shown.status, shown.err) == (0, "")
        assert f"{name} ({kind})" in shown.out


def test_an_algorithm_shows_its_parameters_and_how_to_ask_for_the_theory(pfbench):
    about = pfbench("info", "nfwu-casvrg", "--json").json
    parameters = {p["name"]: p for p in about["parameters"]}
    assert {"iterations", "step", "batch", "period", "restarts"} <= set(parameters)
    assert parameters["batch"]["needed"]
    assert not parameters["restarts"]["needed"]
    assert all(p["about"] for p in about["parameters"])
    assert set(about["requires"]) == {"gradient", "difference", "hessian", "lo"}
    assert "SSO nE" in about["counts"]
    assert about["deterministic"] is False
    text = pfbench("info", "nfwu-casvrg").out
    assert '"nfwu-casvrg[epsilon=0.1]"' in text
    assert "theorem 3.1" in text


@pytest.mark.parametrize(
    ("selector", "n", "shape"),
    [
        ("robust-matrix-recovery", 4000, [200, 200]),
        ("robust-matrix-recovery[rows=20,columns=10,density=0.5]", 100, [20, 10]),
        ("nonconvex-logistic[set=simplex,radius=3]", 569, [30]),
        ("zero-chain[horizon=4,seed=1]", 1, [8]),
        ("simplex-norm[columns=7]", 1, [7]),
    ],
)
def test_a_problem_shows_every_constant_with_its_derivation(pfbench, selector, n, shape):
    built = pfbench("info", selector, "--json").json["built"]
    assert (built["n"], built["shape"]) == (n, shape)
    constants = {c["name"]: c for c in built["constants"]}
    assert {"n", "D", "L_f", "L_ms", "L_max", "L2_ms", "sigma2", "delta"} <= set(constants)
    for constant in constants.values():
        assert math.isfinite(constant["value"])
        assert constant["derivation"]
        assert constant["meaning"]
    assert {"objective", "value", "fw_gap"} <= set(built["measures"])
    assert all(built["measures"].values())
    text = pfbench("info", selector).out
    assert all(c["derivation"] in text for c in built["constants"])


def test_a_constructed_problem_names_no_data(pfbench):
    about = pfbench("info", "finite-sum-chain", "--json").json
    assert about["sources"] == []
    assert (about["built"]["n"], about["built"]["shape"]) == (16, [112])
    text = pfbench("info", "finite-sum-chain").out
    assert "\ndata" not in text
    assert "151.261 certified" in text
    assert "3^15" in text


def test_a_problem_shows_which_source_knows_a_parameter(pfbench):
    parameters = {
        p["name"]: p for p in pfbench("info", "robust-matrix-recovery", "--json").json["parameters"]
    }
    assert parameters["rank"] == {
        "name": "rank",
        "default": "5",
        "needed": False,
        "sources": ["synthetic"],
        "about": "rank of the underlying matrix",
    }
    assert parameters["density"]["default"] == "0.1 (synthetic), 0.5 (digits)"
    assert parameters["radius"]["default"].startswith("100 (synthetic)")


def test_a_set_names_the_problems_that_take_it(pfbench):
    simplex = pfbench("info", "simplex", "--json").json
    assert simplex["problems"]["nonconvex-logistic"] == "set=simplex"
    nuclear = pfbench("info", "nuclear", "--json").json
    assert nuclear["problems"]["robust-matrix-recovery"] == "its only set"
    assert nuclear["problems"]["multiclass-logistic"] == "set=nuclear"
    assert "nonconvex-logistic" not in nuclear["problems"]
    assert "simplex-norm" not in nuclear["problems"]
    assert simplex["problems"]["simplex-norm"] == "its only set"
    assert pfbench("info", "l2", "--json").json["problems"]["zero-chain"] == "its only set"


def test_a_set_goes_before_a_penalty_of_its_name(pfbench):
    assert pfbench("info", "l1", "--json").json["kind"] == "set"
    penalty = pfbench("info", "penalty:l1", "--json").json
    assert penalty["kind"] == "penalty"
    assert penalty["problems"]["nonconvex-logistic"] == "penalty=l1"


def test_a_data_set_shows_citation_terms_and_state(pfbench):
    about = pfbench("info", "a9a", "--json").json
    assert about["state"] == "absent"
    assert "Platt" in about["citation"]
    assert about["terms"]
    assert "pfbench data fetch a9a" in pfbench("info", "a9a").out


def test_an_unknown_name_is_refused_with_the_nearest_of_any_kind(pfbench):
    assert pfbench("info", "a9").refusal == "unknown name 'a9': did you mean 'a9a'?"
    assert "'frank-wolfe'" in pfbench("info", "frankwolfe").refusal
    assert "'nuclear'" in pfbench("info", "nuclar").refusal
    assert "pfbench list" in pfbench("info", "qqq").refusal


def test_namesakes_are_told_apart_by_their_kind(pfbench, folder):
    (folder / "reports").mkdir()
    (folder / "reports" / "a9a.toml").write_text('title = "x"\n')
    assert pfbench("info", "a9a").refusal.endswith("write report:a9a or data:a9a.")
    assert pfbench("info", "data:a9a", "--json").json["kind"] == "data"


def test_an_algorithm_shows_what_its_theory_assumes(pfbench):
    assert pfbench("info", "katyusha-ns", "--json").json["assumes"] == {"convex": "f is convex"}
    assert "f is convex" in pfbench("info", "katyusha-ns").out
    assert pfbench("info", "svrg", "--json").json["assumes"] == {}


def test_a_problem_shows_what_is_known_of_it(pfbench):
    quadratic = "quadratic[source=synthetic,rows=30,columns=4,set=none]"
    built = pfbench("info", quadratic, "--json").json["built"]
    assert list(built["properties"]) == ["convex", "restricted strong convexity"]
    assert built["best_known"]["value"] > 0.0
    assert "normal equations" in built["best_known"]["source"]
    text = pfbench("info", quadratic).out
    assert "f is convex" in text
    assert f"{built['best_known']['value']:.6g}\n" in text
    assert "minimum, by the normal equations" in text
    recovery = "robust-matrix-recovery[rows=12,columns=10,rank=1,noise=0.5]"
    built = pfbench("info", recovery, "--json").json["built"]
    assert (list(built["properties"]), built["best_known"]) == (["bounded domain"], None)
