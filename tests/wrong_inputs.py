"""Wrong inputs, as data: what a new user might give, and words that the answer must have.

`COMMANDS` and `OWN` are command lines, `PYTHON` expressions, `METHODS` what a method does in its
loop. `tests/answers.py` gives them.
"""

from command_line import SMALL, SVRG

P, A = ("-p", SMALL), ("-a", SVRG)


def with_algorithm(parameters):
    return ("solve", *P, "-a", f"nfwu-svrg[{parameters}]")


def with_problem(parameters, name="robust-matrix-recovery"):
    return ("solve", "-p", f"{name}[{parameters}]", *A)


GOOD = {"batch": "7", "period": "4", "iterations": "10", "step": "0.1"}


def svrg(**changes):
    return with_algorithm(",".join(f"{k}={v}" for k, v in {**GOOD, **changes}.items()))


COMMANDS = {
    # names
    ("sovle",): "'solve'",
    ("frobnicate",): "frobnicate",
    ("data", "fetsh"): "'fetch'",
    ("info", "nfwu-svgr"): "'nfwu-svrg'",
    ("solve", "-p", "robust-matrix", *A): "'robust-matrix-recovery'",
    ("solve", *P, "-a", "frankwolfe"): "'frank-wolfe'",
    svrg(perod=3): "'period'",
    with_problem("rnk=3"): "'rank'",
    with_problem("source=digits,rank=3"): "rank",
    with_problem("source=digts"): "'digits'",
    with_problem("source=covertype", "nonconvex-logistic"): "breast-cancer",
    with_problem("set=linff", "nonconvex-logistic"): "'linf'",
    with_problem("source=movielens,edition=10mm"): "'10m'",
    ("solve", *P, *A, "--measure", "fw_gapp"): "'fw_gap'",
    ("solve", "-p", "nonconvex-logistic", *A, "--measure", "rmse_truth"): "rmse_truth",
    ("solve", *P, *A, "--stop", "gap=1"): "'fw_gap'",
    ("solve", *P, *A, "--budget", "foo=1"): "'fo'",
    svrg(output="lst"): "last",
    svrg(schedule="theroy"): "'theory'",
    ("data", "check", "a9b"): "'a9a'",
    ("report", "gradient-estimator"): "'gradient-estimators'",
    ("solve", *P, *A, "--sed", "1"): "--seed",
    # forms
    ("solve", *A): "--problem",
    ("solve", *P): "--algorithm",
    ("info",): "NAME",
    ("data", "fetch"): "pfbench data fetch a9a",
    ("solve", "-p", "", *A): "NAME[key=value",
    ("solve", "-p", "robust-matrix-recovery[rank=3", *A): "NAME[key=value",
    with_problem("rank="): "key=value",
    with_problem("=3"): "key=value",
    with_problem("rank"): "key=value",
    with_algorithm("batch=3,batch=4"): "batch is given twice",
    ("solve", *P, *A, "--budget", "sfo=1,sfo=2"): "sfo is given twice",
    ("solve", *P, *A, "--measure", "value,value"): "twice",
    ("solve", *P, *A, "--measure", "value,"): "NAME,NAME",
    ("solve", *P, *A, "--budget", "sfo"): "sfo",
    ("solve", *P, *A, "--budget", "sfo=many"): "many",
    ("solve", *P, *A, "--stop", "fw_gap"): "MEASURE=NUMBER",
    ("solve", *P, *A, "--stop", "fw_gap=abc"): "MEASURE=NUMBER",
    # types
    svrg(batch="abc"): "batch='abc' must be an integer",
    svrg(batch="2.5"): "batch=2.5 must be an integer",
    svrg(step="small"): "step='small' must be a number",
    svrg(batch="true"): "batch=True must be an integer",
    with_problem("source=5"): "source",
    with_problem("source=movielens,edition=3"): "edition",
    ("solve", *P, *A, "--seed", "1.5"): "--seed",
    ("solve", *P, *A, "--time-limit", "long"): "--time-limit",
    # ranges
    with_problem("rows=-3"): "rows=-3 must be at least 1",
    svrg(batch="-7"): "batch=-7 must be at least 1",
    svrg(iterations="0"): "iterations=0 must be at least 1",
    svrg(step="nan"): "step=nan must be finite",
    svrg(step="1.5"): "step=1.5 must be at most 1",
    svrg(step="0"): "step=0 must be greater than 0",
    with_problem("radius=inf"): "radius=inf must be finite",
    with_problem("rows=3,columns=3,rank=1,density=0.01"): "density",
    with_problem("rows=3,columns=3,rank=4"): "rank=4 must be at most 3",
    with_problem("sigma=1e-320"): "sigma",
    with_problem("noise=1e308"): "noise=1e+308",
    with_problem("rows=1000000000000,columns=1000000"): "too large",
    with_problem("rows=1" + 30 * "0"): "2^62",
    with_algorithm("epsilon=0"): "epsilon=0 must be greater than 0",
    with_algorithm("epsilon=1e-300"): "no finite values for epsilon=1e-300",
    with_algorithm("epsilon=1e6"): "must be at most L D",
    with_algorithm("batch=3"): "iterations, step, period",
    with_algorithm("schedule=theory"): "epsilon",
    ("solve", *P, *A, "--seed", "-1"): "--seed=-1 must be at least 0",
    ("solve", *P, *A, "--repeat", "0"): "--repeat=0 must be at least 1",
    ("solve", *P, *A, "--every", "0"): "--every=0 must be at least 1",
    ("solve", *P, *A, "--time-limit", "0"): "must be greater than 0",
    ("solve", *P, *A, "--time-limit", "nan"): "must be finite",
    ("solve", *P, *A, "--budget", "sfo=-5"): "sfo=-5",
    ("solve", *P, *A, "--budget", "sfo=nan"): "sfo=nan",
    ("solve", *P, *A, "--stop", "fw_gap=nan"): "fw_gap",
    ("report", "gradient-estimators", "--jobs", "-1"): "--jobs=-1 must be at least 0",
    ("solve", *P, "-a", "frank-wolfe"): "has no stopping rule",
    # files and folders
    ("solve", *P, *A, "--trace", "t.txt"): ".csv",
    ("solve", *P, *A, "--trace", "no/t.csv"): "create it first",
    ("solve", *P, *A, "--trace", "file/t.csv"): "no folder file",
    ("solve", *P, *A, "--trace", "folder.csv"): "is a folder",
    ("report", "nope.toml"): "nope.toml cannot be read",
    ("report", "folder.csv"): "folder.csv cannot be read",
    ("report", "damaged.toml"): "damaged.toml is not a TOML file",
    ("report", "empty.toml"): "the field algorithms is missing",
    ("report", "gradient-estimators", "-o", "file/out"): "-o",
    ("report", "gradient-estimators", "--store", "file/store"): "--store",
    with_problem("source=a9a", "nonconvex-logistic"): "run `pfbench data fetch a9a`",
    with_problem("source=movielens"): "run `pfbench data fetch movielens-latest-small`",
    with_problem("source=movielens,edition=no/ratings.csv"): "no/ratings.csv does not exist",
    with_problem("source=movielens,edition=bad/ratings.csv"): "not a table of numbers",
    with_problem(
        "source=w8a", "nonconvex-logistic"
    ): "is not the data set w8a: the file is damaged or truncated",
    ("data", "check", "w8a"): "w8a: the file is damaged or truncated",
}

