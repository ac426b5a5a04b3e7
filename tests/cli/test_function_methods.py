"""Plain functions by MODULE:NAME, where the command takes a method."""

import pytest

ON = ("-p", "quadratic[source=synthetic,rows=40,columns=4,set=l2]")


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["conditional_gradient", "every_state"])
def test_a_function_is_checked_and_verified(pfbench, name):
    method = f"plain_methods:{name}"
    assert pfbench("check", method, "--json").json["passed"]
    found = pfbench("verify", "jaggi2013-thm1", "--algorithm", method, "--jobs", 0, "--json", "-")
    assert [one["verdict"] for one in found.json["results"]] == ["within-10"]


def test_a_function_is_run_with_its_parameters_and_compared(pfbench):
    method = "plain_methods:mini_batch[iterations=9,batch=3]"
    assert pfbench("solve", *ON, "-a", method, "--json").json["counts"]["sfo"] == 27
    assert "batch" in pfbench("compare", "plain_methods:mini_batch", "--grid").out
    outcome = pfbench("solve", *ON, "-a", "plain_methods:mini_batch[batch=3]")
    assert "mini_batch needs iterations: write plain_methods" in outcome.err
