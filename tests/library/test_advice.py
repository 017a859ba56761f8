"""Options that a refusal proposes change the node when they are typed behind those of the call."""

from __future__ import annotations

import pytest
from fixture_models import FIXTURES, SRCNN
from onnx_text import model

import resizefix
from resizefix.library import advice
from resizefix.library.advice import advise, call_named
from resizefix.library.options import CHANGING, with_words
from resizefix.library.result import AskedCall, Result, not_verified
from resizefix.outcome import Outcome, Status

BOTH = ("--form", "factor", "--allow-coupled")
PROPOSED = [
    ("promote-scales", {"form": "sizes"}, "computed_scales_opset9", ("--form", "factor")),
    ("promote-scales", {"form": "sizes"}, "bisenet_x8_nearest_opset8", BOTH),
    ("promote-scales", {"form": "factor", "node": "*"}, "unet_nearest_opset11", ("--allow-coupled",)),
    ("promote-scales", {"for_": "tensorrt", "denominator": 3}, "computed_scales_opset9", ("--denominator", "1")),
    ("set", {"antialias": True, "mode": "linear"}, "scripted_if_opset11", ("--opset", "18")),
    ("set", {"form": "axes"}, "srcnn_x3_opset11_dynamic", ("--opset", "18")),
    ("freeze-scales", {}, "promoted", ("--set", "/Resize_scales=1,1,2,2")),
]


@pytest.fixture(scope="module")
def promoted(tmp_path_factory):
    path = tmp_path_factory.mktemp("promoted") / "promoted.onnx"
    resizefix.promote_scales(SRCNN, verify=False).model.save(path)
    return path


@pytest.mark.parametrize(("command", "options", "name", "words"), PROPOSED)
def test_what_is_proposed_changes_the_node_and_is_verified(command, options, name, words, promoted):
    path = promoted if name == "promoted" else FIXTURES / f"{name}.onnx"
    call, options = call_named(command), {**options, "on_refusal": "return"}
    first = call(path, **options).outcomes[0]
    assert (first.status, first.retry_args) == (Status.REFUSED, words)
    again = call(path, **with_words(command, options, words))
    assert again.outcomes[0].status is Status.CHANGED
    assert again.verification.passed


class Attempts:
    """A call that changes node 0 with --form factor alone, and counts how often it is made."""

    def __init__(self) -> None:
        self.made: list[dict[str, object]] = []

    def __call__(self, document, **options):
        self.made.append(options)
        status = Status.CHANGED if options.get("form") == "factor" else Status.REFUSED
        return Result(
            document, (Outcome(0, "a", status, "no"), Outcome(1, "b", Status.REFUSED, "never")), (), not_verified()
        )


CANDIDATES = [("--form", "sizes"), ("--form", "factor"), ("--shared",)]


def advised(call, **options):
    document = resizefix.Document.from_proto(model("(float[1,1,4,4] x) => (float[1,1,4,4] y) { y = Relu (x) }"))
    asked = AskedCall(document, options, call(document, **options))
    return advise(call, "promote-scales", asked, lambda *_: CANDIDATES)


def test_the_first_candidate_that_helps_is_proposed_and_none_where_none_does():
    first, second = advised(Attempts())
    assert (first.retry_args, second.retry_args) == (("--form", "factor"), ())


def test_a_candidate_is_tried_once_for_all_nodes_and_nothing_is_run():
    call = Attempts()
    advised(call, verify=True, seed=3)
    _, *tried = call.made
    assert [(one.get("form"), one.get("shared", False)) for one in tried] == [
        ("sizes", False),
        ("factor", False),
        (None, True),
    ]
    assert all(one["verify"] is False and one["seed"] == 3 for one in tried)


def test_an_attempt_that_fails_is_no_help():
    call = Attempts()

    def failing(document, **options):
        if "form" in options:
            raise resizefix.UsageError("library.no-target")
        return call(document, **options)

    assert [outcome.retry_args for outcome in advised(failing)] == [(), ()]


def test_a_call_without_refusals_is_not_made_again():
    calls = []

    def call(document, **options):
        calls.append(options)
        return Result(document, (Outcome(0, "a", Status.CHANGED),), (), not_verified())

    advised(call)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("before", "words", "after"),
    [
        ({"node": ("a",)}, ("-n", "#1"), {"node": ("a", "#1")}),
        ({"set": {"a": (1.0,)}}, ("--set", "b=2"), {"set": {"a": (1.0,), "b": (2.0,)}}),
        ({"set": None}, ("--set", "b=2"), {"set": {"b": (2.0,)}}),
        ({"size": (4, 4)}, ("--size", "8x9"), {"size": (8, 9)}),
    ],
)
def test_words_are_added_behind_what_was_given(before, words, after):
    assert with_words("freeze-scales", before, words) == after


def test_every_command_that_writes_has_a_call():
    assert all(callable(call_named(command)) for command in CHANGING)
    assert advice.call_named("set") is resizefix.set_interpolation
