"""What of the machine a key covers."""

import ast
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pfbench
from pfbench.runs.planning.plan import PlannedRun, resolve
from pfbench.runs.storage import content_keys, run_keys


def pool(path, version):
    return {
        "user_api": "blas",
        "internal_api": "openblas",
        "version": version,
        "architecture": "Haswell",
        "filepath": path,
    }


OURS = pool("/site-packages/numpy.libs/libscipy_openblas64_.so", "0.3.31")


def test_a_library_without_metadata_is_absent(monkeypatch):
    monkeypatch.setattr(content_keys, "_LIBRARIES", ("numpy", "no-such-library-of-anybody"))
    assert content_keys.environment()["no-such-library-of-anybody"] == "absent"


@pytest.mark.parametrize(
    ("path", "is_used"),
    [
        ("/site-packages/scipy.libs/libopenblas.so", True),
        ("/usr/lib/blas.so", True),
        ("/site-packages/scs.libs/libopenblas.so", False),  # of a library that no run uses
    ],
)
def test_another_blas_of_numpy_or_scipy_is_another_environment(monkeypatch, path, is_used):
    monkeypatch.setattr(content_keys, "threadpool_info", lambda: [OURS])
    alone = content_keys.environment()
    monkeypatch.setattr(content_keys, "threadpool_info", lambda: [OURS, pool(path, "0.3.15")])
    assert (content_keys.environment() != alone) == is_used


@pytest.mark.parametrize(
    ("module", "reached"),
    [
        # These import names of packages that load them on first use.
        ("pfbench.verification.instruments.indefinite", "pfbench.sets.balls"),
        ("pfbench.verification.instruments.indefinite", "pfbench.sets.box"),
        ("pfbench.runs.planning.name_resolution", "pfbench.problems.base"),
    ],
)
def test_a_name_that_its_package_loads_on_first_use_is_reached(module, reached):
    assert reached in content_keys.reachable_files_by_module(frozenset({module}))


def test_the_imports_of_own_files_are_those_that_a_parser_finds():
    for path in [*map(str, Path(pfbench.__file__).parent.rglob("*.py"))][::4]:
        own, parsed = (content_keys._import_statements(path, 0, is_own) for is_own in (True, False))
        assert {*map(ast.unparse, own)} == {*map(ast.unparse, parsed)}, path


def test_every_home_of_a_name_is_a_module_that_has_it():
    for package in ("pfbench", "pfbench.problems", "pfbench.sets"):
        homes = content_keys._modules_of_lazy_names(package)
        assert homes
        for name, home in homes.items():
            assert hasattr(import_module(home), name)


@pytest.mark.parametrize(
    ("problem", "home"),
    [
        ("quadratic[columns=4,set=permutahedron]", "submodular"),
        ("quadratic[columns=4,set=linf]", "balls"),
        ("quadratic[columns=4,penalty=group,groups=2]", "penalties"),
        ("multiclass-logistic[source=synthetic,set=spectral,radius=1]", "matrix_balls"),
    ],
)
def test_a_run_reaches_the_set_and_the_penalty_of_its_problem(problem, home):
    plan = PlannedRun(problem, "prox-gd[iterations=2,step=0.1]", 0, (), 1)
    reached = content_keys.reachable_files_by_module(run_keys.root_modules(plan, resolve(plan)))
    assert f"pfbench.sets.{home}" in reached


@given(st.integers(0, 2**63), st.dictionaries(st.text(), st.integers() | st.text()))
def test_the_key_of_a_seed_is_that_of_the_whole_content(seed, content):
    environment = {"python": "3", "seed": "4"}
    whole = content_keys.content_key({**content, "seed": seed}, "digest", environment)
    assert content_keys.content_key_by_seed(content, "digest", environment)(seed) == whole
