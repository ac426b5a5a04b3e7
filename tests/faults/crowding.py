"""Four sweeps at once in one store, beside every verb that reads or mends it.

As a program it does so many times: ``python tests/faults/crowding.py [TIMES]``.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from killing import Sweep, undisturbed

SWEEPS = 4
VERBS = (
    ("gc",),
    ("check",),
    ("list", "--json"),
    ("merge", "store", "--store", "merged"),
    ("export", "csv-wide", "-o", "wide-{}"),
    ("export", "csv-long", "-o", "long-{}"),
)


def crowd(folder, rng):
    """Run the sweeps and the verbs; return what is stored, what was merged, and how often each."""
    sweeps = [Sweep(folder, "--jobs", "1", "--log", f"log-{k}") for k in range(SWEEPS)]
    for sweep in sweeps:
        sweep.start()
    sweeps[0].reach(1)
    done = Counter()
    while any(sweep.process.poll() is None for sweep in sweeps):
        for verb in rng.sample(VERBS, len(VERBS)):
            words = [word.format(sum(done.values())) for word in verb]
            where = [] if "--store" in words else ["--store", "store"]
            command = [sys.executable, "-m", "pfbench", "store", *words, *where]
            outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            assert outcome.returncode == 0, (verb, outcome)
            assert "Traceback" not in outcome.stderr, (verb, outcome)
            done[verb[0]] += 1
    for sweep in sweeps:
        assert sweep.end() == (0, "")
    words = ["merge", "store", "--store", "merged"]
    subprocess.run([sys.executable, "-m", "pfbench", "store", *words], cwd=folder, check=True)
    merged = Sweep(folder)
    merged.kept = "merged"
    return sweeps[0].results(), merged.results(), done


def main(times=5):
    """Compare each crowded store, and what was merged from it, with an undisturbed one."""
    rng = random.Random()
    with tempfile.TemporaryDirectory() as folder:
        expected = undisturbed(Path(folder) / "undisturbed")
        for number in range(int(times)):
            stored, merged, done = crowd(Path(folder) / str(number), rng)
            same = stored == merged == expected
            told = ", ".join(f"{count} {verb}" for verb, count in done.items())
            print(f"{SWEEPS} sweeps beside {told}; same results: {same}", flush=True)
            if not same:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
