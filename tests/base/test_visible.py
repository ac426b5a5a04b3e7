"""Texts of strangers are shown, and nothing in them acts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfbench.base.escaping import escape_hidden, escape_spreadsheet


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nfwu-svrg[batch=3]", "nfwu-svrg[batch=3]"),
        ("Ψ(x) – 10⁻³ · 1\N{NARROW NO-BREAK SPACE}000 漢字", None),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("a\u2028b\u200b", r"a\u2028b\u200b"),
        ("\ud800", r"\ud800"),
        ("\ufffe\U000e0041", r"\ufffe\U000e0041"),
        ("\x00\x7f", r"\x00\x7f"),
    ],
)
def test_what_would_act_is_shown(text, shown):
    assert escape_hidden(text) == (text if shown is None else shown)


def test_what_is_kept_stays():
    assert escape_hidden("a\n\tb\x1b", "\n\t") == "a\n\tb\\x1b"


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_is_left_that_acts(text):
    shown = escape_hidden(text)
    assert not {unicodedata.category(one) for one in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert "".join(shown.split()) == shown or " " in shown or not shown.isascii()
    assert escape_hidden(shown) == shown
    shown.encode()


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_a_formula_is_a_text(text):
    assert escape_spreadsheet(text) == f"'{escape_hidden(text)}"


@pytest.mark.parametrize("text", ["", "a=1", "1-1", " x"])
def test_any_other_text_is_itself(text):
    assert escape_spreadsheet(text) == text
