"""The documentation, built and opened from disk in a browser without a network."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from chromium import violations

pytestmark = [pytest.mark.browser, pytest.mark.long]

ROOT = Path(__file__).parents[2]
PAGES = [
    "docs/index",
    "README",
    "docs/counting",
    "docs/compare",
    "docs/theory/lacoste2016",
    "docs/theory/methods",
    "docs/catalogue",
    "docs/api",
    "docs/gallery",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed")
    folder = tmp_path_factory.mktemp("site")
    options = ("-E", "-W", "-q", "-c", "docs", "-d", folder / "doctrees")
    build = [sys.executable, "-m", "sphinx", *options, ".", folder / "html"]
    subprocess.run(build, cwd=ROOT, check=True)
    return folder / "html"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(browser, site, dark, width):
    for name in PAGES:
        browser.open((site / f"{name}.html").as_uri(), dark=dark, width=width, ready=False)
        assert [one for one in violations(browser) if one[0] in ("serious", "critical")] == [], name
        assert browser.run("document.documentElement.scrollWidth") <= width, name
        assert all(url.startswith(("file:", "data:", "about:")) for url in browser.asked), name


def test_the_root_leads_to_the_first_page_and_search_finds_from_disk(browser, site):
    browser.open((site / "index.html").as_uri(), ready=False)
    browser.wait("location.pathname.endsWith('/docs/index.html')")
    browser.open(f"{(site / 'search.html').as_uri()}?q=casvrg", ready=False)
    browser.wait("document.querySelectorAll('#search-results li').length > 2")
    found = browser.run(
        "Array.from(document.querySelectorAll('#search-results li a'), (one) => one.href).join()"
    )
    assert "/docs/theory/shen2019.html" in found
