"""Time until a user knows the verdicts on a method: ``python -m benchmarks.strangers [--jobs 2]``.

Two SPIDERs of `own_spider` are held by quick effort to all claims that name one, as `pfbench verify
--algorithm` does, with an empty store: seconds until the first verdict and until the last. With
`--jobs 0` all is done in this process, and what the processor took is that of the checks, too.
"""

from time import perf_counter

STARTED = perf_counter()

import argparse  # noqa: E402
import json  # noqa: E402
import resource  # noqa: E402
from collections import Counter  # noqa: E402

from pfbench.claims.catalogue import load_algorithm_and_claims, methods_first_then_quickest_key  # noqa: E402
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine  # noqa: E402
from pfbench.verification.session import Session  # noqa: E402
from pfbench.verification.subject import Subject  # noqa: E402


def held(name, jobs, chosen=()):
    """Verify the claims on a user-defined method; return the times and the counts of verdicts."""
    algorithm, claims = load_algorithm_and_claims(f"benchmarks.own_spider:{name}", chosen)
    began, came, verdicts = perf_counter(), [], Counter()

    def told(row, made):
        came.append(perf_counter() - began)
        verdicts[row.verdict] += 1

    order = methods_first_then_quickest_key("quick")
    engine = MultiProcessEngine(jobs) if jobs else SingleProcessEngine()
    session = Session(engine=engine, progress=told, order=order)
    session.verify(claims, Subject(algorithm=algorithm))
    return {"first verdict, s": came[0], "all, s": came[-1], **verdicts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    imported = perf_counter() - STARTED
    found = {name: held(name, jobs) for name in ("OwnProximal", "OwnFrankWolfe")}
    used = resource.getrusage(resource.RUSAGE_SELF)
    found |= {"imports, s": imported, "both, s": perf_counter() - STARTED}
    found["processor, s"] = used.ru_utime + used.ru_stime
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