FILES = {
    "file": "a file\n",
    "damaged.toml": 'title = "x\n[[study]',
    "empty.toml": 'problems = "x"\n',
    "misspelt.toml": 'title="x"\nproblms=["quadratic"]\nalgorithms=["frank-wolfe[iterations=3]"]\n',
    "seeds.toml": 'title="x"\nproblems=["quadratic"]\nalgorithms=["frank-wolfe"]\nseeds=0\n',
    "wrong_empty.py": "",
    "wrong_syntax.py": "def f(:\n    pass\n",
    "wrong_import.py": "import no_such_module_here\n",
    "wrong_raises.py": "raise ValueError('not today')\n",
    "wrong_exits.py": "raise SystemExit(3)\n",
    "wrong_circle.py": "from wrong_round import B\n\nA = 1\n",
    "wrong_round.py": "from wrong_circle import A\n\nB = 2\n",
    "wrong_sums.py": """
import numpy as np
from own_things import changed

NoNumbers = changed(gradient=lambda self, x: np.nan * x)
Single = changed(start=lambda self: np.zeros(3, np.float32))
""",
    "marked.toml": "\ufefftitle = 'x'\r\nproblms = ['quadratic']\r\n",
    "nul.toml": "title = 'x\0'\n",
    "deep.toml": "x = " + 9000 * "[" + 9000 * "]" + "\n",
    "wrong_mine.py": """
from dataclasses import dataclass

import pfbench as pf

THING = 3


@dataclass(frozen=True, kw_only=True)
class Mine(pf.Algorithm):
    name = "mine"
    summary = "Frank-Wolfe with a word misspelt"
    source = "mine"
    counts = "T iterations: FO T, SFO nT, LO T"
    requires = frozenset({"gradient", "lo"})
    deterministic = True

    iterations: int

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            x = pf.combine(x, ask.lo(ask.gradent(x)), 1 / (t + 2))
            yield pf.State(x)
""",
}
"""Files that the commands name, by their text."""

