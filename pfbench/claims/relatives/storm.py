"""Theorem 1 of Cutkosky, Orabona 2019 (STORM), as a formal development quotes it.

eta_t = k/(w + sum of G_i^2)^(1/3), a = c eta^2, k = b G^(2/3)/L, c = 28 L^2 + G^2/(7 L k^3), w =
max((4Lk)^3, 2 G^2, (ck/(4L))^3), M = 8 Delta/k + w^(1/3) sigma^2/(4 L^2 k^2) + k^2 c^2 ln(T+2)/(2
L^2). The paper itself was not compared, so the finding is *doubtful*. Runs cannot test it, as both
bounds are far above what runs measure. A claim tests the draw of the output.
"""

import math

from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios
from pfbench.verification.instruments.slopes import ConstantSlopeProblem

LENGTH_OF_RUN = 10**6


def coefficients_w_and_M(
    L: float, G: float, delta: float, sigma: float, b: int, T: int
) -> tuple[float, float]:
    """Return the coefficients w and M in STORM's printed and corrected bounds of |grad f|."""
    k = b * G ** (2.0 / 3.0) / L
    c = 28.0 * L**2 + G**2 / (7.0 * L * k**3)
    w = max((4.0 * L * k) ** 3, 2.0 * G**2, (c * k / (4.0 * L)) ** 3)
    noise = w ** (1.0 / 3.0) * sigma**2 / (4.0 * L**2 * k**2)
    return w, 8.0 * delta / k + noise + (k * c) ** 2 * math.log(T + 2.0) / (2.0 * L**2)


def compute_printed_bound(L: float, G: float, delta: float, sigma: float, b: int, T: int) -> float:
    """Return the bound of STORM's mean |grad f| as printed in a formalisation of the theorem.

    It is (w^(1/6) sqrt(2M) + 2 M^(3/4))/sqrt(T) + 2 (sigma/T)^(1/3).
    """
    w, M = coefficients_w_and_M(L, G, delta, sigma, b, T)
    first = (w ** (1.0 / 6.0) * math.sqrt(2.0 * M) + 2.0 * M**0.75) / math.sqrt(T)
    return float(first + 2.0 * sigma ** (1.0 / 3.0) / T ** (1.0 / 3.0))


def compute_corrected_bound(
    L: float, G: float, delta: float, sigma: float, b: int, T: int
) -> float:
    """Return the corrected bound of STORM's mean |grad f|, which scales with f.

    It is (sqrt(2M) (w + 2 T sigma^2)^(1/6) + 2 M^(3/4))/sqrt(T).
    """
    w, M = coefficients_w_and_M(L, G, delta, sigma, b, T)
    noisy = math.sqrt(2.0 * M) * (w + 2.0 * T * sigma**2) ** (1.0 / 6.0)
    return float((noisy + 2.0 * M**0.75) / math.sqrt(T))


def examine_scaling(effort: str, seed: int) -> ExaminationEvidence:
    """Examine whether STORM's bounds, printed and corrected, are multiplied by c if f becomes c f.

    A correct bound of |grad f| is multiplied by the same number.
    """

    def scale_gradient(source: object, factor: float, sigma: float) -> float:
        result = source(factor, factor, factor, factor * sigma, 1, LENGTH_OF_RUN)  # type: ignore[operator]
        return float(result) / factor

    units = (1e-3, 1.0, 1e3)
    as_printed = [scale_gradient(compute_printed_bound, unit, 0.5) for unit in units]
    as_corrected = [scale_gradient(compute_corrected_bound, unit, 0.5) for unit in units]
    quiet = [scale_gradient(compute_printed_bound, unit, 0.0) for unit in units]
    numbers = {
        f"bound over the unit {unit:g}, {subject}": value
        for subject, values in (("printed", as_printed), ("corrected", as_corrected))
        for unit, value in zip(units, values, strict=True)
    }
    ratio, right = max(as_printed) / min(as_printed), max(as_corrected) / min(as_corrected)
    evidence = compare_ratios(ratio, right, **numbers)
    return evidence.with_ratios_under_other_readings({"sigma = 0": max(quiet) / min(quiet)})


# --- the output -----------------------------------------------------------------------------------


def check_output_law(trial: Trial) -> Evidence:
    """Test that STORM draws its output uniformly if the parameter `output` is not given."""
    (slope,) = trial.claim.instances
    decision = trial.decide_if_output_is_uniform(slope(), alpha=0.8, floor=2.0)
    return Evidence(decision, {"outside": 0.0}, trial.choose_by_effort(100, 400))


OUTPUT = Claim(
    name="relatives-output-storm",
    source="Cutkosky, Orabona 2019, theorem 1, as a formal development quotes it",
    kind="identity",
    statement="where nothing is said of it the output is drawn uniformly among x_0 .. x_{T-1}, of "
    "which the theorem is",
    check=check_output_law,
    instances=(
        make_instance(ConstantSlopeProblem, n=4, g=1.0, gap=10.0, L=1.0).with_title("slope"),
    ),
    algorithm="storm",
    expected_seconds=(0.5, 2.0),
)
