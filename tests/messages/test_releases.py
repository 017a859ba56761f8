"""The releases that a message names are those of the targets' rules, and what a rule quotes is a known message."""

import re

import pytest

from resizefix.library.explain import cause_of
from resizefix.messages.message import RELEASES
from resizefix.messages.table import MESSAGES, messages_in
from resizefix.targets.catalogue import TARGETS, covered, releases_with

RULED = [message for message in MESSAGES if message.rule]
QUOTES = sorted(
    {
        (rule.name, quote)
        for target in TARGETS
        if target.runtime == "tensorrt"
        for rule in target.rules
        for quote in re.findall(r'"([^"]{20,})"', rule.because)
    }
)


@pytest.mark.parametrize("message", RULED, ids=lambda message: message.text[:40])
def test_a_message_with_a_rule_leaves_its_releases_to_it(message):
    assert RELEASES in message.cause
    said = cause_of(message)
    releases = releases_with("tensorrt", message.rule)
    assert f"TensorRT {releases}" in said
    assert re.findall(r"\d+\.\d+", said.replace(releases, "")) == []


def test_no_message_names_a_release_of_tensorrt_by_hand():
    by_hand = [m.text for m in MESSAGES if not m.rule and re.search(r"TensorRT \d", m.cause)]
    assert by_hand == ["Assertion failed: static_cast<int>(scales.size()) == nbDims"]  # 6.0 alone, whose bug it is


@pytest.mark.parametrize(("rule", "quote"), QUOTES)
def test_what_a_rule_quotes_is_known_and_no_message_of_it_names_another_rule(rule, quote):
    found = messages_in(quote.replace("…", ""))
    assert found, quote
    assert rule in {message.rule.partition(": ")[0] for message in found} or not any(one.rule for one in found)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("scales-are-weights", "6.0 to 8.2"),
        ("upsample-alone", "5.1 and older"),
        ("not-cubic", "7.0 to 8.4"),
        ("no-antialias", "10 and later"),
        ("upsample-linear-rank", "7.0"),
        ("scales-attribute", "5.0"),
    ],
)
def test_the_releases_of_a_rule_in_words(rule, words):
    assert releases_with("tensorrt", rule) == words


def test_a_rule_that_no_row_has_is_an_error():
    with pytest.raises(KeyError):
        releases_with("tensorrt", "no-such-rule")


def test_a_row_ends_with_the_last_release_that_there_was():
    assert covered()["tensorrt-8.0"] == "8.0 to 8.2"
