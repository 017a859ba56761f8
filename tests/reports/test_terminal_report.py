"""What `inspect` and `diff` say at a terminal of 80 columns, and into a pipe."""

import os
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from fixture_models import SRCNN, UNET
from forked_commands import Terminal
from report_models import COMPUTED, HOSTILE, ROUNDED, hostile, many, parsed

pytest.importorskip("pty")
LONG = "/model/decoder/up_blocks.1/upsamplers.9/Resize"
SETTINGS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")


@pytest.fixture
def piped(call, monkeypatch):
    """What a command prints into a pipe."""

    def run(*arguments, **environment):
        for name in SETTINGS:
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return call(*arguments)[1]

    return run


def at_a_terminal(*arguments):
    """What a command prints to a real terminal of 80 columns."""
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "80"}
    command = [sys.executable, "-m", "resizefix", *map(str, arguments)]
    with Terminal() as terminal:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal.theirs)
        with subprocess.Popen(command, env=environment, **streams):
            os.close(terminal.theirs)
            return terminal.read().replace("\r\n", "\n")


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "long.onnx"
    onnx.save(many(25), path)
    return path


@pytest.fixture
def inspected(piped, tmp_path):
    """What `inspect` prints of a model."""

    def run(model, *options, **environment):
        onnx.save(parsed(model) if isinstance(model, str) else model, tmp_path / "m.onnx")
        return piped("inspect", tmp_path / "m.onnx", *options, **environment)

    return run


def test_a_real_terminal_of_eighty_columns_holds_everything_but_the_command_in_colour(long_names):
    drawn = plain(at_a_terminal("inspect", long_names)).splitlines()
    assert drawn[1].split() == ["│", "25", "nodes", "alike", "│", "#0", "to", "#24", "(-v", "lists", "each)", "│"]
    assert all(len(line) <= 80 for line in drawn[:-1])
    shown = at_a_terminal("inspect", long_names, "-v")
    assert "\x1b[32mpromotable\x1b[0m" in shown
    lines = plain(shown).splitlines()
    assert f"#19 {LONG}" in lines
    assert "    Resize-13  linear half_pixel  scales 1×1×1×1  promotable" in lines
    assert all(len(line) <= 80 for line in lines[:-1])
    assert lines[-1].startswith("  resizefix promote-scales ")


def test_nodes_that_are_alike_are_one_group_and_verbose_lists_each(piped, long_names):
    text = piped("inspect", long_names)
    head, nodes, *facts = text[: text.index("\n\n")].splitlines()
    assert head.split(maxsplit=3) == ["25", "nodes", "alike", "#0 to #24 (-v lists each)"]
    assert nodes.startswith(f"nodes           {LONG.replace('.1/', '.0/').replace('.9/', '.0/')}, ")
    assert [fact.split("  ", 1)[1].strip() for fact in facts] == [
        "Resize-13 linear half_pixel", "scales 1×1×1×1, float", "initializer, 25 different ones", "promotable"
    ]  # fmt: skip
    assert piped("inspect", long_names, "-v").count("Resize-13") == 25


def test_nodes_that_differ_in_one_thing_are_no_group(inspected):
    model = many(6)
    numbers = np.frombuffer(model.graph.initializer[2].raw_data, np.float32) * (1, 1, 2, 2)
    model.graph.initializer[2].raw_data = numbers.astype(np.float32).tobytes()
    text = inspected(model)
    assert re.search(r"^5 nodes alike +#0, #1, #3 to #5 \(-v lists each\)$", text, re.MULTILINE)
    assert "1×1×2×2" in text
    assert "nodes alike" not in inspected(many(3))


@pytest.mark.parametrize("of_their_own", [False, True])
def test_nothing_that_is_said_of_a_node_is_lost_where_it_is_one_of_many_alike(inspected, of_their_own):
    """The law: whatever stands below one node of a kind stands in the table of many, but for their names."""
    model = many(8)
    for node in model.graph.node:
        if node.op_type == "Resize" and not of_their_own:
            node.input[2] = "scales_0"
    for number in range(8):  # no valid scales: a reason and a fault
        tensor = next(one for one in model.graph.initializer if one.name == f"scales_{number}")
        tensor.data_type = onnx.TensorProto.DOUBLE
        tensor.raw_data = tensor.raw_data * 2
    table, each = inspected(model), inspected(model, "-v")
    first = each[: each.index("\n#1 ")].splitlines()
    for line in first[1:]:
        if not re.match(" *(reads|makes|accepted by|not accepted by) ", line):
            for words in re.split(r" {2,}|: |; also read by ", line.strip().removeprefix("from ")):
                of_this_one = (words == "initializer scales_0" and of_their_own) or words.startswith(LONG[:9])
                assert of_this_one or words in table, words
    source = "initializer, 8 different ones" if of_their_own else "initializer scales_0, which all of them read"
    assert source in table
    assert table.count(" (of #0)\n") == of_their_own


