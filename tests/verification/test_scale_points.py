"""Which other scales are tried."""

import numpy as np
import onnx_text
import pytest

from resizefix.document.document import Document
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import find_sites
from resizefix.verification.scale_points import other_values


@pytest.mark.parametrize("scale", [0.3333333432674408, 0.4, 0.6, 1.8, 2.3333332538604736])
def test_no_runtime_rounds_the_product_of_a_size_and_a_scale_that_is_tried(scale):
    model = onnx_text.model(
        f"(float[1,1,h,w] x) => (float[?,?,?,?] y) <float[4] s = {{1, 1, {scale}, 1}}> {{ y = Resize (x, , s) }}"
    )
    document = Document.from_proto(model)
    (source,) = promote_scales(document, find_sites(document)).inputs
    tried = [value[2] for value in other_values(source)]
    assert tried[0] >= scale + 1 - 1e-6 or tried[0] == np.floor(scale) + 1
    for moved in tried:
        assert moved > scale
        sizes = np.arange(1, 5000)
        assert np.array_equal(np.float32(moved) * sizes.astype(np.float32), np.float64(moved) * sizes)
