"""The Chinese pages say what the English ones say: the same code in the same order, linked both ways."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHINESE = ROOT / "docs" / "zh"
PAIRS = {ROOT / "README.zh-CN.md": ROOT / "README.md"} | {
    page: ROOT / "docs" / page.relative_to(CHINESE) for page in sorted(CHINESE.rglob("*.md"))
}
each_page = pytest.mark.parametrize("chinese", PAIRS, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path) -> list[str]:
    return re.findall(r"^ *```.*?^ *```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[str]:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [
        link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link and link[0] != "#"
    ]


@each_page
def test_the_blocks_of_code_are_those_of_the_english_page(chinese):
    assert blocks(chinese) == blocks(PAIRS[chinese])


@each_page
def test_there_are_as_many_sections_and_error_messages_keep_their_words(chinese):
    def headings(page: Path) -> list[str]:
        return re.findall(
            r"^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8")), re.MULTILINE
        )

    said, english = headings(chinese), headings(PAIRS[chinese])
    assert len(said) == len(english)
    assert said[0] == english[0] or re.search(r"[\u4e00-\u9fff]", said[0]), "an error message is not translated"
    for one, other in zip(said, english, strict=True):
        assert set(re.findall(r"`[^`]+`|\"[^\"]+\"", other)) <= set(re.findall(r"`[^`]+`|\"[^\"]+\"", one))


@each_page
def test_each_page_leads_to_the_other_and_every_link_to_a_file(chinese):
    english = PAIRS[chinese]
    for page, other in ((chinese, english), (english, chinese)):
        assert os.path.relpath(other, page.parent) in links(page)
        assert [link for link in links(page) if not (page.parent / link).exists()] == []


@each_page
def test_a_link_leads_to_the_chinese_page_where_there_is_one(chinese):
    switch = os.path.relpath(PAIRS[chinese], chinese.parent)
    targets = {(chinese.parent / link).resolve() for link in links(chinese) if link != switch}
    assert targets & set(PAIRS.values()) - {ROOT / "README.md"} == set()


@each_page
def test_it_is_in_chinese(chinese):
    spans = r"(?ms)^```.*?^```$|(?<!`)(`{1,2})(?!`).*?(?<!`)\1(?!`)|\([^)]*\)|<br>"
    prose = re.sub(spans, "", chinese.read_text(encoding="utf-8"))
    assert len(re.findall(r"[\u4e00-\u9fff]", prose)) > len(re.findall(r"[A-Za-z]+", prose))


@each_page
def test_no_sentence_is_broken_where_a_space_would_show(chinese):
    prose = re.sub(r"(?ms)^```.*?^```$", "", chinese.read_text(encoding="utf-8"))
    written = "\u4e00-\u9fff，。；：、！？）》”（《“"
    assert re.findall(rf"[{written}]\n *[{written}]", prose) == []


def test_every_page_of_a_symptom_is_there_in_chinese():
    assert {page.name for page in (ROOT / "docs" / "how-to").glob("*.md")} == {
        page.name for page in (CHINESE / "how-to").glob("*.md")
    }
