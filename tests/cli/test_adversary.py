"""``pfbench adversary``: certificates, their check, and what is refused."""

import json
import re

import pytest
from processes import run_python

from pfbench.resisting.certificate import _digest

OPEN_LOOP = "frank-wolfe[step=open-loop]"


def test_the_json_conforms_and_has_the_fields_of_the_design(pfbench, conforms):
    done = pfbench("adversary", "-a", OPEN_LOOP, "--horizon", 12, "--dimension", 30, "--json")
    found = conforms(done.json, "adversary.json")
    assert found["horizon"] == 12
    assert found["dimension"] == 30
    assert found["claimed_gap_over_diameter"] == 0.04
    assert found["min_gap_over_diameter"] >= 0.04
    assert found["replay_max_relative_error"] <= 1e-9
    assert (found["certified"], found["certified_for"]) == (True, "lo")
    assert found["calls_to_target"] is None
    assert found["algorithm"].startswith("frank-wolfe[")
    assert "step=open-loop" in found["algorithm"]


def test_several_algorithms_are_an_array_and_a_text_each(pfbench, conforms):
    arguments = ("adversary", "-a", OPEN_LOOP, "-a", "projected-gradient", "--horizon", 6)
    found = conforms(pfbench(*arguments, "--json").json, "adversary.json")
    assert [one["certified_for"] for one in found] == ["lo", "gradient"]
    done = pfbench(*arguments)
    assert done.status == 0
    assert re.search("certified_for +gradient", done.out)
    assert "the algorithm projects" in done.out


def test_all_stands_for_every_algorithm_of_the_theorem(pfbench):
    found = pfbench("adversary", "-a", "all", "--horizon", 5, "--json").json
    names = {one["algorithm"].partition("[")[0] for one in found}
    nfwu = {f"nfwu-{one}" for one in ("sg", "svrg", "spiderg", "storm")}
    assert names == {"frank-wolfe", *nfwu, "ncgs", "cgs"}
    assert all(one["certified_for"] == "lo" for one in found)


def test_a_file_is_written_and_checked_by_another_process(pfbench, conforms, folder):
    arguments = ("adversary", "-a", "frank-wolfe", "--horizon", 6, "--seed", 3, "-o", "fw.json")
    made = pfbench(*arguments, "--json").json
    assert sorted(path.name for path in folder.glob("fw*")) == ["fw.json", "fw.transcript.npz"]
    stored = conforms(json.loads((folder / "fw.json").read_text()), "adversary.json")
    assert {**made, "schema": 1}.items() <= stored.items()
    other, _ = run_python("-m", "pfbench", "adversary", "--check", "fw.json", "--json")
    assert json.loads(other) == made


def test_an_edited_certificate_is_refused(pfbench, folder):
    pfbench("adversary", "-a", OPEN_LOOP, "--horizon", 6, "-o", "c.json")
    path = folder / "c.json"
    path.write_text(path.read_text().replace('"horizon": 6', '"horizon": 7'))
    assert "was edited" in pfbench("adversary", "--check", "c.json").refusal


def test_an_own_algorithm_is_named_before_it_is_imported(pfbench):
    name = "contenders:Walk"
    done = pfbench("adversary", "-a", name, "--horizon", 5, "-o", "own.json", "--json")
    assert done.json["certified_for"] == "lo"
    assert done.json["algorithm"].startswith(f"{name}[")
    assert "iterations=5" in done.json["algorithm"]
    assert done.err.splitlines()[0] == f"importing {name}"
    checked = pfbench("adversary", "--check", "own.json")
    assert checked.status == 0
    assert checked.err.splitlines()[0] == f"importing {name}[iterations=5]"


