"""A wording is found whole and cut off, whatever stands for its names and numbers; laws over all rows."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resizefix.messages.pasted_text import plain
from resizefix.messages.table import MESSAGES
from resizefix.messages.wording import ANYTHING, LEAST_PART, Wording

WORDINGS = [wording for message in MESSAGES for wording in message.wordings]
names = st.text("abz_/. 09:", max_size=20)


def instance(wording, name):
    """The text with a name for each gap."""
    return wording.text.replace(ANYTHING, name)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(WORDINGS), names, st.text("xy >|\n", max_size=30), st.text(" .\n", min_size=1, max_size=5))
def test_a_wording_stands_in_any_text_around_it(wording, name, before, after):
    assert wording.whole_in(plain(f"{before} {instance(wording, name)}{after}")) is not None


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(WORDINGS), names, st.data())
def test_a_beginning_that_is_long_enough_is_a_part(wording, name, data):
    text = instance(wording, name)
    enough = [end for end in range(len(text)) if _letters(wording, text[:end]) >= LEAST_PART]
    if enough:
        end = data.draw(st.sampled_from(enough))
        found = wording.part_in(plain(text[:end])) or wording.whole_in(plain(text[:end]))
        assert found, text[:end]


def _letters(wording, text):
    """The letters of the beginning that belong to no gap and no number: those before the first gap."""
    first = wording.text.split(ANYTHING)[0]
    return len(re.sub(r"\d+(\.\d+)?|[-\d.]", "", plain(text[: len(first)]).letters)) if len(text) <= len(first) else 0


@pytest.mark.parametrize(
    ("wording", "pasted", "whole"),
    [
        ("op: Resize", "op: Resize", True),
        ("op: Resize", "op: Resize.", True),
        ("op: Resize", "op: Resize_7", False),
        ("op: Resize", "op: Resize\nNearest", True),  # a terminal may break a line anywhere: two words
        ("size «4» of", "size 4 of", True),
        ("size «4» of", "size 44 of", False),
        ("size 4 of", "size 44 of", True),
        ("a … b", "a / b", True),
        ("a … b", "b / a", False),
    ],
)
def test_words_and_numbers_that_decide_are_whole(wording, pasted, whole):
    assert (Wording(wording).whole_in(plain(pasted)) is not None) == whole


@pytest.mark.parametrize(
    "pasted",
    [
        "Type 'tensor(float16)' of input paramet",
        "of input parameter (1105) of operator (Res",
        "E onnxruntime: Type 'tensor(float16)' of input",
        "(1105) of operator (Resize) in node (up) is invalid. And more behind it.",
    ],
)
def test_a_cut_wording_is_known_by_its_letters(pasted):
    wording = Wording("Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid")
    assert wording.part_in(plain(pasted)) >= LEAST_PART


@pytest.mark.parametrize("pasted", ["Type 'tensor(float)' of input para", "Type", "operator (Resize", "in node"])
def test_another_text_or_too_little_is_no_part(pasted):
    wording = Wording("Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid")
    assert wording.part_in(plain(pasted)) == 0
