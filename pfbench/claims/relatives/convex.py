"""Frank-Wolfe along estimates for convex f, gamma_t = 2/(t+s): errors and last iterates.

The bounds are pfbench's. e_t = g_t - grad f(x_t), and a step is at most gamma_t D long:

    one-sfw            E|e_t|^2 <= (2 sigma^2 + 8 L^2 D^2)/(t+1)
    momentum-sfw       E|e_t| <= (sigma + 2.06 L_f D)/(t+1)^(1/3), in the root mean square
    page-fw-convex     E|e_t|^2 <= (2-p)/(pb) (L D gamma_t)^2
    spider-fw-convex   E|e_t|^2 <= (4 L D/(t+2))^2

f(x_{t+1}) - min f <= (1 - gamma_t)(f(x_t) - min f) + gamma_t D |e_t| + L D^2 gamma_t^2/2. So
f(x_t) - min f is at most the bound of each schedule. The bounds of f are loose, and those of the
errors are nearly attained.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from pfbench.claims.relatives.shared_instances import BALL
from pfbench.verification import Claim, Evidence, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.indefinite import noisy_ball
from pfbench.verification.statistics import Decision, decide_exact
from pfbench.verification.statistics import combine_parts_and_conditions as provided
from pfbench.verification.trial import Trial
from pfbench.verification.units import SQUARE, VALUE, formula

NOISY = make_instance(noisy_ball, d=4, n=64, radius=1.0, noise=30.0).with_title("noise")

TURNING = BALL.with_title("no noise")

STEPS = 200

PAGED = {"batch": 8, "refresh": 1.0 / 9.0, "delay": 45}

Error = Callable[..., float]
"""Bound of an error or a final value: a function of L, D, sigma^2, and of t or h0 and T."""


def one_sfw_error_bound(L: float, D: float, sigma2: float, t: int) -> float:
    """Return (2 sigma^2 + 8 L^2 D^2)/(t+1), one-sfw's bound of its estimate's error E|e_t|^2."""
    return (2.0 * sigma2 + 8.0 * (L * D) ** 2) / (t + 1.0)


def momentum_error_bound(L: float, D: float, sigma2: float, t: int) -> float:
    """Return momentum-sfw's bound of the squared gradient error E|e_t|^2.

    It is ((sigma + 2.06 L D)/(t+1)^(1/3))^2.
    """
    return float((math.sqrt(sigma2) + 2.06 * L * D) ** 2 / (t + 1.0) ** (2.0 / 3.0))


def page_error_bound(L: float, D: float, sigma2: float, t: int) -> float:
    """Return page-fw-convex's bound of the mean squared error of its gradient estimate.

    It is E|e_t|^2 <= (2-p)/(pb) (L D gamma_t)^2.

    The step is gamma_t = 2/(t+s).
    """
    b, p, s = PAGED["batch"], PAGED["refresh"], PAGED["delay"]
    return (2.0 - p) / (p * b) * (2.0 * L * D / (t + s)) ** 2


def spider_error_bound(L: float, D: float, sigma2: float, t: int) -> float:
    """Return (4 L D/(t+2))^2, spider-fw-convex's bound of the squared gradient error E|e_t|^2."""
    return (4.0 * L * D / (t + 2.0)) ** 2


def one_sfw_primal_bound(L: float, D: float, sigma2: float, h0: float, T: int) -> float:
    """Return one-sfw's bound of E f(x_T) - min f after T iterations.

    The bound is (4/3) D sqrt((2 sigma^2 + 8 L^2 D^2)/T) + 2 L D^2/(T+1).
    """
    error = 4.0 / 3.0 * D * math.sqrt(2.0 * sigma2 + 8.0 * (L * D) ** 2)
    return error / math.sqrt(T) + 2.0 * L * D**2 / (T + 1.0)


def momentum_primal_bound(L: float, D: float, sigma2: float, h0: float, T: int) -> float:
    """Return momentum-sfw's bound of E f(x_T) - min f after T iterations.

    The bound is (6/5) D (sigma + 2.06 L D)/T^(1/3) + 2 L D^2/(T+1).
    """
    error = 1.2 * D * (math.sqrt(sigma2) + 2.06 * L * D)
    return float(error / T ** (1.0 / 3.0)) + 2.0 * L * D**2 / (T + 1.0)


def page_primal_bound(L: float, D: float, sigma2: float, h0: float, T: int) -> float:
    """Return page-fw-convex's bound of E f(x_T) - min f after T iterations.

    The bound is ((s-1)(s-2) h0 + 4 C T)/((T+s-1)(T+s-2)) with C = L D^2 (1/2 + sqrt((2-p)/(pb))).
    """
    b, p, s = PAGED["batch"], PAGED["refresh"], PAGED["delay"]
    C = L * D**2 * (0.5 + math.sqrt((2.0 - p) / (p * b)))
    return ((s - 1.0) * (s - 2.0) * h0 + 4.0 * C * T) / ((T + s - 1.0) * (T + s - 2.0))


