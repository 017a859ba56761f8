"""A file whose sizes onnxruntime infers otherwise than it computes them fails where it plans the reuse of buffers."""

import numpy as np
import onnx.parser
import onnxruntime
import pytest

from resizefix.document.document import Document
from resizefix.verification.verify import verify

# Two sizes by one symbol; a buffer of the one is taken for the other.
MODEL = """<ir_version: 10, opset_import: ["" : 13]> g (float[n] x) => (float[?] z)
    <float[1] t = {2}%s> {
        a = Abs (x) b = Neg (a) y = Resize <mode = "nearest"> (b, , t) c = Abs (y) d = Neg (c) z = Sqrt (d)
    }"""
WRONG = ", float[p] a, float[p] b, float[p] y, float[p] c, float[p] d"


def test_a_proof_runs_the_default_level_as_a_usual_session_does():
    before, after = (onnx.parser.parse_model(MODEL % shapes) for shapes in ("", WRONG))
    usual = onnxruntime.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(Exception, match="Shape mismatch attempting to re-use buffer"):
        usual.run(None, {"x": np.ones(6, np.float32)})
    same = verify(Document.from_proto(before), Document.from_proto(before))
    assert same.passed
    found = verify(Document.from_proto(before), Document.from_proto(after))
    assert not found.passed
    assert "at the default optimisation level cannot be run at node" in found.reason
