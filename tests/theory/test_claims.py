"""The catalogue of claims, and complexities on one scale."""

import re

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError
from pfbench.theory.catalogue import CLAIMS, PAPERS, claim
from pfbench.theory.claim import KINDS
from pfbench.verification.scales import COMPLEXITIES, CRITERIA, Complexity, Order, changes

ESTIMATORS = ("sg", "svrg", "spiderg", "casvrg", "caspiderg")
NAMES = {
    *(
        f"shen2019-{family}-{estimator}"
        for family in ("count", "thm3.1", "mse", "unbiased", "table1")
        for estimator in ESTIMATORS
    ),
    *("shen2019-rem3.1", "shen2019-crossover-casvrg", "shen2019-crossover-caspiderg"),
    *("shen2019-sagafw", "shen2019-rlrmr-sso", "shen2019-thm5.1"),
    *(f"lacoste2016-{name}" for name in ("descent", "thm1", "rate", "affine", "local")),
    *(f"qu2018-condg-{name}" for name in ("stop", "count", "distance")),
    *("qu2018-thm1-I", "qu2018-thm1-II", "qu2018-thm2", "qu2018-thm3"),
    *("qu2018-cor1", "qu2018-cor2", "qu2018-cor3"),
    *("li2019-thm1", "li2019-cor3", "li2019-thm1-fo", "li2019-thm1-lo", "li2019-stat"),
    *("li2019-thm2", "li2019-variance", "li2019-nonconvex", "li2019-lemma1"),
    *("wang2019-thm1", "wang2019-thm2", "wang2019-thm3", "wang2019-step"),
    *(
        f"wang2019-table1-{name}"
        for name in (
            *("prox-gd", "prox-sgd", "prox-svrg", "prox-saga", "prox-svrg-plus", "natasha15"),
            *("prox-spiderboost", "prox-spiderboost-online"),
        )
    ),
}


def test_the_claims_have_exactly_the_names_of_the_theory():
    assert len(NAMES) == 67
    assert set(CLAIMS) == NAMES


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_says_all_that_it_must(name):
    told = claim(name)
    assert told.kind in KINDS
    assert told.paper in PAPERS
    assert re.search(r"[a-z]+", told.source)
    assert len(told.statement) > 20
    assert told.family
    assert told.schedule
    assert told.algorithm in {*ALGORITHMS, ""}


def test_two_claims_are_disputed():
    disputed = {name for name, told in CLAIMS.items() if told.disputed}
    assert disputed == {"shen2019-sagafw", "li2019-nonconvex"}


def test_an_unknown_claim_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'li2019-thm1'"):
        claim("li2019-thm11")


def test_every_rate_has_its_complexity():
    assert set(COMPLEXITIES) == {name for name, told in CLAIMS.items() if told.kind == "rate"}


def test_orders_under_the_other_criteria():
    gap, square, norm = CRITERIA
    sliding = Complexity("ncgs", square, {"FO": Order(1.0), "LO": Order(2.0)})
    assert sliding.under(gap).orders == {"FO": Order(2.0), "LO": Order(4.0)}
    assert sliding.under(norm).orders == {"FO": Order(2.0), "LO": Order(4.0)}
    assert sliding.under(square) == sliding
    frank_wolfe = Complexity("frank-wolfe", gap, {"LO": Order(2.0)})
    assert frank_wolfe.under(square).orders == {"LO": Order(2.0)}
    assert frank_wolfe.under(norm).orders == {"LO": Order(4.0)}
    boost = Complexity("spiderboost", norm, {"SFO": Order(2.0, 0.5)})
    assert boost.under(square).orders == {"SFO": Order(1.0, 0.5)}
    assert boost.under(gap).orders == {"SFO": Order(2.0, 0.5)}


def test_the_comparison_of_sliding_with_frank_wolfe_changes_its_winner():
    """NCGS: 1/eps FO, 1/eps^2 LO on |G|^2 <= eps; FW 1/eps^2 for both on either scale."""
    found = {(c.comparison, c.count): c for c in changes()}
    gradients = found["qu2018 table 1", "FO"]
    assert gradients.as_published == "ncgs"
    assert gradients.under == {"V <= eps": "equal", "|G|^2 <= eps": "ncgs"}
    minimisations = found["qu2018 table 1", "LO"]
    assert minimisations.as_published == "equal"
    assert minimisations.under == {"V <= eps": "frank-wolfe", "|G|^2 <= eps": "equal"}
