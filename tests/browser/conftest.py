"""A browser, and a report of generated runs that it opens."""

import pytest
from chromium import BROWSER, Chromium
from generated_reports import SPEC, report_of


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    return report_of(SPEC, tmp_path_factory.mktemp("generated"))


@pytest.fixture(scope="session")
def compared(tmp_path_factory):
    """A report on one method."""
    return report_of(SPEC, tmp_path_factory.mktemp("compared"), mine=True)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if BROWSER is None:
        pytest.skip("neither chromium nor chrome is installed")
    chromium = Chromium(tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()
