"""A planted fault as an edit of a method's source."""

import pickle

import numpy as np
import pytest

from pfbench.algorithms.proximal import ProxGD, ProximalMethod
from pfbench.base.errors import InputError
from pfbench.problems.linear_models import LeastSquares
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification import Mutant
from pfbench.verification.paper_tables import read_paper
from pfbench.verification.subject import EditedMethod

RESTS = Mutant.from_edits(
    ProxGD,
    ProximalMethod.move,
    "rests",
    "It makes no step.",
    {"g, self.step": "0.0 * g, self.step"},
)


@pytest.mark.parametrize(
    ("kind", "moves"), [(ProxGD, True), (RESTS.subject.algorithm_under_test(), False)]
)
def test_the_method_is_changed_apart_and_stays_as_it_is(kind, moves):
    problem = LeastSquares(*draw_synthetic_rows(rows=9, columns=3, seed=1), L2Ball(3, 1.0))
    x = problem.start()
    *_, last = kind(iterations=3, step=0.1).run(problem, x, np.random.default_rng(0))
    assert np.any(last.x != x) == moves


def test_a_text_must_stand_in_the_source_once():
    for text, times in (("no such text", 0), ("self", 2)):
        with pytest.raises(LookupError, match=f"'{text}' must occur once, not {times} times"):
            EditedMethod(
                ProxGD, edited_part=ProximalMethod.move, edits=((text, ""),)
            ).algorithm_under_test()


def test_texts_of_several_lines_in_one_source():
    edits = (
        ("T = ", "N = "),
        ('"""\n\n    name', '"""\n    name'),
        ("step=1.0 / L", "step=0.5 / L"),
    )
    with pytest.raises(LookupError, match="'T = ' must occur once, not 0 times"):
        EditedMethod(ProxGD, edited_part=ProxGD, edits=edits).algorithm_under_test()
    first, second = EditedMethod(ProxGD, edited_part=ProxGD, edits=edits[1:]).fault.change.edits
    assert (first.end_line - first.line, second.end_line - second.line) == (2, 0)
    made = EditedMethod(ProxGD, edited_part=ProxGD, edits=edits[1:]).algorithm_under_test()
    constants = LeastSquares(
        *draw_synthetic_rows(rows=9, columns=3, seed=1), L2Ball(3, 1.0)
    ).constants
    right, wrong = (kind.theory(0.1, constants(np.zeros(3))) for kind in (ProxGD, made))
    assert wrong.step == right.step / 2.0


def test_a_table_of_faults_names_known_methods_and_claims(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = '[a]\nmethod = "{}"\ndescription = ""\nclaims = []\nedits = {{ a = "b" }}\n'
    unknown = 'claims = ["paper-thm1"]'
    for name, faults, words in (
        ("paper_of_a_method", text.format("prox-gdd"), "did you mean 'prox-gd'"),
        ("paper_of_a_claim", text.format("prox-gd").replace("claims = []", unknown), "claim"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "theorem.py").write_text("CLAIMS = ()\n")
        (folder / "faults.toml").write_text(faults)
        with pytest.raises(InputError, match=words):
            read_paper(name, "A paper", "theorem")


def test_it_is_sent_to_other_processes_and_says_what_it_is():
    again = pickle.loads(pickle.dumps(RESTS.subject))
    assert again == RESTS.subject
    assert again.fault == RESTS.subject.fault
    assert RESTS.description == "It makes no step."
