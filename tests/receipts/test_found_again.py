"""A fault counts as found again by the rule by which it was found."""

from pfbench.receipts import worker_tasks

THEOREM = """
from pfbench.algorithms import ALGORITHMS
from pfbench.claims import Claim, Mutant, counts

class Right(ALGORITHMS["prox-gd"]):
    pass

class Raises(Right):
    def run(self, ask, x, rng):
        yield from super().run(ask, before, rng)

class Idle(Right):
    summary = "the same"

def steps(c):
    return {"iterations": 3, "step": 0.1}

COUNT = Claim(
    name="steps-count",
    statement="n T SFO",
    algorithm=Right,
    instances=("quadratic[rows=20,columns=3,source=synthetic]",),
    check=counts(lambda c, a: {"sfo": c.n * a.iterations, "po": a.iterations}, parameters=steps),
)
FAULTS = [Mutant.from_variant("raises", Raises, COUNT), Mutant.from_variant("idle", Idle, COUNT)]
"""


def test_a_fault_by_which_the_method_raises_is_found(tmp_path, monkeypatch):
    (tmp_path / "raising_theorem.py").write_text(THEOREM)
    monkeypatch.chdir(tmp_path)
    found = {
        fault: worker_tasks.fault_is_caught(
            "raising_theorem.py", "", fault, "steps-count", "quick", 0
        )
        for fault in ("raises", "idle")
    }
    assert found == {"raises": True, "idle": False}