def test_the_end_is_the_next_command_to_type(piped):
    *_, purpose, command = piped("inspect", SRCNN).splitlines()
    assert purpose == "next, to make its scales a graph input:"
    assert command == f"  resizefix promote-scales {SRCNN} srcnn_x3_opset11.promoted.onnx"


def test_of_coupled_sites_the_node_and_the_partner_are_named_and_no_promotion_is_suggested(piped):
    text = piped("inspect", UNET)
    assert "\n2 resizes, 0 promotable, 2 coupled; " in text
    assert (
        "   another scale here alone breaks the model at '/Concat', where the size must equal that of "
        "'/down2/down2.2/Relu_output_0'\n"
    ) in text
    assert text.count("coupled nodes: for another output size, use `resizefix input-size`\n") == 1
    assert "promote-scales" not in text


def test_a_pipe_gets_every_name_and_reason_on_one_line_and_a_terminal_what_fits(inspected):
    lines = inspected(COMPUTED).splitlines()
    assert "   its sizes follow the size of 'like', so no constant can replace them" in lines
    assert any(line.startswith("   from computed sizes: height and width are the size of 'like'") for line in lines)
    narrow = plain(inspected(COMPUTED, FORCE_COLOR="1", COLUMNS="40")).splitlines()
    assert "   its sizes follow the size of 'like'," in (line.rstrip() for line in narrow)
    assert all(len(line) <= 40 for line in narrow[2:-1])


def test_colour_is_for_terminals_and_for_those_who_ask(piped):
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-9]m")
    assert "\x1b" not in piped("inspect", UNET)
    assert coloured.search(piped("inspect", UNET, FORCE_COLOR="1"))
    assert not coloured.search(piped("inspect", UNET, FORCE_COLOR="1", NO_COLOR="1"))


def test_a_reason_that_many_share_is_reported_once(inspected):
    model = many(3)
    for node in model.graph.node:
        if node.op_type == "Resize":
            node.input[2] = "scales_0"
    model.graph.initializer[0].data_type = onnx.TensorProto.DOUBLE
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data * 2
    text = inspected(model)
    for words, times in (
        ("its scales 'scales_0' are float64; ONNX wants float32 there", 1),
        ("for the same reason as #0", 2),
        ("fault operand-type: its scales are float64; ONNX wants float32 there; repair: ", 1),
        ("fault operand-type: as in #0", 2),
    ):
        assert text.count(words) == times, words


def test_a_warning_is_shown(inspected):
    assert "\n   warning: its size on axis 2" in inspected(ROUNDED)


def test_verbose_adds_shapes_and_targets(piped):
    text = piped("inspect", SRCNN, "-v")
    assert "makes /Resize_output_0 float 1×3×60×72" in text
    assert "   not accepted by tensorrt-5.0 to tensorrt-8.4, opencv-4, mnn" in text


def test_hostile_names_do_nothing_to_a_terminal(piped, tmp_path):
    path = tmp_path / "h.onnx"
    onnx.save(hostile(), path)
    for arguments in (["inspect", path, "-v"], ["diff", path, SRCNN]):
        text = piped(*arguments, FORCE_COLOR="1", NO_COLOR="1")
        assert "\u202e" not in text
        assert "\x1b[31m" not in text
        assert "\\x1b[31m" in text
        assert HOSTILE not in text


def test_changes_are_reported_with_both_sides_and_counted(piped, tmp_path):
    after = tmp_path / "after.onnx"
    model = onnx.load(SRCNN)
    model.producer_name = "somebody else"
    onnx.save(model, after)
    text = piped("diff", SRCNN, after)
    assert "producer_name producer_name\n  - pytorch\n  + somebody else\n" in text
    assert text.endswith("1 change; what is not listed is the same\n")
    assert piped("diff", SRCNN, SRCNN) == "the models are the same\n"