def test_a_fixed_seed_makes_a_randomised_algorithm_deterministic(pfbench, conforms, folder):
    """What is drawn is that of the seed: again the same bits, and of another seed others."""
    name = "contenders:SaysSo"
    asked = ("adversary", "-a", name, "--horizon", 5, "--json")
    first = conforms(pfbench(*asked, "--fixed-seed", 3, "-o", "fixed.json").json, "adversary.json")
    assert (first["certified"], first["fixed_seed"], first["findings"]) == (True, 3, [])
    assert pfbench(*asked, "--fixed-seed", 3).json == first
    assert pfbench("adversary", "--check", "fixed.json", "--json").json == first
    pfbench(*asked, "--fixed-seed", 4, "-o", "other.json")
    ours, others = (json.loads((folder / f"{one}.json").read_text()) for one in ("fixed", "other"))
    assert ours["transcript"]["sha256"] != others["transcript"]["sha256"]
    told = pfbench("adversary", "-a", name, "--horizon", 5, "--fixed-seed", 3).out
    assert "fixed by seed 3: nothing is certified for the mean over seeds" in told


def test_a_certificate_of_one_seed_is_not_one_of_another(pfbench, folder):
    """A planted fault: the seed in the file is changed, and with it the file's digest."""
    name = "contenders:SaysSo"
    pfbench("adversary", "-a", name, "--horizon", 5, "--fixed-seed", 3, "-o", "fixed.json")
    content = json.loads((folder / "fixed.json").read_text()) | {"fixed_seed": 4}
    content["digest"] = _digest(content)
    (folder / "fixed.json").write_text(json.dumps(content))
    checked = pfbench("adversary", "--check", "fixed.json", "--json")
    assert (checked.status, checked.json["certified"]) == (1, False)
    assert "check (ii) fails" in checked.json["findings"][0]


def test_two_plain_algorithms_of_one_class_do_not_share_a_certificate(pfbench):
    for calls in (10, 3):
        plain = f"own_styles:Golden[iterations={calls},step=open-loop]"
        done = pfbench("adversary", "-a", plain, "--horizon", 5, "--json")
        assert done.json["algorithm"] == plain
        assert done.json["counts"]["lo"] == calls
    assert len(pfbench("store", "list", "--kind", "certificate", "--json").json) == 2


def test_what_is_not_certified_ends_with_1_and_says_why(pfbench, conforms):
    arguments = ("adversary", "-a", "contenders:Draws", "--horizon", 5)
    done = pfbench(*arguments, "-o", "no.json", "--json")
    assert done.status == 1
    found = conforms(done.json, "adversary.json")
    assert (found["certified"], found["certified_for"]) == (False, None)
    assert "the algorithm is random" in found["findings"][0]
    shown = pfbench(*arguments)
    assert shown.status == 1
    assert "the algorithm is random" in shown.out
    checked = pfbench("adversary", "--check", "no.json")
    assert checked.status == 1
    assert "the algorithm is random" in checked.out


def test_a_certificate_that_the_store_has_is_not_made_again(pfbench, conforms, monkeypatch):
    asked = ("adversary", "-a", "frank-wolfe[step=open-loop]", "--horizon", 6)
    first = pfbench(*asked)
    assert first.err.endswith("1 certificate (1 run, 0 cached)\n")
    described = conforms(pfbench(*asked, "--json").json, "adversary.json")
    with monkeypatch.context() as patch:
        patch.setattr("pfbench.resisting.certify", pytest.fail)
        second = pfbench(*asked)
        assert (second.out, second.err) == (first.out, "1 certificate (0 run, 1 cached)\n")
        assert pfbench(*asked, "--json").json == described
    listed = pfbench("store", "list", "--kind", "certificate", "--json").json
    assert [(row["status"], row["seed"]) for row in listed] == [("certified", 0)]


def test_other_numbers_and_files_that_are_asked_for_are_made(pfbench):
    asked = ("adversary", "-a", "frank-wolfe[step=open-loop]", "--horizon", 6)
    for more in ((), ("--seed", 1), ("--dimension", 20), ("-o", "c.json")):
        assert "1 certificate (1 run, 0 cached)" in pfbench(*asked, *more).err
    assert pfbench("adversary", "--check", "c.json").status == 0
    assert len(pfbench("store", "list", "--json").json) == 3
