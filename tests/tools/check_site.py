"""Whether a built site is whole: ``python tests/tools/check_site.py FOLDER``.

Each link inside of it leads to a file that is there, and to a place in it; nothing that a page
needs is loaded from elsewhere; each picture has words in its place.
"""

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
    ("object", "data"),
}


class Page(HTMLParser):
    """The places of a page, where its links lead, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links, self.loaded, self.silent = set(), [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.places |= {found[one] for one in ("id", "name") if found.get(one)}
        if tag in ("a", "area") and "href" in found:
            self.links.append(found["href"])
        if tag == "meta" and found.get("http-equiv") == "refresh":
            self.links.append(found["content"].partition("url=")[2])
        if tag == "img" and not found.get("alt"):
            self.silent.append(found.get("src", ""))
        for of, attribute in LOADED:
            if tag == of and found.get(attribute) and found.get("rel") not in ("index", "search"):
                self.loaded.append(found[attribute])


def is_outside(url):
    return bool(urlsplit(url).netloc)


def faults(folder):
    """Yield a sentence for each fault of a site."""
    pages = [one for one in sorted(folder.rglob("*.html")) if "_static" not in one.parts]
    if not pages:
        yield f"{folder} has no pages"
    page = cache(Page)
    for path in pages:
        where, here = path.relative_to(folder), page(path)
        yield from (f"{where} loads {url} from outside" for url in here.loaded if is_outside(url))
        yield from (f"{where}: the picture {url} has no words" for url in here.silent)
        for url in dict.fromkeys([*here.links, *here.loaded]):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{where} links to {url}, which is not there"
            elif target.suffix == ".html" and unquote(parts.fragment) not in page(target).places | {
                ""
            }:
                yield f"{where} links to {url}, and there is no such place"
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        for url in re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", text):
            if is_outside("".join(url)):
                yield f"{path.relative_to(folder)} loads {''.join(url)} from outside"


def main(arguments):
    found = list(faults(Path(arguments[0]).resolve()))
    print("\n".join(found) or "every link leads somewhere, and nothing is loaded from outside")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
