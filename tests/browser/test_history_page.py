"""The page of past commits in a browser without a network."""

import pytest

from benchmarks.history.page import page
from benchmarks.history.results import Commit, History, Series

pytestmark = pytest.mark.browser

COMMITS = tuple(Commit(f"{k}" * 40, f"2026-01-0{k + 1}", f"<i>number {k}</i>", 1) for k in range(3))
MADE = History(
    {"os": "Linux"},
    "3.12",
    COMMITS,
    (
        Series("counts.track_sfw", ("lo",), "calls", (40.0, 41.0, 41.0)),
        Series("counts.track_prox_gd", ("po",), "calls", (None, 7.0, 7.0)),
        Series("whole.Command.time_help", (), "s", (0.5, None, 0.25)),
    ),
)


@pytest.fixture
def opened(browser, tmp_path):
    file = tmp_path / "index.html"
    file.write_text(page(MADE, "a command"), encoding="utf-8")
    browser.open(file.as_uri(), ready=False)
    yield browser
    assert browser.complaints == []
    assert browser.asked == [file.as_uri()]


def test_a_name_shows_its_values_by_commit(opened):
    opened.run("document.querySelectorAll('button[data-series]')[0].click()")
    assert opened.run("document.getElementById('values').open")
    shown = "[...document.querySelectorAll('#values-table tr')].map(r => r.innerText).join('|')"
    rows = opened.run(shown).split("|")
    assert [row.split("\t")[-1] for row in rows] == ["40", "41", "41"]
    assert "<i>number 0</i>" in rows[0]


def test_words_choose_rows(opened):
    seen = "[...document.querySelectorAll('[data-row]')].filter(r => r.offsetHeight).length"
    assert opened.run(seen) == 1 + 3 + 3
    opened.run("""(() => {
      const input = document.getElementById('filter');
      input.value = 'prox po';
      input.dispatchEvent(new Event('input'));
    })()""")
    assert opened.run(seen) == 1