OWN = {
    # claims
    "verify no-such-claim": "unknown claim 'no-such-claim'",
    "verify shen2019-count-sgg": "did you mean 'shen2019-count-sg'",
    "verify --seed abc": "--seed",
    "faults --max-faults 0": "--max-faults=0 must be at least 1",
    "verify --quick --full": "cannot be combined: leave out one of the two",
    "worst-case --function-class n=4": "either a single FILE.py:NAME",
    "verify shen2019-count-sg --jobs -1": "--jobs=-1 must be at least 0",
    "verify shen2019-count-sg --table no/table.md": "there is no folder no; create it first",
    "verify shen2019-count-sg --json a.json": "leave out a.json, and append > FILE.json",
    "verify shen2019-count-sg --algorithm frank-wolfe": "FILE.py:NAME or MODULE:NAME",
    "verify shen2019-count-sg --algorithm wrong_mine.py:THING": "run(ask, x, rng)",
    "verify wrong_empty.py": "states no claim: make one",
    "verify wrong_syntax.py": "SyntaxError: invalid syntax",
    "verify wrong_import.py": "no module no_such_module_here",
    "verify wrong_raises.py": "ValueError: not today",
    "verify wrong_exits.py": "SystemExit: 3",
    "verify nowhere.py": "there is no file nowhere.py",
    "verify wrong_circle.py": "circular import",
    "verify wrong_folder.py": "wrong_folder.py is a folder: give the path of a file",
    "verify '*-nothing'": "no claim fits '*-nothing'",
    "verify ''": "unknown claim ''",
    "verify methods-schedule-afw": "choose one of methods-run-afw, methods-law-afw",
    "verify shen2019-count-sg --store file/store": "the store file/store cannot be created",
    "verify shen2019-count-sg --seed 1e9": "--seed",
    "explain '*'": "unknown claim '*'",
    "falsify": "name a claim",
    "falsify no-claim": "unknown claim 'no-claim'",
    "falsify --seconds 0 no-claim": "--seconds=0.0 must be greater than 0",
    "falsify --family cube no-claim": "choose one of",
    "falsify shen2019-count-sg --jobs 0": "only bounds and error laws can be searched",
    "falsify shen2019-count-sg --replay nowhere.json": "cannot be read",
    "faults no-claim": "unknown claim 'no-claim'",
    "power no-claim": "unknown claim 'no-claim'",
    "explain": "NAME",
    "explain shen2019-mse-svgr": "did you mean 'shen2019-mse-svrg'",
    "power --max-check-seconds -1": "--max-check-seconds=-1.0 must be greater than 0",
    "worst-case no-case": "unknown worst case 'no-case'",
    # comparisons, sweeps, archives
    "compare": "give a METHOD",
    "compare frank-wolf": "did you mean 'frank-wolfe'",
    "compare frank-wolfe --suite nowhere.toml": "nowhere.toml cannot be read",
    "compare frank-wolfe --price sfo=-1": "sfo='-1' must be a number above 0",
    "compare frank-wolfe --price foo=1": "did you mean 'fo'",
    "compare frank-wolfe --price lo": "must be a number above 0, as in",
    "run": "SPEC.toml",
    "run nowhere.toml": "nowhere.toml cannot be read",
    "run misspelt.toml": "did you mean 'problems'",
    "run seeds.toml": "seeds=0 must be at least 1",
    "run file": "is not a TOML file",
    "run marked.toml": "did you mean 'problems'",
    "run nul.toml": "is not a TOML file",
    "run deep.toml": "deep.toml",
    "run wrong_folder.py": "wrong_folder.py cannot be read",
    "compare ''": "NAME",
    "archive make nowhere.toml": "missing option",
    "archive make nowhere.toml -o a.zip": "nowhere.toml",
    "archive check file": "is not a complete pfbench archive",
    "archive check nowhere.zip": "nowhere.zip is not a complete pfbench archive",
    "archive check folder.csv": "folder.csv",
    "archive collect nowhere": "has no archive",
    "archive make page-count -o a.zip": "must be a SPEC.toml, FILE.py",
    "archive make a.py -o none/a.zip": "no folder none",
    "archive make a.toml -o a.zip --full": "apply only to claims",
    "store list --store file": "there is no store in file",
    "store merge nowhere": "there is no store in nowhere",
    "store export csv-lng -o out": "did you mean 'csv-long'",
    "adversary": "give exactly one of --horizon and --check",
    "adversary -a frank-wolfe --horizon 0": "--horizon=0 must be at least 1",
    "adversary -a frank-wolfe --horizon 10 --dimension 5": "above 2T = 20",
    "adversary --check nowhere.json": "nowhere.json cannot be read",
    "adversary -a frank-wolfe --horizon 5 --check c.json": "exactly one of --horizon",
    "adversary --horizon 5": "needs --algorithm",
    "adversary -a frank-wolfe --check c.json": "--check takes none",
    "adversary -a frank-wolfe --horizon 5 --seed -1": "--seed=-1",
    "adversary -a frank-wolfe -a ncgs --horizon 5 -o c.json": "one algorithm",
    "adversary -a frank-wolfe --horizon 5 -o no/c.json": "no folder no",
    "adversary -a frank-wolfe --horizon 5 -o .": "is a folder",
    "adversary -a frank-wolfe --horizon 5 -o c.npz": ".json",
    "adversary -a sfw --horizon 5": "randomised",
    "adversary -a frank-wolfe --horizon 5 --fixed-seed 3": "is deterministic",
    "adversary -a sfw --horizon 5 --fixed-seed -1": "fixed-seed",
    "adversary -a sagafw[step=0.1,batch=1] --horizon 5 --fixed-seed 1": "queries table",
    "adversary -a muon[step=0.1,batch=1,beta=0.5] --horizon 5 --fixed-seed 1": "queries norm",
    "adversary -a nfwu-casvrg --horizon 5": "hessian",
    # what one brings
    "new algoritm x": "did you mean 'algorithm'",
    "new algorithm 'my method'": "letters and digits",
    "new algorithm ../x": "letters and digits",
    "new algorithm 'ünïcode'": "letters and digits",
    "new algorithm class": "choose another NAME",
    "new algorithm numpy": "choose another NAME",
    "check l3": "did you mean 'l2'",
    "check l1 --kind sett": "did you mean 'set'",
    "check frank-wolfe --problem quadratc": "did you mean 'quadratic'",
    "check ''": "NAME",
    "check wrong_mine.py": "FILE.py:NAME",
    "check wrong_mine.py:Min": "did you mean 'Mine'",
    "check wrong_mine.py:THING": "of no kind that can be checked",
    "solve -p quadratic -a wrong_mine.py": "FILE.py:NAME",
    "solve -p quadratic -a wrong_mine.py:Mine": "wrong_mine.py:Mine[iterations=...]",
    "solve -p quadratic -a 'wrong_mine.py:Mine[iteration=3]'": "did you mean 'iterations'",
    "solve -p quadratic -a no_module_here:Mine": "there is no module no_module_here",
    "solve -p quadratic -a wrong_empty.py:Mine": "wrong_empty.py has no Mine",
    "solve -p quadratic -a ../nowhere/mine.py:Mine": "there is no file ../nowhere/mine.py",
    "solve -p quadratic -a wrong_sums.py:Single --json": "is not an algorithm",
    "solve -p wrong_sums.py:NoNumbers -a 'frank-wolfe[iterations=3]'": "NaN or infinite entries",
    "solve -p wrong_sums.py:Single -a 'frank-wolfe[iterations=3]'": "is an array of float32",
    "solve -p wrong_mine.py:THING -a frank-wolfe": "wrong_mine.py:THING is not a problem",
    # selectors
    "solve -p frank-wolfe -a quadratic": "unknown problem 'frank-wolfe': choose one of",
    "solve -p birkhoff -a frank-wolfe": "unknown problem 'birkhoff': choose one of",
    "solve -p 'quadratic[set=[1]]' -a frank-wolfe": "unknown set '[1]'",
    "solve -p 'quadratic[set=nuclear]' -a frank-wolfe": "is for matrices",
    "solve -p 'log-cosh[set=none]' -a frank-wolfe": "it has no feasible set",
    "solve -p quadratic -a 'frank-wolfe(iterations=3)'": "write NAME or NAME[key=value",
    "solve -p quadratic -a 'frank-wolfe[iterations=[1,2]]'": "must be an integer",
    "solve -p quadratic -a 'frank-wolfe[iterations=3,step=fast]'": "unknown value for step 'fast'",
    "solve -p quadratic -a prox-spiderboost": "prox-spiderboost lacks",
    "solve -p quadratic -a 'ünïcode[iterations=3]'": "write NAME or NAME[key=value",
    "solve -p 'quadratic[rows=1e300]' -a frank-wolfe": "rows=1e+300 must be an integer",
    "solve -p 'quadratic[radius=1e999]' -a frank-wolfe": "radius=inf must be finite",
    "solve -p quadratic -a frank-wolfe --budget 100": "write COUNT=NUMBER",
    "solve -p quadratic -a frank-wolfe --stop 0.1": "write MEASURE=NUMBER",
    "solve --problm quadratic": "no such option: --problm",
    "list algorithm": "did you mean 'algorithms'",
    "info quadratic frank-wolfe": "unexpected extra argument",
}
"""More command lines, and what must be said: exit status 2."""

