"""Called by mkdocs: the English and the Chinese pages are two sites in one, each with its own navigation and search.

The last section of the navigation, `中文`, is that of the pages below `zh/`.
"""

from __future__ import annotations

import copy
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

_CHINESE = "zh/"


def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:
    """The navigation and the words of the theme, as the page's language wants them."""
    *english, chinese = nav.items
    is_chinese = page.url.startswith(_CHINESE)
    shown = copy.copy(nav)
    shown.items = chinese.children if is_chinese else english
    homes = {item.url: item for item in nav.pages if item.url in ("", "./", _CHINESE)}
    shown.homepage = homes[_CHINESE] if is_chinese else nav.homepage
    context["nav"] = shown
    config.theme["language"] = "zh" if is_chinese else "en"
    config.extra["alternate"] = _switch(page, {item.url: item for item in nav.pages})
    return context


def _switch(page: Page, pages: dict[str, Page]) -> list[dict[str, str]]:
    """The theme's switch of languages: this page in each, or the first page where a language lacks it."""
    english = page.url.removeprefix(_CHINESE) or "./"
    chinese = _CHINESE + english.removeprefix("./")
    return [
        {"name": "English", "lang": "en", "link": english if english in pages or english == "./" else "./"},
        {"name": "简体中文", "lang": "zh", "link": chinese if chinese in pages else _CHINESE},
    ]


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """A Chinese page looks for its search index in the Chinese folder."""
    if not page.url.startswith(_CHINESE):
        return output
    base = posixpath.relpath(_CHINESE, page.url)
    return re.sub(r'(<script id="?__config"?[^>]*>\{.*?"base": )"[^"]*"', rf'\g<1>"{base}"', output)


def on_post_build(config: MkDocsConfig) -> None:
    """One search index for each language, out of the one for all pages."""
    whole = Path(config.site_dir, "search", "search_index.json")
    index = json.loads(whole.read_text(encoding="utf-8"))
    pages = {"en": [], "zh": []}
    for entry in index["docs"]:
        is_chinese = entry["location"].startswith(_CHINESE)
        entry["location"] = entry["location"].removeprefix(_CHINESE)
        pages["zh" if is_chinese else "en"].append(entry)
    for lang, path in (("en", whole), ("zh", Path(config.site_dir, _CHINESE, "search", "search_index.json"))):
        path.parent.mkdir(exist_ok=True)
        made = {"config": {**index["config"], "lang": [lang]}, "docs": pages[lang]}
        path.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
