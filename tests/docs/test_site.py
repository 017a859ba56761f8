"""The site is built with warnings as errors, out of the pages alone; .ci/run builds it here and nowhere else."""

import html
import json
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from child_python import printed
from page import messages_of

ROOT = Path(__file__).parents[2]
SYMPTOMS = [page for page in sorted((ROOT / "docs" / "how-to").glob("*.md")) if page.stem != "pipelines"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed (the extra `docs`)")
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: mkdocs counts only the warnings that it prints.
    settings = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    printed("-m", "mkdocs", "build", "--strict", "--site-dir", folder, cwd=ROOT, env=settings)
    return folder


def test_it_loads_nothing_from_a_network(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]* src=\"?([^\" >]+)", text)
        loaded += re.findall(r"<link[^>]* href=\"?([^\" >]+)[^>]* rel=\"?(?:stylesheet|preload|icon)", text)
        loaded += re.findall(r"<link[^>]* rel=\"?(?:stylesheet|preload|icon)[^>]* href=\"?([^\" >]+)", text)
        assert any(address.endswith(".css") for address in loaded), page
        assert [address for address in loaded if "//" in address] == [], page


@pytest.mark.parametrize("page", SYMPTOMS, ids=lambda page: page.stem)
def test_the_error_texts_are_headings_and_the_models_are_folded(site, page):
    messages = [message.replace("`", "") for message in messages_of(page)]
    built = (site / "how-to" / page.stem / "index.html").read_text(encoding="utf-8")
    headings = re.findall(r"<h[12][^>]*>(.*?)<(?:a class=\"headerlink\"|/h[12])", built, re.DOTALL)
    assert set(messages) <= {html.unescape(re.sub(r"<[^>]+>", "", heading)).strip() for heading in headings}
    folded = re.findall(r"<details>(.*?)</details>", built, re.DOTALL)
    assert len(folded) == len(messages)
    assert all('highlight"><pre>' in model for model in folded), "a block is code there too"


@pytest.mark.parametrize(
    ("page", "language", "search", "there", "elsewhere"),
    [
        ("index.html", "en", "Search", "Check before you deploy", "部署之前先检查"),
        ("zh/index.html", "zh", "搜索", "部署之前先检查", "Check before you deploy"),
    ],
)
def test_each_language_has_its_own_navigation_and_words(site, page, language, search, there, elsewhere):
    built = (site / page).read_text(encoding="utf-8")
    assert f'<html lang="{language}"' in built
    assert f'placeholder="{search}"' in built
    navigation = re.search(r'<nav class="md-nav md-nav--primary".*?</nav>\s*</div>', built, re.DOTALL)[0]
    assert there in navigation
    assert elsewhere not in navigation


@pytest.mark.parametrize(
    ("page", "links"),
    [
        ("index.html", ["./", "zh/"]),
        ("tutorial/index.html", ["./", "../zh/tutorial/"]),
        ("zh/how-to/a-lost-pixel/index.html", ["../../../how-to/a-lost-pixel/", "./"]),
        ("lossless/index.html", ["./", "../zh/"]),  # a page without a Chinese one
    ],
)
def test_the_header_switches_the_language_of_the_page(site, page, links):
    built = (site / page).read_text(encoding="utf-8")
    assert re.findall(r'href="([^"]*)" hreflang="(?:en|zh)" class="md-select__link"', built) == links


def test_each_language_has_its_own_search(site):
    english, chinese = (
        json.loads((site / folder / "search" / "search_index.json").read_text(encoding="utf-8"))
        for folder in ("", "zh")
    )
    assert (english["config"]["lang"], chinese["config"]["lang"]) == (["en"], ["zh"])
    pages = {entry["location"].split("#")[0] for entry in chinese["docs"]}
    assert {"", "tutorial/", "how-to/pipelines/"} <= pages
    assert all((site / "zh" / page / "index.html").exists() for page in pages)
    assert not any(entry["location"].startswith("zh/") for entry in english["docs"])
    assert any("\u200b" in entry["text"] for entry in chinese["docs"]), "jieba has not parted the words"
    base = re.search(r'"base": "([^"]*)"', (site / "zh" / "how-to" / "pipelines" / "index.html").read_text("utf-8"))[1]
    assert (site / "zh" / "how-to" / "pipelines" / base).resolve() == (site / "zh").resolve()


def test_braces_in_a_table_are_text(site):
    built = (site / "reference" / "equivalences" / "index.html").read_text(encoding="utf-8")
    assert "{simple, floor}</td>" in built


def test_an_option_is_one_word(site):
    built = (site / "tutorial" / "index.html").read_text(encoding="utf-8")
    assert '<span class="option">--dry-run</span>' in built
    assert ".option" in (site / "stylesheets" / "extra.css").read_text(encoding="utf-8")


def test_a_printed_table_keeps_its_columns(site):
    built = (site / "index.html").read_text(encoding="utf-8")
    assert '<span class="go columns">accepted by' in built
    assert '<span class="go">verification passed' in built
    assert ".columns" in (site / "stylesheets" / "extra.css").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r"[\w/.-]+\.md", navigation)) == pages


def test_every_link_of_the_repositorys_pages_leads_to_a_file():
    """Links between docs/ and the files outside of it, which mkdocs does not see."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == [], page
