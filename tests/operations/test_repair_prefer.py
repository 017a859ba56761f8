"""Files that admit two readings: `prefer` decides, and nothing else does."""

import numpy as np
import pytest
from ort_runs import opened
from test_repair import SCALES, small

import resizefix
from resizefix.errors import UsageError
from resizefix.outcome import Status


@pytest.mark.parametrize(("prefer", "side"), [("scales", 16), ("sizes", 20)])
def test_prefer_decides_between_two_operands(prefer, side):
    document = small(13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 20, 20}}")
    made = resizefix.repair(document.to_proto(), prefer=prefer).model
    (output,) = opened(made, optimized=True).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, side, side)


@pytest.mark.parametrize(("words", "coordinates"), [
    ("half_pixel", "half_pixel"), ("asymmetric", "asymmetric"), (["scales", "half_pixel"], "half_pixel"),
])  # fmt: skip
def test_prefer_decides_how_a_node_of_two_versions_samples(words, coordinates):
    kind = "int64" if isinstance(words, list) else "float"  # whole numbers may be sizes, too
    broken = small(13, 'y = Resize <mode = "linear"> (x, s)', f"{kind}[4] s = {{1, 1, 2, 2}}").to_proto()
    meant = small(
        13, f'y = Resize <mode = "linear", coordinate_transformation_mode = "{coordinates}"> (x, "", s)', SCALES
    )
    result = resizefix.repair(broken, prefer=words)
    assert result.verification.passed
    feeds = {"x": np.random.default_rng(0).random((1, 3, 8, 8), np.float32)}
    (found,), (wanted,) = (opened(made, optimized=True).run(None, feeds) for made in (result.model, meant.to_proto()))
    assert found.tobytes() == wanted.tobytes()


def test_a_refusal_of_two_coordinates_gives_an_option_that_decides():
    broken = small(13, 'y = Resize <mode = "linear"> (x, s)', SCALES).to_proto()
    (outcome,) = resizefix.repair(broken).outcomes
    assert "choose with --prefer asymmetric or --prefer half_pixel" in (outcome.reason or "")
    assert outcome.retry_args == ("--prefer", "half_pixel")
    with pytest.raises(UsageError, match="a list of one of each"):
        resizefix.repair(broken, prefer=["half_pixel", "asymmetric"])


@pytest.mark.parametrize(("nodes", "rest"), [('y = Resize <mode = "linear"> (x, "", s)', "float[4] s = {1, 1, 0, 0}, "),
                                            ('y = Resize <mode = "linear"> (x)', "")])  # fmt: skip
def test_a_stored_shape_that_two_scales_give_is_taken_as_sizes_on_request_alone(nodes, rest):
    document = small(13, nodes, f"{rest}float[1,3,4,4] y", data="float[1,3,9,8] x")
    (outcome,) = resizefix.repair(document.to_proto()).outcomes
    assert outcome.status is Status.REFUSED
    assert "by these sizes or by a scale that was rounded down" in (outcome.reason or "")
    made = resizefix.repair(document.to_proto(), prefer="sizes").model
    (output,) = opened(made, optimized=True).run(None, {"x": np.ones((1, 3, 9, 8), np.float32)})
    assert output.shape == (1, 3, 4, 4)


QUOTIENT = "float[4] s = {1, 1, 1.034482717514038, 2}"  # float32(30 / 29)


@pytest.mark.parametrize(("prefer", "height"), [("sizes", 30), ("scales", 29)])
def test_prefer_decides_between_a_quotient_and_the_length_that_it_gives(prefer, height):
    document = small(13, 'y = Resize (x, "", s)', QUOTIENT, data="float[1,3,29,8] x")
    (outcome,) = resizefix.repair(document.to_proto()).outcomes
    assert outcome.status is Status.REFUSED
    assert "--prefer sizes makes the output 30 long" in (outcome.reason or "")
    made = resizefix.repair(document.to_proto(), prefer=prefer).model
    (output,) = opened(made, optimized=True).run(None, {"x": np.ones((1, 3, 29, 8), np.float32)})
    assert output.shape == (1, 3, height, 16)


@pytest.mark.parametrize("prefer", [None, "asymmetric", "half_pixel"])
def test_a_cubic_node_of_two_inputs_has_one_reading(prefer):
    broken = small(13, 'y = Resize <mode = "cubic"> (x, s)', SCALES).to_proto()
    meant = small(13, 'y = Resize <mode = "cubic"> (x, "", s)', SCALES).to_proto()
    made = resizefix.repair(broken, prefer=prefer).model
    image = {"x": np.random.default_rng(0).random((1, 3, 8, 8), np.float32)}
    assert (
        opened(made, optimized=True).run(None, image)[0].tobytes()
        == opened(meant, optimized=True).run(None, image)[0].tobytes()
    )
