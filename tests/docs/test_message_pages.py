"""The how-to pages of error messages: a page for each cause, a section for each message, typed in a new folder."""

import re
from pathlib import Path

import pytest
from page import ROOT, TENSORRT, Block, asked_live, blocks, find_spec, messages_of, type_page, words

from resizefix.messages.message import Message
from resizefix.messages.pasted_text import plain_text
from resizefix.messages.table import MESSAGES, messages_in

FOLDER = ROOT / "docs" / "how-to"
CHINESE = ROOT / "docs" / "zh" / "how-to"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "pipelines"]
SECTIONS = [(page, message) for page in PAGES for message in messages_of(page)]
LISTED = re.compile(r"^- \*\*(.+?)\*\*(?:: |：)(.+`)(?: \(|（)([^`]+)[)）]$", re.MULTILINE)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
each_section = pytest.mark.parametrize(
    ("page", "message"), SECTIONS, ids=[f"{page.stem}-{message[:40]}" for page, message in SECTIONS]
)
# How each message was tried, in both languages.
TRIED = (
    {"run below", "not run here", "measured on its simulator, not run here", "[measured](../reference/runtimes.md)"},
    {"下面实际运行", "未在这里运行", "在其模拟器上实测，未在这里运行", "[已实测](../../reference/runtimes.md)"},
)
# Whose error text is not among what is typed, and why.
SAID_ELSEWHERE = {
    "A pixel is lost: 5 → 9 gives 8, 29 → 30 gives 29": "no runtime prints a message",
    "Unsupported Upsample scales !": "onnx2ncnn is no package; built from its source it said this, see the page",
    "Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid": "it has … for names",
    "input 1 is marked single but has an empty string in the graph": "onnxruntime is asked in Python",
}


def section(page: Path, message: str) -> str:
    """The text of a message's section; that of the whole page where the page is about one message."""
    text = page.read_text(encoding="utf-8")
    if f"\n## {message}\n" not in text:
        return text
    return re.split(r"^## ", text.split(f"\n## {message}\n")[1], flags=re.MULTILINE)[0]


def typed(page: Path, message: str) -> list[Block]:
    return [block for block in blocks(page) if block.section == message]


def listed(text: str) -> list[tuple[str, str, str]]:
    """Every message of a list: runtime, text, how it was tried."""
    return [
        (runtime, text[0] or text[1], tried)
        for runtime, texts, tried in LISTED.findall(text)
        for text in re.findall(r"``(.+?)``|`([^`]+)`", texts)
    ]


def best(text: str) -> Message:
    return messages_in(text)[0]


@each_page
def test_a_page_begins_with_cause_and_fix(page):
    text = page.read_text(encoding="utf-8")
    _, _, cause, fix, *_ = re.split(r"\n\n", text)
    assert cause.startswith("**Cause:** ")
    assert fix.startswith("**Fix:** ")
    assert "`resizefix " in fix


@each_section
def test_a_message_is_explained_fixed_checked_and_made_at_the_end(page, message):
    text = section(page, message)
    cause, fix, model = (text.index(mark) for mark in ("**Cause:**", "**Fix:**", '<details markdown="1">'))
    assert cause < fix < model
    fixed, made = text[fix:model], text[model:]
    assert re.search(r"^```(?:console|python)$", fixed, re.MULTILINE)
    assert re.search(r"^```(?:console|python)$", made, re.MULTILINE)
    assert text.rstrip().endswith("</details>")
    runs_what_says_it = any(mark in made for mark in ("```python", "--live", "--runtime", "exit code 2"))
    by_rules = "reference/targets.md" in page.read_text(encoding="utf-8")
    assert runs_what_says_it or message in SAID_ELSEWHERE or by_rules, "the page says that rules answer"


@each_page
def test_every_message_of_a_list_is_found_by_explain_and_leads_to_the_page(page):
    for runtime, text, tried in listed(page.read_text(encoding="utf-8")):
        found = best(text)
        assert runtime.startswith(found.runtime), text
        assert found.page == page.relative_to(ROOT).as_posix(), text
        assert tried in TRIED[0]


@each_page
def test_both_languages_list_the_same_messages(page):
    english, chinese = (listed((folder / page.name).read_text(encoding="utf-8")) for folder in (FOLDER, CHINESE))
    assert [row[:2] for row in english] == [row[:2] for row in chinese]
    assert {tried for *_, tried in chinese} <= TRIED[1]


def test_messages_are_listed_and_have_one_section_each():
    assert sum(len(listed(page.read_text(encoding="utf-8"))) for page in PAGES) > 30
    assert len({message for _, message in SECTIONS}) == len(SECTIONS) > 35


@each_section
def test_a_section_prints_its_message_and_all_that_it_marks_as_run(page, message, folder, capsys):
    """Types the section as a reader does, with every expected output compared."""
    seen = type_page(page, capsys, only=message)
    asked = {name for block in typed(page, message) for name in asked_live(block.text)}
    asked |= {name for name in [TENSORRT] if name in section(page, message)}
    missing = sorted(name for name in asked if not find_spec(name))
    if missing:
        pytest.skip(f"what needs {', '.join(missing)} was not typed, and may print the message; the rest was")
    lists = listed(section(page, message))
    printed = plain_text(seen)
    run = [text for _, text, tried in lists if tried == "run below"]
    assert [text for text in run if plain_text(text.removesuffix("…")).split("…")[-1] not in printed] == []
    if not lists and message not in SAID_ELSEWHERE:
        assert words(message) in words(seen)


def test_every_row_of_the_table_leads_to_a_page_that_exists():
    assert [message.text for message in MESSAGES if not (ROOT / message.page).exists()] == []


def test_a_message_of_the_table_that_has_no_page_of_its_own_is_known():
    """Their page is that of targets, of `repair`, of torch's exports or of Python; all else has a how-to page."""
    others = {message.page for message in MESSAGES if "/how-to/" not in message.page}
    assert others == {
        "docs/library.md",
        "docs/reference/targets.md",
        "docs/reference/torch-interpolate.md",
        "docs/repair.md",
    }
