"""Every message that a page quotes, and every wording of the table, is known to `explain`.

Each is tried whole, cut to its first 40 characters, and inside of a log.
"""

import re
from pathlib import Path

import pytest
from exhaustive import EXHAUSTIVE
from page import ROOT, messages_of

from resizefix.messages.pasted_text import plain_text
from resizefix.messages.table import MESSAGES, messages_in
from resizefix.messages.wording import LEAST_PART

DOCS = ROOT / "docs"
FIRST = 40
# What pages quote in code spans: in the table of symptoms, in the lists of one cause's messages, in titles, and in the
# table of what torch's exporters say.
SYMPTOM = re.compile(r"^\| (?:``(.+?)``|`([^`]+)`)(?:, or .*| \|.*)?\| \[", re.MULTILINE)
LISTED = re.compile(r"^- \*\*.+?\*\*(?:: |：)(.+`)(?: \(|（)[^`]+[)）]$", re.MULTILINE)
SPAN = re.compile(r"``(.+?)``|`([^`]+)`")
NOT_A_MESSAGE = {"a-lost-pixel.md", "pipelines.md"}  # of which no runtime speaks
TORCH = re.compile(r"`((?:Unsupported: ONNX export|Exporting the operator|Exception during initialization)[^`]*)`")


def pages() -> list[Path]:
    return sorted([*DOCS.glob("how-to/*.md"), *DOCS.glob("zh/how-to/*.md"), DOCS / "index.md", DOCS / "zh/index.md"])


def quoted() -> dict[str, str]:
    """Each message with the page that quotes it."""
    found: list[tuple[str, str]] = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        where = page.relative_to(ROOT).as_posix()
        if page.name == "index.md":
            table = text[text.index("`Attribute not found: height_scale` |") - 4 :]
            found += [((one[0] or one[1]).replace("\\|", "|"), where) for one in SYMPTOM.findall(table)]
            continue
        found += [(one[0] or one[1], where) for row in LISTED.findall(text) for one in SPAN.findall(row)]
        if page.name not in NOT_A_MESSAGE:
            found += [(message, where) for message in messages_of(page)]
    torch = DOCS / "reference" / "torch-interpolate.md"
    found += [(one, torch.name) for one in TORCH.findall(torch.read_text(encoding="utf-8"))]
    made = (DOCS / "reference" / "messages.md").read_text(encoding="utf-8")
    cells = (cell.replace("\\|", "|") for cell in re.findall(r"`` (.+?) ``", made))
    wordings = [(wording.text, "the table of messages") for row in MESSAGES for wording in row.wordings]
    return dict(wordings + [(cell, "docs/reference/messages.md") for cell in cells] + found[::-1])


QUOTED = quoted()
each = pytest.mark.parametrize("message", QUOTED, ids=lambda message: message[:50])


def in_a_log(message: str) -> str:
    """Thirty lines of a log, the message in the middle of them."""
    lines = [f"[11/22/2026-10:00:{second:02}] [I] loaded {second} of 29 tensors, 1x3x224x224" for second in range(29)]
    return "\n".join([*lines[:15], f"[11/22/2026-10:00:15] [E] {message}", *lines[15:]])


def test_many_messages_are_quoted():
    assert len(QUOTED) > 400
    assert {page.split("/")[-1] for page in QUOTED.values()} >= {"index.md", "torch-interpolate.md", "messages.md"}


@each
def test_it_is_found_whole_in_a_log_and_by_its_first_forty_characters(message):
    whole, in_log = messages_in(message), messages_in(in_a_log(message))
    assert whole, QUOTED[message]
    assert whole[0] in in_log, QUOTED[message]
    if len(plain_text(message[:FIRST])) >= LEAST_PART:  # shorter ones are no message
        assert messages_in(message[:FIRST]), QUOTED[message]


def test_one_that_is_cut_off_is_found_inside_thirty_lines_of_log():
    long = [message for message in QUOTED if len(plain_text(message[:FIRST])) > 30]
    assert len(long) > 100
    long = long if EXHAUSTIVE else long[::10]
    assert [one for one in long if messages_in(one[:FIRST]) and not messages_in(in_a_log(one[:FIRST]))] == []


def test_a_log_without_a_message_holds_none():
    assert messages_in(in_a_log("all is well")) == []