def spider_primal_bound(L: float, D: float, sigma2: float, h0: float, T: int) -> float:
    """Return 10 L D^2/(T+1), spider-fw-convex's bound of E f(x_T) - min f after T iterations."""
    return 10.0 * L * D**2 / (T + 1.0)


def check_errors_and_final_value(
    trial: Trial,
    *,
    squared_error_bound: Error,
    final_value_bound: Error,
    parameters: dict[str, Any],
) -> Evidence:
    """Test the mean squared gradient errors, and E f(x_T) - min f, against their bounds.

    The errors are tested by the mean over t of |e_t|^2 divided by its bound.
    """
    (item,) = trial.claim.instances
    problem = item.example()
    c = problem.constants(problem.start())
    existing = {"L": c.L_ms, "D": c.D, "sigma2": c.sigma2}
    errors = np.array([squared_error_bound(**existing, t=t) for t in range(STEPS)])
    last = final_value_bound(**existing, h0=c.delta, T=STEPS)
    algorithm = trial.make(iterations=STEPS, **parameters)

    @cache
    def ratios(seed: int) -> tuple[float, float]:
        squares, x = list[float](), problem.start()
        for step in trial.follow(problem, algorithm, seed=seed):
            deviation = step.estimate - problem.gradient(np.asarray(step.estimate_point))
            squares.append(float(deviation @ deviation))
            x = step.state.x
        h = quadratics.suboptimality(problem, x)
        return float(np.mean(np.array(squares) / errors)), h / last

    def decide_step(index: int) -> tuple[Decision, int]:
        looks = trial.choose_by_effort(80, 160)
        return trial.decide_mean_sequentially(
            lambda seed: ratios(seed)[index], purpose=item.name, batch=10, limit=looks
        )

    (error_decided, runs), (decided_f, _) = decide_step(0), decide_step(1)
    parts = {"error": error_decided, "f": decided_f}
    return Evidence(
        provided(parts, {"output": check_last_is_returned(trial)}), {"ratio": 1.0}, runs
    )


def check_last_is_returned(trial: Trial) -> Decision:
    """Decide whether a scheduled run returns its last iterate, to which the bound applies."""
    problem = trial.claim.instances[0].example()
    c = problem.constants(problem.start())
    output = getattr(trial.make_scheduled(c.delta, c), "output", "last")
    wrong = f"Its schedule has output={output}, but the bound is for the last iterate."
    return decide_exact(output == "last", wrong, {})


def _claim(name: str, source: str, words: tuple[str, str], error: Error, bound: Error) -> Claim:
    paged = dict(PAGED) if name.startswith("page") else {}
    return Claim(
        name=f"relatives-convex-{name}",
        source=source,
        kind="bound",
        statement=f"f convex: E|g_t - grad f(x_t)|^2 <= {words[0]}, and E f(x_T) - min f <= "
        f"{words[1]} (derived by pfbench)",
        check=partial(
            check_errors_and_final_value,
            squared_error_bound=error,
            final_value_bound=bound,
            parameters=paged,
        ),
        instances=(TURNING if "convex" in name else NOISY,),
        algorithm=name,
        assumptions=("f convex", "L = L_ms", "a compact set"),
        schedule="gamma_t = 2/(t+2)" if not paged else "gamma_t = 2/(t+s), s = 5/p",
        expected_seconds=(3.0, 6.0),
        formulas=(formula(error, SQUARE, sigma2=SQUARE), formula(bound, VALUE, sigma2=SQUARE)),
    )


ONE = _claim(
    "one-sfw",
    "Zhang et al. 2020, the rate; pfbench",
    ("(2 sigma^2 + 8 L^2 D^2)/(t+1)", "(4/3) D sqrt((2 sigma^2 + 8 L^2 D^2)/T) + 2 L D^2/(T+1)"),
    one_sfw_error_bound,
    one_sfw_primal_bound,
)

MOMENTUM = _claim(
    "momentum-sfw",
    "Mokhtari, Hassani, Karbasi 2020, the rate; pfbench",
    ("((sigma + 2.06 L D)/(t+1)^(1/3))^2", "(6/5) D (sigma + 2.06 L D)/T^(1/3) + 2 L D^2/(T+1)"),
    momentum_error_bound,
    momentum_primal_bound,
)

PAGE_CONVEX = _claim(
    "page-fw-convex",
    "Li, Bao, Zhang, Richtarik 2021, the estimate; pfbench",
    (
        "(2-p)/(pb) (L D gamma_t)^2",
        "((s-1)(s-2) h0 + 4 C T)/((T+s-1)(T+s-2)), C = L D^2 (1/2 + sqrt((2-p)/(pb)))",
    ),
    page_error_bound,
    page_primal_bound,
)

SPIDER_CONVEX = _claim(
    "spider-fw-convex",
    "Yurtsever, Sra, Cevher 2019, the rate; pfbench",
    ("(4 L D/(t+2))^2", "10 L D^2/(T+1)"),
    spider_error_bound,
    spider_primal_bound,
)
