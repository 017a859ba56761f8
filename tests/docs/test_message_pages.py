"""The pages that list one cause's messages of several runtimes: what is marked as run below is printed by the page."""

import re
from pathlib import Path

import pytest
from page import ROOT, asked_live, blocks, find_spec, type_page

from resizefix.messages.message import Message
from resizefix.messages.plain_text import plain_text
from resizefix.messages.table import messages_in

FOLDER = ROOT / "docs" / "how-to"
LISTED = re.compile(r"^- \*\*(.+?)\*\*(?:: |：)(.+`)(?: \(|（)([^`]+)[)）]$", re.MULTILINE)
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if LISTED.search(page.read_text(encoding="utf-8"))]
each = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
# How each message was tried, in both languages.
TRIED = (
    {"run below", "not run here", "measured on its simulator, not run here", "[measured](../reference/runtimes.md)"},
    {"下面实际运行", "未在这里运行", "在其模拟器上实测，未在这里运行", "[已实测](../../reference/runtimes.md)"},
)


def listed(page: Path) -> list[tuple[str, str, str]]:
    """Every message of the list: runtime, text, how it was tried."""
    rows = LISTED.findall(page.read_text(encoding="utf-8"))
    return [
        (runtime, text[0] or text[1], tried)
        for runtime, texts, tried in rows
        for text in re.findall(r"``(.+?)``|`([^`]+)`", texts)
    ]


def best(text: str) -> Message:
    return messages_in(text)[0]


@each
def test_every_message_of_the_list_is_found_by_explain_and_leads_to_the_page(page):
    rows = listed(page)
    assert rows
    for runtime, text, tried in rows:
        found = best(text)
        assert runtime.startswith(found.runtime), text
        assert found.page == page.relative_to(ROOT).as_posix(), text
        assert tried in TRIED[0]


@each
def test_both_languages_list_the_same_messages(page):
    chinese = ROOT / "docs" / "zh" / "how-to" / page.name
    both = [[row[:2] for row in listed(one)] for one in (page, chinese)]
    assert both[0] == both[1]
    assert {tried for *_, tried in listed(chinese)} <= TRIED[1]


@each
def test_the_page_is_short(page):
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 60


@each
def test_what_is_run_below_prints_its_message(page, folder, capsys):
    """Types the page as a reader does, with every expected output compared."""
    printed = plain_text(type_page(page, capsys))
    missing = [name for block in blocks(page) for name in asked_live(block.text) if not find_spec(name)]
    run = [text for _, text, tried in listed(page) if tried == "run below"]
    if not missing:
        assert [text for text in run if plain_text(text.removesuffix("…")).split("…")[-1] not in printed] == []


def test_a_message_of_the_table_that_has_no_page_of_its_own_is_known():
    """Their page is that of targets, of `repair` or of torch's exports; everything else has a how-to page."""
    from resizefix.messages.table import MESSAGES

    others = {(message.runtime, message.page) for message in MESSAGES if "/how-to/" not in message.page}
    assert {page for _, page in others} == {
        "docs/reference/targets.md",
        "docs/repair.md",
        "docs/reference/torch-interpolate.md",
    }
