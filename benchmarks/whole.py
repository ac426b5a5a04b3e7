"""Times for which a user waits: the command, a store of many runs, a verdict, a report."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

from benchmarks.timed import Timed, problem_of, run_of

RUNS = 500
LOGISTIC = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"

SPEC = f"""
title = "Small"
about = "What a report costs."
seeds = 3
measures = ["objective"]
targets = ["objective=0.65"]

[problems]
logistic = "{LOGISTIC}"

[algorithms]
full = "prox-gd[iterations=30,step=1.0]"
sampled = "prox-sgd[iterations=30,step=1.0,batch=5]"
"""


class InFolder:
    """Base class of benchmarks that work in a temporary folder."""

    def setup(self, *_):
        self.folder = Path(tempfile.mkdtemp())

    def teardown(self, *_):
        shutil.rmtree(self.folder)

    def pfbench(self, *arguments):
        """Run the command pfbench; if it fails, the benchmark fails."""
        subprocess.run(
            [sys.executable, "-m", "pfbench", *map(str, arguments)],
            cwd=self.folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )


class Command(InFolder, Timed):
    """Times of whole commands, from the start of the process to its end."""

    version = "1"

    def time_import(self):
        subprocess.run([sys.executable, "-c", "import pfbench"], check=True)

    def time_help(self):
        self.pfbench("--help")

    def time_list(self):
        self.pfbench("list", "algorithms")

    def time_solve(self):
        self.pfbench("solve", "-p", LOGISTIC, "-a", "prox-gd[iterations=3,step=0.1]")

    def time_verify(self):
        """Time the verification of a claim whose check itself takes a fifth of a second."""
        self.pfbench("verify", "qu2018-condg-distance", "--quick", "--store", self.folder / "new")
        shutil.rmtree(self.folder / "new")


class Report(InFolder, Timed):
    """Time of a report on six small runs that are all stored."""

    version = "1"
    repeat = (2, 3, 1.0)

    def setup(self):
        super().setup()
        (self.folder / "small.toml").write_text(SPEC, encoding="utf-8")
        self.time_report()

    def time_report(self):
        self.pfbench("report", "small.toml", "--store", "store", "-o", "report")


class Stored(InFolder, Timed):
    """Times of a store with 500 small runs."""

    version = "1"
    repeat = (2, 3, 1.0)
    number = 1

    def setup(self):
        from pfbench.runs.storage.content_keys import environment
        from pfbench.runs.storage.store import Store

        super().setup()
        problem = problem_of(LOGISTIC)
        self.run = run_of(problem, "prox-gd[iterations=30,step=0.1]", every=1)
        self.keys = [f"{number:064x}" for number in range(RUNS)]
        self.environment = environment()
        self.store = Store(self.folder / "store")
        self.time_put()
        self.store.listing()

    def time_put(self):
        for key in self.keys:
            self.store.put(key, self.run, self.environment)

    def time_get(self):
        for key in self.keys:
            self.store.get(key)

    def time_list(self):
        self.store.listing()

    def time_export(self):
        exported(self.store, "csv-long", self.folder / "csv")

    def peakmem_export(self):
        exported(self.store, "csv-long", self.folder / "csv")


def exported(store, form, folder):
    """Export a store, and delete what was written."""
    from pfbench.runs.storage.export import export

    export(store, store.rows(), form, folder)
    shutil.rmtree(folder)


class Packed(InFolder, Timed):
    """Times of a store with 2000 runs: ten problems, ten methods."""

    version = "1"
    repeat = (2, 3, 1.0)
    number = 1

    def setup(self):
        from benchmarks.many import make
        from pfbench.runs.storage.store import Store

        super().setup()
        make(self.folder / "store", 2000)
        self.store = Store(self.folder / "store")

    def time_list(self):
        self.store.listing()

    def time_export_csv(self):
        exported(self.store, "csv-long", self.folder / "csv")

    def time_export_benchopt(self):
        exported(self.store, "benchopt", self.folder / "benchopt")

    def time_report(self):
        self.pfbench("report", "--store", "store", "-o", "report")


class Strangers:
    """Time until a user's own SPIDER is compared with its source, in this process."""

    unit = "s"
    version = "1"
    timeout = 300

    def track_verdicts(self):
        """Return the processor seconds until the claims in `methods` on it are decided."""
        from benchmarks.strangers import held

        began = process_time()
        found = held("OwnProximal", 0, ("methods-*-prox-spiderboost",))
        if found.get("holds") != 5:
            raise ValueError(f"a right method does not hold: {found}")
        return process_time() - began
