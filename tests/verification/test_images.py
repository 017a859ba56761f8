"""A model of another batch gives every image what the model before gives it alone."""

import onnx_text
import pytest

from resizefix.document.document import Document
from resizefix.input_sizes.experiments.images import require_each_alone
from resizefix.input_sizes.refusal import SizeRefusedError
from resizefix.verification.engine import Engine
from resizefix.verification.verification import Conditions

ALONE = {
    "by pixels": "y = Relu (x)",
    "over each image": "y = GlobalAveragePool (x)",
    "in another order": "y = Transpose <perm = [2, 0, 1, 3]> (x)",
    "not of the image at all": "s = Constant <value = float[2] {1, 2}> () y = Relu (s)",
}
MIXED = {
    "m": "[m] m = ReduceMean <keepdims = 1> (x) y = Sub (x, m)",
    "s": "[s] y = Softmax <axis = 0> (x)",
    "f": "[f] y = Flatten <axis = 0> (x)",
    "l": """t = Constant <value = float {1.5}> () c = Constant <value = float {255}> ()
        o = Constant <value = float {1}> () [l] l = ReduceMax <keepdims = 0> (x) d = Greater (l, t)
        k = Where (d, c, o) y = Div (x, k)""",
    "g": "one = Constant <value = int64 {0}> () [g] y = Gather <axis = 0> (x, one)",
}


def pair(nodes: str, held: int) -> tuple[Document, Document]:
    single, many = (onnx_text.model(f"(float[{batch},3,4,4] x) => (y) {{ {nodes} }}", 13) for batch in (held, "n"))
    return Document.from_proto(single), Document.from_proto(many)


def require(nodes: str, held: int) -> None:
    require_each_alone(Engine(Conditions()), *pair(nodes, held), {"x": 0}, held)


@pytest.mark.parametrize("held", [1, 2])
@pytest.mark.parametrize("nodes", ALONE.values(), ids=ALONE)
def test_images_that_keep_apart_pass(nodes, held):
    require(nodes, held)


@pytest.mark.parametrize("name", MIXED)
def test_the_node_that_mixes_images_is_named(name):
    with pytest.raises(SizeRefusedError) as refused:
        require(MIXED[name], 1)
    assert refused.value.node == name


def test_an_image_in_a_list_with_others_is_found_where_it_stands():
    single, many = (onnx_text.model(f"(float[{batch},8] x) => (y) {{ y = Relu (x) }}", 13) for batch in (2, 6))
    require_each_alone(Engine(Conditions()), Document.from_proto(single), Document.from_proto(many), {"x": 0}, 2, 6)
