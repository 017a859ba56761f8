"""What every page must be: well-formed, self-contained, labelled."""

import html.parser
import re
from itertools import pairwise

_VOID = {"meta", "input", "br", "link", "wbr"}
_LOADING = {"src", "srcset", "background", "action", "formaction", "poster", "data", "ping", "xlink:href"}
# What the content model allows; whatever else a paragraph holds would end it.
_PHRASING = {"a", "b", "bdi", "code", "span", "strong", "del", "ins", "wbr"}


class Page(html.parser.HTMLParser):
    """Reads a page strictly: every element is closed in its turn, every id is given once."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.ids: set[str] = set()
        self.texts: list[tuple[str, str]] = []  # element, text
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        if self._open and self._open[-1] in ("p", "h1", "h2", "h3", "h4", "h5"):
            assert tag in _PHRASING, (self._open, tag)
        identity = dict(attrs).get("id")
        if identity is not None:
            assert identity not in self.ids
            assert not re.search(r"\s", identity)
            self.ids.add(identity)
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def text(self) -> str:
        words = (data for tag, data in self.texts if tag not in ("style", "script"))
        return " ".join(" ".join(words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def check_page(text: str) -> Page:
    """Raises AssertionError where the page is not what every page must be."""
    assert text.startswith("<!DOCTYPE html>\n<html")
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "use", "image", "foreignobject"), tag
        for name, value in attributes.items():
            assert name not in _LOADING, (tag, name)
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)
            assert name != "href" or (value or "").startswith("#"), (tag, value)
    style = "".join(data for tag, data in page.texts if tag == "style")
    assert not re.search(r"url\(|@import|@font-face|expression\(", style)
    assert len(page.all("script")) == len(page.all("style")) == 1
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels)), levels
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("main")) == 1
    for svg in page.all("svg"):
        assert svg["role"] == "img"
        assert set((svg["aria-labelledby"] or "").split()) <= page.ids
    for scrolling in [attributes for _, attributes in page.elements if attributes.get("tabindex") == "0"]:
        assert scrolling.get("aria-label")
        assert scrolling.get("role") == "region"
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(heading.get("scope") in ("col", "row") for heading in page.all("th"))
    for link in page.all("a"):
        assert (link["href"] or "")[1:] in page.ids
    return page
