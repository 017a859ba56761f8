"""What is said of a file's resolution: free, frozen by which nodes, or impossible."""

import pytest
from onnx import ModelProto
from size_networks import OLD, Net, built

from resizefix.dialects.model_view import ModelView
from resizefix.interop import opened
from resizefix.library.resolution import Freedom, InputResolution, resolution_of
from resizefix.reports.resolution import resolution_json, resolution_line


def seen(model: ModelProto) -> InputResolution:
    return resolution_of(ModelView(opened(model)))


def to_input(n: Net, h: int, w: int) -> str:
    return n.add("Resize", n.conv("x", 3, 2, 2), "", "", n.const([1, 2, h, w]), mode="linear")


def dense(n: Net, h: int, w: int) -> str:
    return n.add("Gemm", n.add("Flatten", n.conv("x", 3, 2, 2)), n.weight(h * w // 2, 5))


def plain(n: Net, h: int, w: int) -> str:
    return n.conv("x", 3, 2)


@pytest.mark.parametrize(
    ("build", "freedom", "nodes", "line"),
    [
        (to_input, Freedom.FROZEN, ("Resize_1",), "frozen at 32x48, held by Resize_1"),
        (plain, Freedom.FROZEN, (), "frozen at 32x48 by the input's shape alone"),
        (dense, Freedom.IMPOSSIBLE, ("Gemm_2",), "32x48; resizefix input-size refuses another at Gemm_2: its weights"),
    ],
    ids=["frozen", "by shape", "impossible"],
)
def test_one_line_says_what_holds_the_resolution(build, freedom, nodes, line):
    found = seen(built(build, OLD))
    assert (found.freedom, found.nodes, found.size) == (freedom, nodes, OLD)
    assert line in (resolution_line(found) or "")
    assert resolution_json(found)["node_count"] == len(nodes)


def test_an_open_input_is_free():
    model = built(plain, OLD)
    for axis, name in ((2, "h"), (3, "w")):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    assert resolution_line(seen(model)) == "resolution: not fixed by the file"


def test_a_large_model_is_not_followed():
    def deep(n: Net, h: int, w: int) -> str:
        y = "x"
        for _ in range(601):
            y = n.add("Relu", y)
        return y

    assert seen(built(deep, OLD)).freedom is Freedom.FIXED
