"""Inner loops that stop too soon late in a run, or after many steps, are seen where they do."""

import re

import pytest
from judging import judge

import pfbench.algorithms.lan_sliding as lan_sliding
import pfbench.algorithms.sliding as sliding
from pfbench.claims.catalogue import CLAIMS
from pfbench.points import descent, keep, tilt
from pfbench.verification import Subject

pytestmark = pytest.mark.claims

RIGHT = sliding.condg


def seen(name, algorithm):
    found = judge(CLAIMS[f"methods-run-{name}"], Subject(algorithm))
    assert found.verdict == "violated", found.reason
    assert "an inequality of its step is exceeded" in found.reason
    return int(re.search(r"[iI]teration (\d+)", found.reason)[1])


def counted(kind):
    """Return a method that says at which step it is."""

    class Counted(kind):
        now = 0

        def run(self, ask, x, rng):
            for t, state in enumerate(super().run(ask, x, rng)):
                yield state
                Counted.now = t + 1
            Counted.now = 0

    return Counted


@pytest.mark.parametrize(
    ("room", "kind"), [(sliding, sliding.NCGSVR), (lan_sliding, lan_sliding.NCGSSpider)]
)
def test_a_tolerance_that_grows_late_is_seen(monkeypatch, room, kind):
    faulty = counted(kind)

    def loose(ask, l, u, lam, eta):  # noqa: E741
        return RIGHT(ask, l, u, lam, eta * (2.0 if faulty.now >= 900 else 1.0))

    monkeypatch.setattr(room, "condg", loose)
    # Not each of its inner loops goes on for so long.
    assert 900 <= seen(kind.name, faulty) <= 1300


def capped(ask, l, u, lam, eta):  # noqa: E741
    """As condg, with a cap of a thousand."""
    x = keep(u)
    for _ in range(1000):
        g = tilt(l, x, u, 1.0 / lam)
        v = ask.lo(g)
        gap, length = descent(g, x, v)
        if gap <= eta:
            return x
        x = sliding.combine(x, v, min(1.0, gap * lam / length**2))
    return x


@pytest.mark.parametrize("kind", [sliding.CGS, sliding.STORC])
def test_a_cap_of_a_thousand_is_seen(monkeypatch, kind):
    monkeypatch.setattr(sliding, "condg", capped)
    assert seen(kind.name, kind) > 0
