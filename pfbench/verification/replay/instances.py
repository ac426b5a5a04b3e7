"""The problems on which the runs of a method are compared with its reference."""

from functools import partial
from typing import Any

from pfbench.verification.instances import Instance, instance
from pfbench.verification.replay.problems import BUILDERS, MATRIX, Shape

VECTOR: Shape = (4,)
SHAPES = (VECTOR, MATRIX)

_NORMS = ("spectral", "l2", "linf")


def kinds_of(method: Any) -> list[dict[str, Any]]:
    """Return the kinds of problems that a method is for, each as a builder with its options."""
    requires = method.requires
    if "norm" in requires:
        norm = next((one for one in _NORMS if f"norm {one}" in requires), "")
        return (
            [{"kind": "normed", "norm": norm}]
            if norm
            else [{"kind": "normed", "norm": "linf"}, {"kind": "normed", "norm": "spectral"}]
        )
    if "polytope" in requires:
        return [{"kind": "octahedron"}, {"kind": "cube"}]
    if "smooth" in requires:
        return [{"kind": "space"}]
    if "lo" in requires:
        return [{"kind": "ball"}, {"kind": "octahedron"}]
    return [{"kind": "ball"}] if "set" in requires else [{"kind": "ball"}, {"kind": "penalised"}]


def short_instances(method: Any, shape: Shape = VECTOR, **options: Any) -> list[Instance]:
    """Return small problems of a shape for a method: one for each kind of set."""
    return [_instance({**kind, **options}, shape) for kind in kinds_of(method)]


def _instance(options: dict[str, Any], shape: Shape) -> Instance:
    kind, *names = options.pop("kind"), *(f"{k}={v}" for k, v in options.items())
    if kind == "normed" and len(shape) == 1:
        shape = (max(6, shape[0] + shape[0] % 2),)
    title = " ".join([kind, "x".join(map(str, shape)), *names])
    return instance(partial(BUILDERS[kind], shape), **options).called(title)
