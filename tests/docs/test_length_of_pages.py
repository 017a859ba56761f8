"""The pages stay short: how many there are, how many words they have, and how long a sentence is."""

import re
from pathlib import Path

import pytest
from page import ROOT

DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "zh" not in page.relative_to(DOCS).parts]
MOST_PAGES = 45
MOST_WORDS = 40_000
LONGEST = 30


def prose(page: Path) -> str:
    """The text of a page without blocks of code, comments and addresses of links."""
    text = re.sub(r"(?ms)^```.*?^```$", "\n\n", page.read_text(encoding="utf-8"))
    return re.sub(r"\]\([^)\s]*\)", "]", re.sub(r"(?s)<!--.*?-->", "", text))


def words(text: str) -> int:
    """Numbers and marks of a table are none."""
    return sum(re.search(r"[^\W\d_]", word) is not None for word in text.split())


def sentences(page: Path) -> list[str]:
    """Those outside of headings, quotations and tables; a span of code is one word, and a colon ends a sentence."""
    text = re.sub(r"(?m)^(#|>|\||<).*$", "\n", prose(page))
    text = re.sub(r"(?m)^ *([-*]|\d+\.) ", "\n\n", text)
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "CODE", text, flags=re.DOTALL)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    ends = r"(?<=[.!?:;])[\"”*)]*\s+(?=[A-Z`\[*\"“]|CODE)"
    return [sentence for paragraph in paragraphs for sentence in re.split(ends, paragraph)]


def test_there_are_few_pages_with_few_words():
    assert len(PAGES) <= MOST_PAGES
    counts = {page.relative_to(DOCS).as_posix(): words(prose(page)) for page in PAGES}
    longest = ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda row: -row[1])[:10])
    assert sum(counts.values()) <= MOST_WORDS, f"say something shorter; the longest pages: {longest}"


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_sentence_is_long(page):
    assert [sentence for sentence in sentences(page) if words(sentence) > LONGEST] == []


def test_a_long_sentence_is_seen(tmp_path):
    page = tmp_path / "long.md"
    page.write_text("# A page\n\nShort. A " + "word " * 30 + "end.\n\n| " + "cell " * 40 + "|\n", encoding="utf-8")
    assert [words(sentence) for sentence in sentences(page) if words(sentence) > LONGEST] == [32]
