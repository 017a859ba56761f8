from __future__ import annotations

from fixture_models import SRCNN

import resizefix
from resizefix.document.values import dims_of


def shape_of(result):
    return dims_of(result.model.proto.graph.input[0].type)


def test_a_batch_alone_keeps_height_and_width_and_nothing_asked_is_any_size():
    assert shape_of(resizefix.input_size(SRCNN, batch=2)) == (2, 3, 20, 24)
    assert shape_of(resizefix.input_size(SRCNN))[2:] == ("height", "width")


def test_the_repr_of_a_result_says_that_the_model_changed_where_no_resize_did():
    result = resizefix.opset(SRCNN, opset=17)
    assert bool(result)
    assert "changed" in repr(result).replace("unchanged", "")
