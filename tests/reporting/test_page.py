"""The page and the other files of a report."""

import base64
import errno
import gzip
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from made_runs import figure_data, group, with_run
from made_runs import results as study_of
from made_runs import run as made_run

from pfbench.base.counts import Counts
from pfbench.base.errors import InputError, StorageError
from pfbench.reporting import check_report_can_be_written, collect_report, page_data, writer
from pfbench.reporting.report_contents import make_contents
from pfbench.reporting.seed_curves import SeedTraces
from pfbench.reporting.wording import WORDS, format_integer
from pfbench.reporting.writer import paragraphs, write_contents
from pfbench.runs.loop.run import Stop

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "path", "line", "wbr"}


class Page(HTMLParser):
    """What a page consists of; fails where elements are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.scripts, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.texts.append(data)

    def all(self, tag, **wanted):
        return [
            attributes
            for name, attributes in self.elements
            if name == tag and wanted.items() <= attributes.items()
        ]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def write(spec, outcomes, folder, made, command="pfbench report by-hand.toml", commit="abc123"):
    contents = make_contents(collect_report(spec, outcomes), command, commit, made)
    paths = write_contents(contents, folder)
    return {path.name: path for path in paths}


@pytest.fixture(scope="module")
def written(spec, outcomes, made, tmp_path_factory):
    return write(spec, outcomes, tmp_path_factory.mktemp("report"), made)


@pytest.fixture(scope="module")
def page(written):
    return Page(written["by-hand.html"].read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def failed(spec, with_failures, made, tmp_path_factory):
    return write(spec, with_failures, tmp_path_factory.mktemp("failed"), made)


def test_the_files_are_those_that_are_promised(written):
    assert list(written) == [
        "by-hand.html",
        "by-hand-tiny.csv",
        "by-hand-tiny.tex",
        "by-hand-tiny.svg",
        "by-hand-tiny.pdf",
    ]
    folder = written["by-hand.html"].parent
    assert sorted(path.name for path in folder.iterdir()) == sorted(written)


def test_the_page_asks_nobody_for_anything(page):
    for _, attributes in page.elements:
        for name in ("src", "srcset", "data", "poster", "action", "background", "xlink:href"):
            assert name not in attributes
        assert attributes.get("href", "#").startswith("#")
    assert page.all("link") == []
    assert page.all("iframe") == []
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["content"].startswith("default-src 'none';")
    style = Path(writer.__file__).with_name("templates") / "report.css"
    assert "url(" not in style.read_text(encoding="utf-8")


def packed(page, name):
    """Return what the page holds packed under a name."""
    (at,) = [k for k, one in enumerate(page.all("script")) if one.get("id") == name]
    return gzip.decompress(base64.b64decode(page.scripts[at])).decode("utf-8")


def test_user_texts_are_escaped(page, written):
    assert "Two estimators & <three> seeds" in page.text
    assert "A tiny <study>" in page.text
    assert 'Second "paragraph" </script>.' in page.text
    assert page.all("three") == []
    assert page.all("study") == []
    assert json.loads(packed(page, "runs"))["algorithms"][1]["label"] == "CA<SVRG>"


def test_numbers_in_a_paragraph_are_not_broken():
    number = format_integer(3226)
    assert paragraphs(f"after\n  {number}  calls\n\n \n\nmore") == [f"after {number} calls", "more"]


def test_the_page_carries_where_it_comes_from(page, spec):
    for text in (
        "pfbench report by-hand.toml",
        "abc123",
        "2026-11-21 12:00 UTC",
        "0 to 2",
        "Environment of 12 runs",
        "openblas <1>",
    ):
        assert text in page.text
    assert " ".join(spec.text.split()) in page.text
    assert 'pfbench solve -p "problem[seed=2]" -a "nfwu-casvrg[batch=5,period=2]" --seed 2' in (
        page.text
    )


def test_tables_say_what_their_cells_are(page):
    assert len(page.all("table")) == len(page.all("caption"))
    assert all("scope" in heading for heading in page.all("th"))


def restored(value):
    """Whole numbers are written as differences."""
    return np.cumsum(value["d"]).tolist() if isinstance(value, dict) else value


def test_the_page_holds_what_python_computed(page, spec, outcomes):
    (study,) = json.loads(packed(page, "runs"))["studies"]
    assert list(study["axes"]) == ["sfo", "lo", "sso", "hvp", "fo", "iteration", "seconds"]
    assert [panel["title"] for panel in study["panels"]] == ["S = 3 | p = 4", "S = √n"]
    first, second = study["panels"][0]["groups"]
    assert (first["algorithm"], second["algorithm"]) == (0, 1)
    assert [run["seed"] for run in first["runs"]] == [0, 1, 2]
    assert restored(first["x"]["sfo"]) == [0, 30, 60]
    assert restored(second["x"]["sso"]) == [0, 12, 24]
    assert "sso" not in first["x"]
    assert restored(first["runs"][1]["y"]["fw_gap"]) == [2, 1, 0.5]
    group = collect_report(spec, outcomes).results[0].panels[0].groups[0]
    for measure, band in first["bands"].items():
        expected = group.traces.median_band("sfo", measure)
        for name, values in {
            "y": expected.median,
            "low": expected.low,
            "high": expected.high,
        }.items():
            found = [value for value in restored(band[name]) if value is not None]
            assert found == pytest.approx(values.tolist())
    assert first["bands"]["estimator_error"]["y"][0] is None


def test_where_runs_differ_in_their_counts_bands_are_of_each_axis():
    rows = [[(0, 16.0), (10 + seed, 4.0), (30, 2.0)] for seed in range(6)]
    runs = [
        made_run([y for _, y in some], [x for x, _ in some], seed=k) for k, some in enumerate(rows)
    ]
    found = study_of(group("m", runs), targets=())
    (record,) = figure_data(found, ["m"])["studies"][0]["panels"][0]["groups"]
    assert "sfo" not in record["x"]
    band = SeedTraces.from_runs(runs).median_band("sfo", "m")
    assert restored(record["other"]["sfo"]["m"]["x"]) == band.x.tolist()
    assert record["other"]["sfo"]["m"]["y"] == pytest.approx(band.median.tolist(), rel=1e-4)


def test_long_traces_are_thinned_alike_and_keep_ends_and_hits(outcomes):
    values = [1 / (k + 1) for k in range(5000)]
    long, short = (made_run(values[:rows], seed=seed) for seed, rows in enumerate((5000, 4321)))
    traces = SeedTraces.from_runs([long, short])
    kept = page_data.list_displayed_iterations(traces, [Stop("m", 1 / 1234.5)])
    assert len(kept) < page_data.ROWS + 4
    assert {0, 1, 2, 3, 4320, 4999, 1234} <= {*kept}
    assert max(np.diff(kept)) < 60
    few = SeedTraces.from_runs([made_run(values[:200])])
    assert page_data.list_displayed_iterations(few, []).tolist() == [*range(200)]


def test_of_very_many_seeds_the_first_are_drawn_and_those_that_end_early(monkeypatch):
    monkeypatch.setattr(page_data, "MOST_LINES", 2)
    statuses = ["finished", "finished", "finished", "diverged", "finished"]
    runs = [made_run([2.0, 1.0], seed=k, status=status) for k, status in enumerate(statuses)]
    (record,) = figure_data(study_of(group("m", runs)), ["m"])["studies"][0]["panels"][0]["groups"]
    assert [one["seed"] for one in record["runs"]] == [0, 1, 3]


def test_interval_measures_say_which_end_is_shown(page):
    assert (
        "For Frank-Wolfe gap V(x), the upper end of the certified interval is shown." in page.text
    )


def test_a_failed_run_is_listed_and_marked(failed):
    page = Page(failed["by-hand.html"].read_text(encoding="utf-8"))
    assert "Incomplete runs" in page.text
    assert "x <is> not finite" in page.text
    group = json.loads(packed(page, "runs"))["studies"][0]["panels"][0]["groups"][0]
    assert [run["status"] for run in group["runs"]] == ["finished", "diverged", "budget"]
    assert "12 runs, of which 1 failed (1 diverged)." in page.text
    assert [run["early"] for run in group["runs"]] == [False, True, False]


def test_the_probability_of_a_wrong_certificate_is_summed_and_shown(spec, outcomes, made, tmp_path):
    changed = [with_run(one, failure_probability=1e-9) for one in outcomes]
    text = Page(write(spec, changed, tmp_path, made)["by-hand.html"].read_text("utf-8")).text
    assert "of these 12 runs is wrong is at most 1.2·10⁻⁸." in text


def test_the_same_runs_give_the_same_bytes(spec, outcomes, made, written, tmp_path):
    again = write(spec, list(reversed(outcomes)), tmp_path, made)
    for name, path in written.items():
        assert path.read_bytes() == again[name].read_bytes(), name


def test_time_changes_nothing_that_is_published(spec, outcomes, made, written, tmp_path):
    def rows(outcome):
        return [(*row[:9], 7 * row[9], *row[10:]) for row in outcome.entry.run.rows]

    slower = [with_run(one, seconds=99.0, rows=rows(one)) for one in outcomes]
    again = write(spec, slower, tmp_path, made)
    for name in set(written) - {"by-hand.html"}:
        assert written[name].read_bytes() == again[name].read_bytes(), name


def test_the_picture_is_small_and_whole(written, failed):
    for files in (written, failed):
        source = files["by-hand-tiny.svg"].read_bytes()
        assert len(source) < 200_000
        root = ElementTree.fromstring(source)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        names = set(re.findall(rb' id="([^"]+)"', source))
        assert set(re.findall(rb'href="#([^"]+)"', source)) <= names
        assert set(re.findall(rb"url\(#([^)]+)\)", source)) <= names
    assert written["by-hand-tiny.svg"].read_bytes() != failed["by-hand-tiny.svg"].read_bytes()
    assert written["by-hand-tiny.pdf"].read_bytes().startswith(b"%PDF")


def test_a_report_of_one_run_that_recorded_nothing_is_still_a_report(
    spec, outcomes, made, tmp_path
):
    (study,) = spec.studies
    one = replace(
        study,
        title="costs $5 or $6",
        seeds=(0,),
        algorithms=study.algorithms[:1],
        settings=study.settings[:1],
    )
    spec = replace(spec, studies=(one,))
    (outcome,) = [each for each in outcomes if each.plan in spec.runs()]
    lost = {"columns": (), "rows": [], "counts": Counts()}
    outcome = with_run(outcome, status="error", stop_reason="?", **lost)
    written = write(spec, [outcome], tmp_path, made)
    text = Page(written["by-hand.html"].read_text(encoding="utf-8")).text
    assert "1 run, of which 1 failed (1 error)" in text
    assert "SVRG 0 error ? 8 has no value afterwards" in text


def test_a_run_that_was_not_made_is_refused(spec, outcomes, made, tmp_path):
    with pytest.raises(InputError, match="1 of the 12 runs of by-hand have no outcome"):
        write(spec, outcomes[1:], tmp_path, made)


def test_a_folder_that_cannot_be_made_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        StorageError, match=r"^the report folder .*file/report cannot be written \(Not a dir"
    ) as e:
        check_report_can_be_written(tmp_path / "file" / "report")
    assert "\n" not in str(e.value)


@pytest.mark.thin(2)
@pytest.mark.parametrize("fails_at", [1, 4])
def test_a_full_disk_leaves_nothing_half_written(
    spec, outcomes, made, tmp_path, monkeypatch, fails_at
):
    before = tmp_path / "by-hand.html"
    before.write_text("the report before")
    synced = []

    def full(number):
        synced.append(number)
        if len(synced) == fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        write(spec, outcomes, tmp_path, made)
    assert before.read_text() == "the report before"
    assert list(tmp_path.iterdir()) == [before]


def test_each_link_of_a_word_leads_to_what_it_means(page):
    """Every word that is linked is explained on the page itself, once, and heads are linked."""
    linked = {one["href"].removeprefix("#") for one in page.all("a", **{"class": "word"})}
    told = [one["id"] for one in page.all("dt") if one.get("id", "").startswith("word-")]
    assert len(told) == len({*told}) == len(WORDS)
    assert linked <= {*told}
    assert "word-place" in linked