FAILING = {
    "solve -p quadratic -a 'wrong_mine.py:Mine[iterations=3]'": "did you mean 'gradient'",
    "check wrong_mine.py:Mine": "did you mean 'gradient'",
}
"""What runs and fails: exit status 1."""

PYTHON = {
    'pf.problem("quadratc")': "did you mean 'quadratic'",
    "pf.problem(3)": "must be a name, as in 'additive', not 3",
    'pf.problem("quadratic", row=3)': "did you mean 'rows'",
    'pf.problem("quadratic", rows="20")': "rows='20' must be an integer",
    'pf.problem("quadratic", set=[1])': "set=[1] must be a string, as in 'l1'",
    'pf.problem("quadratic", set="nuclear")': "is for matrices",
    'pf.problem("quadratic", radius=-1)': "radius=-1 must be greater than 0",
    'pf.problem("quadratic[rows=3]", rows=4)': "rows is given twice",
    'pf.problem("quadratic", source="mine.csv")': "unknown value for source 'mine.csv'",
    'pf.problem("quadratic", rows=10**40)': "rows=1",
    'pf.problem("quadratic", rows=float("inf"))': "rows=inf",
    'pf.problem("quadratic\\n[rows=3")': "NAME[key=value",
    'pf.algorithm("")': "unknown algorithm ''",
    'pf.algorithm("frank-wolf")': "did you mean 'frank-wolfe'",
    'pf.algorithm("nfwu-sg", bach=3)': "did you mean 'batch'",
    "pf.algorithm(pf.Algorithm)": "must be a name, as in 'afw', not the class Algorithm",
    'pf.solve(problem, pf.algorithm("nfwu-sg", epsilon=-1))': "epsilon=-1 must be greater than 0",
    'pf.solve(problem, pf.algorithm("nfwu-sg", epsilon="small"))': "epsilon='small'",
    'pf.solve("quadratic", "frank-wolf")': "did you mean 'frank-wolfe'",
    'pf.solve("quadratic", "quadratic")': "unknown algorithm 'quadratic': choose one of",
    "pf.solve(method, problem)": "an AlgorithmChoice is not a problem",
    "pf.solve(f, method)": "pf.adapters.from_functions",
    "pf.solve(problem, f)": "or a function of (ask, x, rng)",
    "pf.solve(problem, 3)": "3 is not an algorithm: give a name",
    "pf.solve(None, method)": "None is not a problem: give a name",
    'pf.solve(problem, "nfwu-sg[batch=3]")': "nfwu-sg lacks iterations, step",
    'pf.solve(problem, "frank-wolfe")': "has no stopping rule: set iterations",
    'pf.solve(problem, "nowhere.py:Mine")': "there is no file nowhere.py",
    "pf.solve(problem, method, budget=100)": "write pf.Budget(sfo=100)",
    'pf.solve(problem, method, budget="100")': "write COUNT=NUMBER",
    'pf.solve(problem, method, budget={"foo": 1})': "did you mean 'fo'",
    'pf.solve(problem, method, budget={"sfo": "many"})': "sfo='many' must be a number",
    'pf.solve(problem, method, budget={"sfo": -1})': "sfo=-1 must be at least 0",
    "pf.solve(problem, method, stop=0.1)": 'pf.Stop("fw_gap", 0.01)',
    'pf.solve(problem, method, stop="0.1")': "write MEASURE=NUMBER",
    'pf.solve(problem, method, stop="gap=1")': "did you mean 'fw_gap'",
    'pf.solve(problem, method, measures="fwgap")': "did you mean 'fw_gap'",
    "pf.solve(problem, method, measures=5)": "measures=5 must be a name",
    'pf.solve(problem, method, measures={"mine": 3})': "a function of (problem, state), not 3",
    "pf.solve(problem, method, measures=[f])": "must be a string, as in 'fw_gap'",
    'pf.solve(problem, method, measures={"m": lambda p, s: "x"})': "returned 'x'",
    'pf.solve(problem, method, measures={"m": lambda p: 1.0})': "the measure m failed: TypeError",
    "pf.solve(problem, method, seed=-1)": "seed=-1 must be at least 0",
    'pf.solve(problem, method, seed="x")': "seed='x' must be an integer",
    "pf.solve(problem, method, seed=1.5)": "seed=1.5 must be an integer",
    "pf.solve(problem, method, seed=True)": "seed=True must be an integer",
    "pf.solve(problem, method, seed=np.array([1, 2]))": "seed=",
    "pf.solve(problem, method, every=2.5)": "every=2.5 must be an integer",
    "pf.solve(problem, method, time_limit=float('nan'))": "must be finite",
    "pf.solve(problem, method, start=np.full(4, np.nan))": "NaN or infinite entries",
    "pf.solve(problem, method, start=[0, 0, 0, 0])": "start",
    "pf.solve(problem, method, every=0)": "every=0 must be at least 1",
    "pf.solve(problem, method, time_limit=0)": "time_limit=0 must be greater than 0",
    "pf.solve(problem, method, start=np.ones(3))": "of shape (3,)",
    "pf.solve(problem, method, start=np.full(4, 9.0))": "project it first",
    "pf.solve(problem, lambda ask, x, rng: None, isolated=True)": "a class that is defined",
    "pf.combine(np.ones(2), np.ones(3), 0.5)": "shape (2,)",
    'pf.combine(np.ones(2), np.ones(2), "half")': "a weight must be a number",
    "pf.inner(np.ones(2), None)": "inner(g, x) is not defined",
    "pf.keep(3)": "an array or a factored matrix, not 3",
    'pf.Budget(sfo="many")': "sfo='many' must be a number",
    'pf.Stop("fw_gap", float("nan"))': "must be finite",
    "pf.Sample(np.array([0, 0]), np.array([1]))": "same length",
    "pf.Sample(np.array([0]), np.array([-1]))": "must not be negative",
    'pf.check("l3")': "did you mean 'l2'",
    "pf.check(3)": "of no kind that can be checked",
    'pf.verify("no-claim")': 'a list of claims, as in ["shen2019-count-sg"]',
    "pf.verify([3])": "names must be strings, got 3",
    "pf.verify([''])": "unknown claim ''",
    'pf.verify(["shen2019-count-sg"], effort="fast")': "choose one of full, quick",
    'pf.fit_rate([], targets=[0.5], measure="fw_gap", count="lo")': "at least one run",
    'pf.fit_rate([run], targets=[0.5], measure="gap", count="lo")': "measures=['gap']",
    'run.first_value("fw_gap", "small")': "target='small' must be a number",
    'run.plot("gap")': "did you mean 'fw_gap'",
    'pf.adapters.from_functions(f, g, lmo, start="zero")': "start must be an array of numbers",
    "pf.adapters.from_functions(f, f, lmo, start=np.zeros(3))": "must have shape (3,), not (1,)",
    "pf.adapters.from_functions(3, g, lmo, start=np.zeros(3))": "'int' object is not callable",
    "pf.adapters.from_functions(f, g, f, start=np.zeros(3))": "let lmo return a vertex",
}
"""Expressions, and what must be said by an error of pfbench, or as the reason why a run ended."""

