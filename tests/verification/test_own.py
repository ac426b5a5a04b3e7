"""Somebody's own algorithm: claims that it names, or that the command line names."""

import pytest

from pfbench.base.errors import InputError
from pfbench.claims import catalogue
from pfbench.claims.catalogue import algorithm_and_claims
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject


@pytest.fixture
def mine(monkeypatch, request):
    monkeypatch.syspath_prepend(request.path.parent.parent / "claims")
    import own_methods

    return own_methods


@pytest.mark.claims
@pytest.mark.parametrize("claim", ["shen2019-mse-spiderg", "shen2019-unbiased-spiderg"])
def test_a_right_method_passes_however_it_draws(mine, claim):
    for right in (mine.MySpider, mine.Unenumerable):
        assert judge(catalogue.claim(claim), Subject(algorithm=right)).verdict in ("holds", "tight")


@pytest.mark.claims
@pytest.mark.parametrize("fault", ["NeverRefreshed", "DividedByN", "UnenumerableQuarter"])
def test_a_planted_error_is_named_violated(mine, fault):
    subject = Subject(algorithm=getattr(mine, fault))
    found = judge(catalogue.claim("shen2019-mse-spiderg"), subject)
    assert found.verdict == "violated"
    assert found.reason


def test_claims_come_from_the_command_line_or_from_the_class(mine):
    reference = "own_methods:MySpider"
    stated = algorithm_and_claims(reference, [])[1]
    assert [claim.name for claim in stated] == list(mine.MySpider.claims)
    given = ["shen2019-count-spiderg"]
    assert [claim.name for claim in algorithm_and_claims(reference, given)[1]] == given
    with pytest.raises(InputError, match="did you mean"):
        algorithm_and_claims(reference, ["shen2019-count-spidreg"])
    with pytest.raises(InputError, match="is no algorithm"):
        algorithm_and_claims("own_methods:Stream", [])
