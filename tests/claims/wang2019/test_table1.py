"""wang2019 table 1: what schedules are given besides, by hand."""

from pfbench.claims.wang2019 import table1


def test_what_schedules_are_given_by_hand():
    problem = table1.TABLE["prox-svrg-plus"].instances[0].example()
    constants = problem.constants(problem.start())
    assert table1.best_batch_parameters(0.1, constants) == {"batch": 16}  # 64^(2/3)
    assert table1.online_parameters(0.1, constants) == {"online": True}
    sizes = {"snapshot": 1600, "batch": 40, "period": 40}  # 4 sigma/epsilon, sigma = 1
    assert table1.online_spider_parameters(0.1, constants) == sizes
    assert table1.sigma_parameter_from_L_max(0.1, constants) == {"sigma": constants.L_max}
