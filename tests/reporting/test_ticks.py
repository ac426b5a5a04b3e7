import pytest

from pfbench.reporting.panels import linear_ticks, log_ticks


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (2e-6, 4e-2, ["10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"]),
        (0.05, 20.0, ["0.1", "1", "10"]),
        (0.0068, 0.124, ["0.01", "0.02", "0.05", "0.1"]),
        (0.113, 0.299, ["0.15", "0.20", "0.25"]),
        (3.6, 6.2, ["4", "5", "6"]),
        (1e-30, 1.0, ["10⁻³⁰", "10⁻²⁴", "10⁻¹⁸", "10⁻¹²", "10⁻⁶", "1"]),
    ],
)
def test_logarithmic_axes_have_a_few_round_ticks(low, high, texts):
    assert [text for _, text in log_ticks(low, high)] == texts


@pytest.mark.parametrize("low", [-7.3, 0.0, 1e-12, 123.4, 8e4])
@pytest.mark.parametrize("width", [1e-9, 0.013, 0.99, 1.0, 47.0, 5e7])
def test_axes_have_between_two_and_six_ticks_inside_their_range(low, width):
    ticks = list(linear_ticks(low, low + width))
    assert 2 <= len(ticks) <= 6
    assert all(low - 1e-9 * width <= value <= low + width * (1 + 1e-9) for value, _ in ticks)