METHODS = {
    "g = ask.gradent(x)": "did you mean 'gradient'",
    "g = ask.gradient()": "missing 1 required positional argument",
    "x = ask.lo(x[:2])": "is queried",
    "x = ask.lo(ask.gradient(x[:2]))": "is queried",
    "x = x - 100 * ask.gradient(x)": "outside",
    "x = x * np.nan": "finite",
    "x = x[:2]": "shape",
    "x = list(x)": "list",
    "x = x.astype(np.float32)": "float32",
    "x = x + 1j": "complex",
    "x = ask.lo(ask.gradient(x) * np.nan)": "finite",
    "yield from mine(ask, x, rng)": "RecursionError",
    "x -= 0.01 * ask.gradient(x)": "in place",
    "raise ValueError('a step of 0')": "ValueError: a step of 0",
    "x = ask.lo(ask.batch([0, 9], x))": "a sample must be an integer array",
    "x = ask.lo(ask.batch(3, x))": "a sample must be an integer array",
    "x = ask.lo(ask.batch(np.array([0, 99]), x))": "is outside 0 .. n - 1",
    "x = ask.lo(ask.batch(np.array([0.5]), x))": "a vector of integers",
    "h = ask.hessian(x).product(x, np.ones(2))": "is queried",
    "x = pf.combine(x, ask.lo(ask.gradient(x)), 2)": "outside the feasible set",
    "x = pf.combine(x, None, 0.5)": "must be an array of numbers or a vertex, not None",
    "x = pf.combine(x, x, 1 / t)": "ZeroDivisionError",
    "x = ask.lo(gradient)": "NameError",
    "yield x": "State",
    "yield None": "State",
    "yield pf.State()": "missing 1 required positional argument",
    "yield pf.State(x, x[:1])": "shape",
    "return": "yield",
    "exit(3)": "SystemExit: 3",
}
"""What a method does in its loop, and what is said of the run."""
