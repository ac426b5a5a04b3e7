"""The page in a browser without a network: what a reader sees, and what each switch changes."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from chromium import BENCH, change, violations
from generated_reports import MARKUP, SPEC, report_of

from pfbench.reporting.ranking import initially_shown_algorithms
from pfbench.reporting.report import RateCurve

pytestmark = pytest.mark.browser

DRAWN = """JSON.stringify([
  [...document.querySelectorAll('.plot path, .plot text')].map((one) =>
    ['d', 'stroke', 'transform'].map((name) => one.getAttribute(name)) + one.textContent),
  [...document.querySelectorAll('.setting, .caption, .across')].map((one) => one.textContent),
])"""
"""All that the figure shows."""


def reset(browser):
    browser.run(
        "[...document.querySelectorAll('button')].find("
        "(one) => one.textContent === 'As at first').click()"
    )


def centre(browser, selector, number=0):
    """Scroll an element into the window, and return the middle of it."""
    return browser.run(f"""(() => {{
      const one = document.querySelectorAll({json.dumps(selector)})[{number}];
      one.scrollIntoView({{block: 'center'}});
      const box = one.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    }})()""")


@pytest.fixture
def opened(browser, generated):
    page, _ = generated
    browser.open(page.as_uri())
    yield browser
    assert browser.complaints == []


def test_the_page_is_drawn_without_a_complaint_and_asks_nobody(browser, generated):
    page, report = generated
    browser.open(page.as_uri())
    assert browser.complaints == []
    assert all(
        address.startswith(("file:", "data:", "about:", "blob:")) for address in browser.asked
    )
    assert browser.run("document.querySelectorAll('.plot > svg').length") > 0
    assert browser.run("document.querySelectorAll('.panel').length") == len(
        report.results[0].panels
    )


def test_the_answer_and_a_figure_are_on_the_first_screen(opened):
    top, height = opened.run("""(() => {
      const box = document.querySelector('.plot').getBoundingClientRect();
      return [box.top, box.height];
    })()""")
    assert top + 0.8 * height < 900
    assert opened.run("document.querySelector('.answer').getBoundingClientRect().bottom") < 900
    assert "Fewest SFO calls: " in opened.run("document.querySelector('.answer').textContent")


def switches(browser):
    """Return every switch with every value that is not its present one."""
    return browser.run("""(() => [...document.querySelector('.switches').elements]
    .flatMap((one) => {
      if (one.tagName === 'SELECT') {
        return [...one.options].filter((option) => option.value !== one.value)
          .map((option) => [one.name, option.value]);
      }
      if (one.type === 'checkbox' && one.checkVisibility()) return [[one.name, null]];
      return [];
    }))()""")


def test_every_switch_changes_what_is_drawn_and_back(opened):
    first, seen = opened.run(DRAWN), {}
    for name, value in switches(opened):
        change(opened, name, value)
        drawn = opened.run(DRAWN)
        if (name, value) != ("target", "own"):
            assert drawn not in seen, (name, value, seen[drawn])
        seen[drawn] = name, value
        assert drawn != first, (name, value)
        reset(opened)
        assert opened.run(DRAWN) == first, (name, value)
    assert {name for name, _ in seen.values()} >= {
        *("problem", "setting", "measure", "band", "x", "logx", "logy", "slope", "target")
    }


@pytest.mark.parametrize("band", ["band", "seeds", "median"])
def test_a_start_at_no_calls_has_no_place_on_a_logarithmic_axis(opened, band):
    change(opened, "x", "lo")
    change(opened, "band", band)
    least = """Math.min(...[...document.querySelectorAll('.plot > svg')].flatMap(
      (svg) => svg.points.map(({at: [x]}) => x)))"""
    caption = "document.querySelector('.caption').textContent"
    assert opened.run(least) == 54  # the edge
    assert "The start, at 0" not in opened.run(caption)
    change(opened, "logx", None)
    assert opened.run(least) > 54
    assert "The start, at 0, has no place" in opened.run(caption)


def test_a_level_of_ones_own_is_drawn_and_in_sight(opened):
    change(opened, "target", "own")
    assert opened.run("document.querySelectorAll('.target').length") == 0
    change(opened, "level", "1e-4")
    heights = opened.run("""[...document.querySelectorAll('.target')].map((one) => [
      Number(one.getAttribute('y1')), one.ownerSVGElement.viewBox.baseVal.height])""")
    assert len(heights) == 4
    assert all(8 < y < height - 24 for y, height in heights)
    assert "Dotted: the target, 1.00·10⁻⁴." in opened.run(
        "document.querySelector('.caption').textContent"
    )


BANDS = f"""{BENCH}.study.panels.flatMap((panel) => panel.groups).flatMap((group) => [
  group.bands, ...Object.values(group.other)])"""


def test_suboptimality_is_the_objective_less_the_best_known(opened):
    pairs = opened.run(f"{BANDS}.map((one) => [one.objective.y, one.suboptimality.y])")
    assert pairs
    for values, rest in pairs:
        assert rest == pytest.approx([y - 0.25 for y in values], abs=1e-4)


SLOPES = f"{BENCH}.panels.map((panel) => pfbench.panels.slope({BENCH}, panel, 'fw_gap'))"


@pytest.mark.long
def test_the_constant_of_a_slope_is_the_theorem_s_where_its_schedule_ends(browser, tmp_path):
    rate = RateCurve("a-claim", "frank-wolfe", "fw_gap", "lo", 0.5, "eps^-2 LO")
    notes = {"promised": {"measure": "fw_gap", "value": 700.0}}
    page, report = report_of(SPEC, tmp_path, rates=(rate,), notes=notes)
    browser.open(page.as_uri() + "#study.slope=claim0&study.logx=1&study.logy=1&study.x=lo")
    (results,) = report.results
    ours = [panel.groups[0] for panel in results.panels]
    finished = [all(run.status == "finished" for run in group.runs) for group in ours]
    assert {*finished} == {True, False}
    for slope, group, ended in zip(browser.run(SLOPES), ours, finished, strict=True):
        calls = np.median([run.counts.lo for run in group.runs])
        assert (slope["constant"] == pytest.approx(700.0 * calls**0.5)) == ended
    said = browser.run("document.querySelector('.caption').textContent")
    assert " of the theorem's schedule and C = " in said
    # Far above all runs, it is in sight all the same.
    assert browser.run(f"""{BENCH}.panels.every((panel, k) => {{
      const {{x, y}} = pfbench.panels.axesOf({BENCH}, panel, 'fw_gap');
      const {{constant, power}} = {SLOPES}[k];
      const last = constant * x.high ** -power;
      return y.low < last && last < y.high;
    }})""")
    assert browser.complaints == []


@pytest.mark.long
def test_a_price_of_the_spec_is_on_the_axis_at_first(browser, tmp_path):
    page, report = report_of(
        SPEC.replace("[problems]", "[price]\nsfo = 1\nlo = 37\n[problems]"), tmp_path
    )
    browser.open(page.as_uri())
    assert browser.run(f"{BENCH}.state.x") == "price"
    assert "price of all calls: SFO + 37 LO" in browser.run(
        "document.querySelector('.caption').textContent"
    )
    run = report.results[0].panels[0].groups[0].runs[0]
    last = run.counts.sfo + 37 * run.counts.lo
    assert browser.run(f"{BENCH}.study.panels[0].groups[0].x.price.at(-1)") == last
    assert browser.complaints == []


def test_the_address_keeps_every_switch(opened, generated):
    page, _ = generated
    wanted = {
        **{"problem": "1", "x": "seconds", "logx": None, "band": "seeds"},
        **{"slope": "1/2", "target": "own", "level": "0.25", "measure": "all"},
    }
    for name, value in wanted.items():
        change(opened, name, value)
    opened.run(f"{BENCH}.toggle(1); {BENCH}.isolate(2)")
    drawn, address = opened.run(DRAWN), opened.run("location.hash")
    opened.open(page.as_uri() + address)
    assert opened.run(DRAWN) == drawn
    assert opened.run(f"[...{BENCH}.state.hidden, {BENCH}.state.only]") == [1, 2]
    reset(opened)
    assert opened.run("location.hash") == ""


@pytest.mark.parametrize(
    "address",
    [
        "#study.x=nonsense&study.hidden=99&study.only=-1&study.level=<b>"
        "&study.problem=__proto__&a=1&b",
        "#%E0%A4%A",
    ],
)
def test_an_address_that_says_nothing_changes_nothing(opened, generated, address):
    page, _ = generated
    first = opened.run(DRAWN)
    opened.open(page.as_uri() + address)
    assert opened.run(DRAWN) == first


def colours(browser):
    """Return the numbers of the algorithms that are drawn in colour."""
    return {
        int(number)
        for number in browser.run(
            "[...document.querySelectorAll('.plot .line')].map((one) => one.dataset.number)"
        )
    }


def test_a_click_on_a_name_isolates_and_another_brings_all_back(opened):
    assert colours(opened) == {0, 1, 2, 3}
    opened.click(*centre(opened, ".legend button", 1))
    assert colours(opened) == {1}
    assert opened.run("document.querySelectorAll('.legend button')[1].ariaPressed") == "true"
    opened.click(*centre(opened, ".legend button", 2))
    assert colours(opened) == {2}
    opened.click(*centre(opened, ".legend button", 2))
    assert colours(opened) == {0, 1, 2, 3}
    opened.click(*centre(opened, ".legend input", 3))
    assert colours(opened) == {0, 1, 2}


def test_a_click_on_a_line_isolates(opened):
    change(opened, "problem", "0")
    change(opened, "setting", "0")
    x, y = opened.run("""(() => {
      const svg = document.querySelector('.plot > svg');
      svg.scrollIntoView({block: 'center'});
      const box = svg.getBoundingClientRect();
      const {at} = svg.points.findLast((one) => one.number === 0);
      return [box.x + at[0], box.y + at[1]];
    })()""")
    opened.move(x + 1, y)
    opened.wait("!document.querySelector('.tip').hidden")
    assert re.match(
        r"steady at [\d\u202f]+ SFO calls: 0\.\d+ \(0\.\d+ to 0\.\d+\)$",
        opened.run("document.querySelector('.tip').textContent"),
    )
    opened.click(x + 1, y)
    opened.wait(f"{BENCH}.state.only === 0")
    assert colours(opened) == {0}


def test_a_double_click_on_a_figure_brings_all_back(opened):
    opened.run(f"{BENCH}.isolate(1)")
    centre(opened, ".plot")
    box = opened.run("document.querySelector('.plot').getBoundingClientRect().toJSON()")
    opened.click(box["right"] - 20, box["top"] + 12, times=2)
    opened.wait(f"{BENCH}.state.only === null")
    assert colours(opened) == {0, 1, 2, 3}


def test_a_panel_is_shown_alone_and_all_again(opened):
    first = opened.run(DRAWN)
    opened.click(*centre(opened, "button.setting", 2))
    assert opened.run("document.querySelectorAll('.panel').length") == 1
    opened.click(*centre(opened, ".back"))
    assert opened.run(DRAWN) == first


def test_the_keyboard_reaches_everything_and_works_it(opened):
    opened.run("document.activeElement.blur()")
    wanted = opened.run("""(() => {
      const all = [...document.querySelectorAll(
        'a[href], button, select, input, summary, [tabindex="0"]')]
        .filter((one) => one.checkVisibility() && !one.closest('.plot'));
      all.forEach((one, k) => { one.dataset.reached = k; });
      return all.length;
    })()""")
    reached = set()
    for _ in range(wanted + 5):
        opened.press("Tab")
        reached.add(opened.run("document.activeElement.dataset.reached"))
    missed = sorted(set(map(str, range(wanted))) - reached, key=int)
    assert missed == [], opened.run(
        f"{missed}.map((k) => document.querySelector(`[data-reached='${{k}}']`).outerHTML)"
    )
    opened.run("document.querySelectorAll('.legend button')[2].focus()")
    opened.press("Enter", "\r")
    assert colours(opened) == {2}
    opened.press(" ", " ")
    assert colours(opened) == {0, 1, 2, 3}
    opened.run("document.querySelector('.switches [name=x]').focus()")
    before = opened.run(DRAWN)
    opened.press("ArrowDown")
    assert opened.run(f"{BENCH}.state.x") == "lo"
    assert opened.run(DRAWN) != before


@pytest.mark.parametrize("width", [390, 320, 820])
def test_nothing_overflows_a_narrow_window(browser, generated, width):
    page, _ = generated
    browser.open(page.as_uri(), width=width, height=844)
    for measure in ("fw_gap", "all"):
        change(browser, "measure", measure)
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        # A selector with many parameters has no place where a line may break.
        browser.run("document.querySelector('p code').textContent = 'p[' + 'a=1,'.repeat(50) + ']'")
        assert browser.run("document.documentElement.scrollWidth") <= width
        outside = browser.run(f"""[...document.querySelectorAll('body *')]
          .filter((one) => one.checkVisibility() && !one.closest('.table, pre, svg, .unseen'))
          .filter((one) => one.getBoundingClientRect().right > {width} + 0.5)
          .map((one) => one.outerHTML.slice(0, 200))""")
        assert outside == []


def test_the_figures_have_the_colours_of_the_scheme(browser, generated):
    page, _ = generated
    ink = "getComputedStyle(document.querySelector('.plot .line')).stroke"
    browser.open(page.as_uri())
    assert browser.run(ink) == "rgb(34, 34, 34)"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 251)"
    browser.look(dark=True)
    browser.wait(f"{ink} === 'rgb(236, 234, 230)'")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(22, 23, 26)"
    assert browser.complaints == []


def test_on_paper_there_are_no_switches(browser, generated):
    page, _ = generated
    browser.open(page.as_uri(), dark=True)
    assert browser.paper().startswith(b"%PDF")
    browser.look(media="print", dark=True)
    assert not browser.run("document.querySelector('.rail').checkVisibility()")
    assert not browser.run("document.querySelector('.savers').checkVisibility()")
    assert browser.complaints == []


def test_what_is_saved_is_whole(opened, generated):
    _, report = generated
    opened.run(
        f"window.kept = []; {BENCH}.download = async (name, blob) => window.kept.push("
        "[name, [...new Uint8Array(await blob.arrayBuffer())]])"
    )
    change(opened, "slope", "1/2")
    for number, text in enumerate(("SVG", "PNG", "TOML"), 1):
        opened.run(f"""[...document.querySelectorAll('.savers button')]
          .find((one) => one.textContent === '{text}').click()""")
        opened.wait(f"window.kept.length === {number}")
    kept = {name: bytes(content) for name, content in opened.run("window.kept")}
    assert b"var(" not in kept["generated-study.svg"]
    root = ElementTree.fromstring(kept["generated-study.svg"])
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len(root.findall(".//{http://www.w3.org/2000/svg}svg")) == 4
    assert {"steady", MARKUP, "SFO (component gradients)"} <= set(texts)
    assert kept["generated-study.png"].startswith(b"\x89PNG")
    assert kept["generated.toml"].decode() == report.spec.text


def test_texts_of_strangers_are_only_texts(opened):
    assert opened.run("document.querySelectorAll('img').length") == 0
    assert MARKUP in opened.run("document.querySelector('.legend').textContent")
    hovered = opened.run("""(() => {
      const {points} = document.querySelector('.plot > svg');
      pfbench.benches[0].point(points.find((one) => one.number === 3), {clientX: 0, clientY: 0});
      return document.querySelector('.tip').innerHTML;
    })()""")
    assert hovered.startswith("&lt;img src=x onerror=alert(1)&gt;")


def test_a_browser_that_cannot_unpack_says_so(browser, generated):
    page, _ = generated
    script = browser.call(
        "Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream"
    )["identifier"]
    try:
        browser.open(page.as_uri(), ready=False)
        browser.wait("document.querySelector('.workbench .failed') !== null")
        text = browser.run("document.querySelector('.workbench').textContent")
        assert "this browser cannot unpack gzip" in text
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_a_page_on_one_method_begins_with_it(browser, compared, width):
    page, report = compared
    browser.open(page.as_uri(), width=width)
    mine = report.candidate_labels[0]
    first = browser.run("document.querySelector('main .first').textContent")
    assert f"{mine} is first on" in first
    # Nothing of the page is wider than the window.
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('.workbench .stage').length") == 1


@pytest.mark.thin(3)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("report", ["generated", "compared"])
def test_axe_finds_nothing(browser, request, report, dark, width):
    page, _ = request.getfixturevalue(report)
    browser.open(page.as_uri(), dark=dark, width=width)
    assert violations(browser) == []


LINES = "new Set([...document.querySelectorAll('.line')].map((one) => one.dataset.number)).size"
"""How many algorithms have a line."""


def test_of_very_many_methods_the_foremost_are_shown_at_first(browser, tmp_path):
    names = [f"method {k}" for k in range(17)]
    algorithms = "\n".join(f'"{name}" = "sfw[step={k + 1}]"' for k, name in enumerate(names))
    text = (
        'title = "Very many"\nseeds = 2\nmeasures = "fw_gap"\ntargets = ["fw_gap=0.1"]\n'
        f'every = 10\nproblems = "problem[number=0]"\n[algorithms]\n{algorithms}\n'
    )
    page, report = report_of(text, tmp_path)
    shown = [names.index(one) for one in initially_shown_algorithms(report.results[0])]
    assert len(shown) == 14
    assert shown[0] == 0
    browser.open(page.as_uri())
    assert browser.run(LINES) == 14
    assert browser.run(f"[...{BENCH}.state.hidden]") == sorted({*range(17)} - {*shown})
    assert "Shown are 14 of 17 algorithms." in browser.run(
        "document.querySelector('.caption').textContent"
    )
    more = (
        "[...document.querySelectorAll('button')].find("
        "(one) => /^show (all|the)/.test(one.textContent))"
    )
    assert browser.run(f"{more}.textContent") == "show all 17"
    browser.run(f"{more}.click()")
    assert browser.run(LINES) == 17
    browser.open(page.as_uri() + browser.run("location.hash"))
    assert browser.run(LINES) == 17
    assert browser.run(f"{more}.textContent") == "show the foremost 14"
    browser.run(f"{more}.click()")
    assert (browser.run(LINES), browser.run("location.hash")) == (14, "")
    assert browser.complaints == []
