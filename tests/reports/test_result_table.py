"""The table of before and after that a command prints of what it changed."""

import re

import pytest
from fixture_models import BISENET, SRCNN

from resizefix.reports.result_table import size_text
from resizefix.reports.screen import Table


@pytest.mark.parametrize(
    ("size", "says"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (81_600, "81.6 kB"), (1_500_000_000, "1.5 GB")]
)
def test_sizes_of_files_are_short(size, says):
    assert size_text(size) == says


def test_in_a_pipe_columns_are_spaces_and_no_cell_is_cut():
    table = Table(("", "before", "after"), (("a\nb", "x" * 90, "1"), ("数", "y", "")))
    assert table.plain() == [
        f"    before{' ' * 86}after",
        f"a   {'x' * 90}  1",
        "b",
        "数  y",
    ]


def rows(out):
    lines = out.splitlines()
    first = next(number for number, line in enumerate(lines) if re.fullmatch(r" +before +after", line))
    last = next(number for number, line in enumerate(lines) if line.startswith("time "))
    return [re.split(r"  +", line.strip()) for line in lines[first : last + 1]]


def test_a_promotion_shows_node_input_size_targets_and_time(call, tmp_path):
    code, out, _ = call("promote-scales", SRCNN, tmp_path / "o.onnx", "--input-name", "scales")
    assert code == 0
    assert "\x1b" not in out
    assert not set(out) & set("│╭─┃┏")
    table = rows(out)
    assert table[0] == ["before", "after"]
    assert table[1] == ["/Resize", "Resize-11 cubic half_pixel", "Resize-11 cubic half_pixel"]
    assert table[2] == ["scales 1×1×3×3, float", "scales fed by an input, float"]
    assert ["input scales", "float 4"] in table
    assert ["file size", size_text(SRCNN.stat().st_size), size_text((tmp_path / "o.onnx").stat().st_size)] in table
    assert ["accepted by", "12 targets", "4 targets"] in table
    assert table[-1][0] == "time"


def test_nodes_that_are_replaced_show_the_operators_that_took_their_place(call, tmp_path):
    _, out, _ = call("legalize", SRCNN, tmp_path / "o.onnx", "--target", "tensorrt-8.0")
    table = rows(out)
    assert ["/Resize", "Resize-11 cubic half_pixel", "2 MatMul"] in table
    assert any(row[0].startswith("gained tensorrt-5.0 to tensorrt-8.4") for row in table)


def test_nothing_is_compared_where_nothing_changed_and_json_has_no_table(call, tmp_path):
    _, out, _ = call("legalize", BISENET, tmp_path / "o.onnx", "--target", "onnxruntime")
    assert "before" not in out
    _, out, _ = call("promote-scales", SRCNN, tmp_path / "p.onnx", "--json")
    assert "file size" not in out
    _, out, _ = call("promote-scales", SRCNN, tmp_path / "q.onnx", "-q")
    assert out == ""
