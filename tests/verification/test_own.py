"""Somebody's own algorithm: claims that it names, or that the command line names."""

import pytest

from pfbench.base.errors import InputError
from pfbench.claims import catalogue
from pfbench.claims.catalogue import load_algorithm_and_claims
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject


@pytest.fixture
def mine(monkeypatch, request):
    monkeypatch.syspath_prepend(request.path.parent.parent / "claims")
    import own_methods

    return own_methods


@pytest.mark.thin(2)
@pytest.mark.claims
@pytest.mark.parametrize("claim", ["shen2019-unbiased-spiderg", "shen2019-mse-spiderg"])
def test_a_right_method_passes(mine, claim):
    assert judge(catalogue.claim(claim), Subject(algorithm=mine.MySpider)).verdict.keeps_bound


@pytest.mark.thin(3)
@pytest.mark.claims
@pytest.mark.parametrize(
    ("fault", "law"),
    [("DividedByN", "unbiased"), ("NeverRefreshed", "mse"), ("UnenumerableQuarter", "mse")],
)
def test_a_planted_error_is_named_violated(mine, fault, law):
    subject = Subject(algorithm=getattr(mine, fault))
    verdict = judge(catalogue.claim(f"shen2019-{law}-spiderg"), subject)
    assert verdict.verdict == "violated"
    assert verdict.reason


REPEATED = "shen2019-unbiased-spiderg", "shen2019-mse-spiderg"


@pytest.mark.long
@pytest.mark.thin(2)
@pytest.mark.claims
@pytest.mark.parametrize("name", REPEATED)
def test_a_stream_of_its_own_is_sampled_and_told(mine, name):
    """Both sample the law of the estimate."""
    verdict = judge(catalogue.claim(name), Subject(algorithm=mine.OwnStream))
    assert verdict.verdict in ("holds", "within-10", "attained", "inconclusive"), verdict.reason
    assert "Its runs cannot be repeated: it draws from a generator" in verdict.reason
    repeated = judge(catalogue.claim(name), Subject(algorithm=mine.Seeded))
    assert repeated.verdict in ("holds", "within-10", "attained", "inconclusive"), repeated.reason
    assert "cannot be repeated" not in repeated.reason


def test_a_fault_of_a_stream_of_its_own_is_found(mine):
    verdict = judge(catalogue.claim(REPEATED[1]), Subject(algorithm=mine.OwnStreamQuarter))
    assert (verdict.verdict, "cannot be repeated" in verdict.reason) == ("violated", True)


def test_what_draws_the_same_in_every_run_is_failed_unless_it_draws_nothing(mine):
    claim = catalogue.claim(REPEATED[0])
    verdict = judge(claim, Subject(algorithm=mine.OwnSeed))
    assert (verdict.verdict, verdict.catches_fault) == ("failed", True)
    assert "its draws ignore the given seed" in verdict.reason
    assert judge(claim, Subject(algorithm=mine.FirstComponents)).verdict == "violated"


def test_claims_come_from_the_command_line_or_from_the_class(mine):
    reference = "own_methods:MySpider"
    stated = load_algorithm_and_claims(reference, [])[1]
    assert [claim.name for claim in stated] == list(mine.MySpider.claims)
    given = ["shen2019-count-spiderg"]
    assert [claim.name for claim in load_algorithm_and_claims(reference, given)[1]] == given
    with pytest.raises(InputError, match="did you mean"):
        load_algorithm_and_claims(reference, ["shen2019-count-spidreg"])
    with pytest.raises(InputError, match="is not an algorithm"):
        load_algorithm_and_claims("own_methods:Stream", [])
