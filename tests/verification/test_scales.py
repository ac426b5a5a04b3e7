"""Orders of complexities under each criterion of stationarity."""

from pfbench.verification.criteria import CRITERIA, EXCESS, Complexity, ComplexityOrder


def test_orders_under_the_other_criteria():
    gap_scale, square, norm = CRITERIA
    sliding = Complexity("ncgs", square, {"FO": ComplexityOrder(1.0), "LO": ComplexityOrder(2.0)})
    assert sliding.convert(gap_scale).orders == {
        "FO": ComplexityOrder(2.0),
        "LO": ComplexityOrder(4.0),
    }
    assert sliding.convert(norm).orders == {"FO": ComplexityOrder(2.0), "LO": ComplexityOrder(4.0)}
    assert sliding.convert(square) == sliding
    frank_wolfe = Complexity("frank-wolfe", gap_scale, {"LO": ComplexityOrder(2.0)})
    assert frank_wolfe.convert(square).orders == {"LO": ComplexityOrder(2.0)}
    assert frank_wolfe.convert(norm).orders == {"LO": ComplexityOrder(4.0)}
    boost = Complexity("spiderboost", norm, {"SFO": ComplexityOrder(2.0, 0.5)})
    assert boost.convert(square).orders == {"SFO": ComplexityOrder(1.0, 0.5)}
    assert boost.convert(gap_scale).orders == {"SFO": ComplexityOrder(2.0, 0.5)}


def test_a_rate_of_f_less_its_minimum_has_no_other_criterion_and_a_logarithm_is_said():
    away = Complexity("afw", EXCESS, {"LO": ComplexityOrder(0.0)})
    assert str(away.orders["LO"]) == "log(1/eps)"
    assert away.is_known_under(EXCESS)
    assert not any(away.is_known_under(criterion) for criterion in CRITERIA)
