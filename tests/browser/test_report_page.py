"""The page in a browser without a network."""

import re
import shutil
import subprocess

import pytest

from pfbench.reporting import collect, write_report
from pfbench.runs.execute import execute
from pfbench.runs.planning.spec import read_spec
from pfbench.runs.storage.store import Store

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chrome is installed"),
]

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--window-size=1280,900",
]

SPEC = """
title = "Small"

[[study]]
key = "small"
title = "Two estimators"
problems = "robust-matrix-recovery[rows=20,columns=20,rank=2,density=0.3,seed={seed}]"
seeds = 2
measures = ["fw_gap", "estimator_error"]
every = "5"

[study.algorithms]
SVRG = "nfwu-svrg[batch={batch},period=5,iterations=20,step=0.05,output=last]"
CASVRG = "nfwu-casvrg[batch={batch},period=5,iterations=20,step=0.05,output=last]"

[[study.setting]]
title = "S = 10"
batch = 10

[[study.setting]]
title = "S = 20"
batch = 20
"""


def report(folder):
    """Write a report of two small studies whose runs are really made."""
    spec_path = folder / "small.toml"
    spec_path.write_text(SPEC, encoding="utf-8")
    spec = read_spec(spec_path)
    outcomes = execute(spec.runs(), Store(folder / "store"))
    return write_report(collect(spec, outcomes), folder / "report", command="c", commit="c")[0]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return report(tmp_path_factory.mktemp("browser"))


@pytest.fixture
def opened(tmp_path):
    """Return a function that gives the page's elements after its script has run."""

    def dump(page, fragment="", *flags):
        result = subprocess.run(
            [
                *(BROWSER, *FLAGS, *flags),
                f"--user-data-dir={tmp_path / 'profile'}",
                "--dump-dom",
                page.as_uri() + fragment,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "CONSOLE" not in result.stderr, result.stderr
        return result.stdout

    return dump


def lines(dom):
    """Return how many lines are drawn, those of bands not counted."""
    return len(re.findall(r'class="js-line"[^>]*stroke-width: 1\.8px', dom))


def axis_names(dom):
    return set(re.findall(r'<p class="across">([^<]*)</p>', dom))


def test_all_panels_are_drawn(page, opened):
    dom = opened(page)
    assert 'data-axis="sfo"' in dom
    assert dom.count('class="plot js-plotly-plot"') == 4
    # Two algorithms in each of the four panels.
    assert lines(dom) == 8
    assert axis_names(dom) == {"SFO (component gradients)"}


@pytest.mark.parametrize(
    ("axis", "name", "drawn"),
    [
        ("lo", "LO calls", 8),
        ("sso", "SSO (component Hessians)", 4),
        ("seconds", "seconds", 8),
        ("nonsense", "SFO (component gradients)", 8),
    ],
)
def test_the_address_selects_the_axis(page, opened, axis, name, drawn):
    dom = opened(page, f"#x={axis}")
    assert axis_names(dom) == {name}
    assert lines(dom) == drawn
    (said,) = re.findall(r'<p class="without"[^>]*>([^<]*)</p>', dom)
    none = "SVRG makes no SSO calls, so it has no line on this axis."
    assert said == (none if axis == "sso" else "")


def test_the_switch_and_the_legend_change_every_panel(page, opened, tmp_path):
    clicks = """<script>
      document.querySelector('.choices input[value="lo"]').click();
      document.querySelector('.legend button[data-label="SVRG"]').click();
      addEventListener("hashchange", () => document.documentElement.dataset.hash = location.hash);
    </script></body>"""
    clicked = tmp_path / "clicked.html"
    before, _, after = page.read_text(encoding="utf-8").rpartition("</body>")
    clicked.write_text(before + clicks + after, encoding="utf-8")
    dom = opened(clicked, "", "--virtual-time-budget=5000")
    assert 'data-hash="#x=lo"' in dom
    assert axis_names(dom) == {"LO calls"}
    assert lines(dom) == 4
    assert re.findall(r'aria-pressed="(\w+)"[^>]*data-label="SVRG"', dom) == ["false"]
    assert re.findall(r'aria-pressed="(\w+)"[^>]*data-label="CASVRG"', dom) == ["true"]


def test_the_figures_have_the_colours_of_the_page(page, opened):
    light, dark = (opened(page, "", f"--blink-settings=preferredColorScheme={k}") for k in (1, 0))
    assert "rgb(34, 34, 34)" in light
    assert "rgb(236, 234, 230)" in dark
    assert "rgb(236, 234, 230)" not in light
