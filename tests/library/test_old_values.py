"""What verify proposes to feed is what makes the two models the same."""

from pathlib import Path

import onnx.parser
import pytest

from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.library.freeze_scales import freeze_scales
from resizefix.library.old_values import old_values
from resizefix.library.promote_scales import promote_scales
from resizefix.library.verify import verify

FIXTURES = Path(__file__).parents[2] / "fixtures"
SRCNN = FIXTURES / "srcnn_x3_opset11.onnx"
BISENET = FIXTURES / "bisenet_x8_nearest_opset11.onnx"


@pytest.mark.parametrize("turned", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("form", ["scales", "spatial", "factor", "sizes"])
@pytest.mark.parametrize("path", [SRCNN, BISENET], ids=lambda path: path.stem)
def test_fed_what_is_proposed_a_promoted_model_is_the_old_one(path, form, turned):
    result = promote_scales(path, form=form, verify=False)
    pair = (result.model, Document.open(path)) if turned else (Document.open(path), result.model)
    with pytest.raises(UsageError) as missing:
        verify(*pair)
    proposed = dict(word.split("=") for word in missing.value.retry_args[1::2])
    assert list(proposed) == [source.name for source in result.inputs]
    feed = {name: [float(value) for value in values.split(",")] for name, values in proposed.items()}
    assert feed == {source.name: list(source.value) for source in result.inputs}
    assert verify(*pair, feed=feed).passed


def test_what_the_other_model_does_not_fix_is_not_known():
    first, second = (promote_scales(SRCNN, input_name=name, verify=False).model for name in ("a", "b"))
    assert old_values(first, second) == {}


def test_what_drives_no_resize_is_not_known():
    plain = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) {y = Neg(x)}'
    )
    more = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x, float[2] s) => (float[2] y) {y = Add(x, s)}'
    )
    assert old_values(Document.from_proto(plain), Document.from_proto(more)) == {}


def test_other_scales_than_those_of_the_export_are_proposed():
    promoted = promote_scales(SRCNN, input_name="s", verify=False).model
    frozen = freeze_scales(promoted, set={"s": [1, 1, 2.5, 1.8]}, verify=False).model
    with pytest.raises(UsageError) as missing:
        verify(frozen, promoted)
    assert missing.value.retry_args == ("--feed", "s=1,1,2.5,1.8")
