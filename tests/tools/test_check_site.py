"""The check of the built site finds what is wrong with one."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).with_name("check_site.py")
SPEC = importlib.util.spec_from_file_location("check_site", PATH)
check_site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_site)

GOOD = """<meta http-equiv="refresh" content="0; url=a/b.html"><a href="a/b.html#here">x</a>
<a href="https://elsewhere.org/">x</a><a href="#top">x</a><p id="top">x</p>
<img src="p.svg" alt="words"><script src="s.js?v=1"></script>"""


def site(folder, page=GOOD, style=""):
    (folder / "a").mkdir()
    (folder / "index.html").write_text(page)
    (folder / "a/b.html").write_text('<p id="here">x</p><a href="../index.html">x</a>')
    (folder / "s.css").write_text(style)
    for name in ("p.svg", "s.js"):
        (folder / name).write_text("")
    return list(check_site.faults(folder.resolve()))


def test_a_site_that_is_whole(tmp_path):
    assert site(tmp_path, style="a { b: url('data:image/png;base64,x') }") == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("b.html#here", "c.html#here", "not there"),
        ("b.html#here", "b.html#there", "no such place"),
        ("url=a/b.html", "url=b.html", "not there"),
        ("s.js?v=1", "https://cdn.org/s.js", "from outside"),
        ("s.js?v=1", "//cdn.org/s.js", "from outside"),
        ('alt="words"', "", "no words"),
        ("p.svg", "q.svg", "not there"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, right, wrong, said):
    (found,) = site(tmp_path, GOOD.replace(right, wrong))
    assert said in found


def test_a_style_that_loads_from_outside_and_an_empty_site(tmp_path):
    (found,) = site(tmp_path, style='@import "https://fonts.org/x.css";')
    assert "from outside" in found
    (tmp_path / "none").mkdir()
    (found,) = check_site.faults(tmp_path / "none")
    assert "no pages" in found
