"""What stands in quotation marks is printed in the paper; what is not, has none."""

import re

import pytest
from papers import TITLES, WHY, letters, printed, text_of

from pfbench.claims.catalogue import ERRATA, PAPERS
from pfbench.verification.dossier import MOST_LINES, RULINGS

QUOTED = [(name, quote) for name, one in ERRATA.items() for quote in one.dossier.quotes]
MARKS = re.compile('[“”„«»"]')


def paper_of(name):
    return next(key for key in PAPERS if name.startswith(key))


@pytest.mark.parametrize(("name", "quote"), QUOTED, ids=[f"{n}, {q.place}" for n, q in QUOTED])
def test_quotations_are_printed(name, quote):
    key = paper_of(name)
    if text_of(key) is None:
        pytest.skip(WHY)
    assert printed(key, quote.text), (key, quote.text)


@pytest.mark.parametrize("key", TITLES)
def test_a_quotation_that_is_not_printed_is_found_out(key):
    if text_of(key) is None:
        pytest.skip(WHY)
    assert printed(key, TITLES[key])
    assert not printed(key, "the step of these experiments is the one of the theorem")
    first, second = TITLES[key].split()[:2]
    assert printed(key, f"{first} … {second}")
    assert not printed(key, f"{second}{first} … {first}{first}{second}")


def test_letters_are_what_no_extraction_spoils():
    assert letters("signi\\ufb01cantly  out-\nperforms η = 0.05") == "significantlyoutperformsη005"
    assert letters("signiﬁcantlyoutperformsη=0.05") == "significantlyoutperformsη005"


@pytest.mark.parametrize("erratum", ERRATA.values(), ids=list(ERRATA))
def test_words_of_ours_have_no_quotation_marks(erratum):
    dossier = erratum.dossier
    ours = (erratum.as_printed, erratum.corrected, dossier.assumed, dossier.instance)
    for text in (*ours, *dossier.derivation, *dossier.readings.values()):
        assert not MARKS.search(text), text


@pytest.mark.parametrize("erratum", ERRATA.values(), ids=list(ERRATA))
def test_dossiers_are_whole(erratum):
    dossier = erratum.dossier
    assert dossier.ruling in RULINGS
    assert 0 < len(dossier.derivation) <= MOST_LINES
    assert len(dossier.instance) > 20
    assert dossier.readings or dossier.ruling == "ours"
