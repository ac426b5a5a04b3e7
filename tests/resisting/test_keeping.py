"""The key of a certificate: all that decides what the algorithm is, and nothing else."""

import sys

import pytest

from pfbench.resisting import certify, check, contestant, keeping, write
from pfbench.resisting.contestants import again
from pfbench.resisting.oracle import frame

PLAIN = """
from pfbench.base.state import State
from pfbench.points import combine


class Steps:
    name, requires, deterministic = "steps", frozenset({"gradient", "lo"}), True
    output = "last"

    def __init__(self, iterations=10, step=0.1, rule="fixed"):
        self.iterations, self.step, self.rule = iterations, step, rule

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = combine(x, ask.lo(ask.gradient(x)), self.step)
            yield State(x)


STANDING = Steps(4, 0.3)
"""

FACTORY = """
from importlib import import_module


def steps(iterations=10, half=False, **more):
    # No import statement: that this module reaches the class cannot be seen in its source.
    return import_module("{plain}").Steps(iterations, 0.5 if half else 0.1, **more)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the modules of a plain class and of a function that makes it, named as no other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    plain = f"plain_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{plain}.py").write_text(PLAIN)
    (tmp_path / f"{plain}_factory.py").write_text(FACTORY.format(plain=plain))
    return plain, f"{plain}_factory"


def key(text, T=5):
    return keeping.key_of(contestant(text, frame(T)), T, None, 0)


def test_the_parameters_of_a_plain_class_are_part_of_selector_and_key(own):
    plain, _ = own
    texts = [
        f"{plain}:Steps{inside}"
        for inside in ("", "[iterations=10,step=0.1]", "[iterations=3,step=0.9]", "[iterations=3]")
    ]
    found = [contestant(text, frame(5)) for text in texts]
    assert [one.selector for one in found] == texts
    assert len({key(text) for text in texts}) == len(texts)
    for one in found:
        assert vars(again(one.selector)) == vars(one.algorithm)


@pytest.mark.parametrize(
    "inside",
    [
        "0:Steps[iterations=7,step=0.25,rule=open-loop]",
        "0:Steps[iterations=7,step=1e-07]",
        "0:STANDING",
        "1:steps",
        "1:steps[iterations=6,half=true]",
        "1:steps[iterations=6,rule=other]",
    ],
)
def test_a_certificate_makes_the_same_algorithm_again(own, tmp_path, inside):
    number, _, rest = inside.partition(":")
    one = contestant(f"{own[int(number)]}:{rest}", frame(5))
    assert vars(again(one.selector)) == vars(one.algorithm)
    write(certify(one, 5), tmp_path / "own.json")
    found = check(tmp_path / "own.json").certificate
    assert found.certified_for == "lo", found.findings
    assert found.algorithm == one.selector


@pytest.mark.parametrize("edited", [0, 1])
def test_an_edited_module_of_the_selector_or_of_the_class_changes_the_key(own, tmp_path, edited):
    text = f"{own[1]}:steps[iterations=4]"
    before = key(text)
    assert key(text) == before
    path = tmp_path / f"{own[edited]}.py"
    path.write_text(path.read_text() + "\n# edited\n")
    assert key(text) != before


def test_an_edited_module_of_somebody_does_not_change_the_key_of_the_catalogues(own, tmp_path):
    before = key("frank-wolfe[step=open-loop]")
    (tmp_path / f"{own[0]}.py").write_text("# edited\n")
    assert key("frank-wolfe[step=open-loop]") == before
