"""The suite `norms`: what is on it fits the problems that it should, and what its LMO cost."""

import tomllib
from itertools import product

import pytest

import pfbench as pf
from pfbench.base.errors import RefusedError
from pfbench.cli.catalogue import suite_spec_paths
from pfbench.runs.planning.name_resolution import select_algorithm, select_problem

SUITE = tomllib.loads(suite_spec_paths()["norms"].read_text())
PROBLEMS = {
    label: select_problem(text.replace("{seed}", "0")) for label, text in SUITE["problems"].items()
}
SPECTRAL = {"spectral, exact", "spectral, Newton-Schulz", "spectral, quintic", "digits, quintic"}
NAMED = {
    "muon": SPECTRAL,
    "muon-nesterov": SPECTRAL,
    "signum": {"signs"},
    "normalised-sgd": {"lengths"},
}


def first_of(method):
    """A selector with the first value of each list."""
    text = method["selector"]
    for name, values in method.items():
        text = text.replace(f"{{{name}}}", str(values[0]))
    return text


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", SUITE["tune"]["methods"])
def test_a_method_runs_on_the_problems_that_have_its_norm(name):
    fits = set()
    for label, problem in PROBLEMS.items():
        try:
            algorithm = select_algorithm(first_of(SUITE["tune"]["methods"][name]))
            run = pf.solve(
                problem, algorithm, budget=pf.Budget(sfo=2 * problem.n), measures=["dual_norm"]
            )
        except RefusedError:
            continue
        if run.status == "budget":
            fits.add(label)
            assert run.trace["dual_norm"].iloc[0] > 1.0  # so that no target is met at once
    assert fits == NAMED.get(name, set(PROBLEMS))


def test_prices_are_those_of_the_minimisations():
    products = {label: problem.norm.matrix_products_per_lmo for label, problem in PROBLEMS.items()}
    assert products == dict.fromkeys(PROBLEMS, 0) | {
        "spectral, Newton-Schulz": 9,
        "spectral, quintic": 15,
        "digits, quintic": 15,
    }


def test_each_method_tries_as_many():
    for method in SUITE["tune"]["methods"].values():
        lists = [values for name, values in method.items() if name != "selector"]
        assert len(list(product(*lists))) == SUITE["tune"]["trials"]
