"""Learned tables of positions: refused with the offer, interpolated on request."""

import numpy as np
import ort_runs
import pytest
from size_networks import Net, built, dense, run

import resizefix
from resizefix.outcome import Status

OLD, NEW = (48, 32), (64, 56)
TOKEN = np.linspace(-1, 1, 4, dtype=np.float32).reshape(1, 1, 4)


def table(height, width):
    return np.random.default_rng(5).standard_normal((1, 4, height, width)).astype(np.float32)


def transformer(n, h, w, positions=None):
    """Patches of 8, a class token in front, and a row of a learned table for each."""
    rows, columns = h // 8, w // 8
    patches = n.Conv("x", n.weight(4, 3, 8, 8), strides=[8, 8])
    tokens = n.Transpose(n.Reshape(patches, [1, 4, rows * columns]), perm=[0, 2, 1])
    tokens = n.Concat(n.floats(TOKEN), tokens, axis=1)
    grid = table(rows, columns) if positions is None else positions
    flat = np.concatenate([TOKEN * 3, grid.reshape(1, 4, -1).transpose(0, 2, 1)], axis=1)
    return n.Add(tokens, n.floats(flat))


def resized(grid, height, width):
    """onnxruntime's cubic Resize of the table: what torch.nn.functional.interpolate(mode="bicubic") computes."""
    n = Net(*grid.shape[2:], channels=4)
    made = n.model(n.Resize("x", "", "", [*grid.shape[:2], height, width], mode="cubic", cubic_coeff_a=-0.75))
    return ort_runs.run(made, {"x": grid})[0]


@pytest.mark.parametrize("size", [NEW, "any"])
def test_the_table_is_interpolated_and_the_class_token_stays(size):
    model = built(transformer, OLD)
    result = resizefix.input_size(model, size=size, interpolate_positions=True)
    assert result.verification.status == "unrefuted"
    assert result.resolution.approximate == ("Add_4",)
    assert not next(one for one in result.outcomes if one.node == "Add_4").exact
    grid = resized(table(6, 4), 8, 7)
    wanted = run(built(lambda n, h, w: transformer(n, h, w, grid), NEW), NEW)
    np.testing.assert_allclose(run(result.model, NEW), wanted, rtol=1e-5, atol=1e-5)
    if size == "any":
        assert run(result.model, OLD).tobytes() == run(model, OLD).tobytes()


@pytest.mark.parametrize("size", [NEW, "any"])
def test_without_the_option_the_refusal_offers_it(size):
    (outcome,) = resizefix.input_size(built(transformer, OLD), size=size, on_refusal="return").outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "Add_4")
    assert outcome.retry_args == ("--interpolate-positions",)


def dense_over_a_map(n, h, w):
    """A layer whose weights are stored as a map for each unit, as CNTK wrote it."""
    y = n.Reshape(n.conv("x", 3, 2, 4), [1, h * w // 8])
    return n.MatMul(y, n.Reshape(n.weight(2, h // 4, w // 4, 5), [h * w // 8, 5]))


@pytest.mark.parametrize("build", [dense, dense_over_a_map])
def test_weights_that_are_no_positions_are_refused_with_the_option_too(build):
    (outcome,) = resizefix.input_size(
        built(build, OLD), size=NEW, interpolate_positions=True, on_refusal="return"
    ).outcomes
    assert outcome.status is Status.REFUSED
    assert outcome.retry_args == ()


def checkerboard(n, h, w):
    rows, columns = np.indices((h // 4, w // 4))
    return n.Mul(n.conv("x", 3, 4, 4), n.floats((rows + columns) % 2 * 0.5))


def border_mask(n, h, w):
    mask = np.zeros((1, 1, h // 4, w // 4))
    mask[..., 1:5, 2:-1] = 1
    return n.Mul(n.conv("x", 3, 4, 4), n.floats(mask))


def numbers_of_regions(n, h, w):
    """Each position has the number of its region, as windows that were shifted have."""
    rows, columns = np.indices((h // 4, w // 4))
    return n.Add(n.conv("x", 3, 4, 4), n.floats((rows * 7 + columns**2) % 23))


@pytest.mark.parametrize("build", [checkerboard, border_mask, numbers_of_regions])
@pytest.mark.parametrize("wished", [False, True], ids=["plain", "wished"])
def test_tables_of_few_or_whole_numbers_are_not_interpolated(build, wished):
    """What stands between the numbers of a mask means nothing."""
    result = resizefix.input_size(built(build, OLD), size=NEW, interpolate_positions=wished, on_refusal="return")
    assert [outcome.status for outcome in result.outcomes] == [Status.REFUSED]
    assert "--interpolate-positions" not in result.outcomes[0].retry_args
