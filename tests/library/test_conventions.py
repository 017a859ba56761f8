"""Each convention decides what it recognises, is printed with what chooses otherwise, and can be switched off."""

from pathlib import Path

import following_numbers
import following_shapes
import numpy as np
import pytest
from size_networks import NEW, OLD, built, grid, run

import resizefix
from resizefix.input_sizes.conventions import CONVENTIONS
from resizefix.input_sizes.refusal import readings_of


def sampled(n, h, w):
    places = grid((np.arange(h) * 2 + 1) / h - 1, (np.arange(w) * 2 + 1) / w - 1).transpose(0, 2, 3, 1)
    return n.GridSample("x", n.floats(places), mode="bilinear")


def small_maps(n, h, w):
    return n.MaxPool(n.conv("x", 3, 4, 4), kernel_shape=[2, 2], strides=[2, 2])


def to_its_own_size(n, h, w):
    return n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 37, 41], mode="linear")


def filled(n, h, w):
    """A picture of one number, which meets the image nowhere."""
    spread = n.Expand(n.weight(1, 3, 1, 1), [1, 3, h, w])
    return n.Add(n.ReduceMean(spread, axes=[2, 3]), n.ReduceMean("x", axes=[2, 3]))


def in_pixels(n, h, w):
    """Positions on a map of stride 8: times 8, which is a quarter of the height here."""
    places = grid(np.arange(h // 8), np.arange(w // 8))
    return n.Mul(n.Add(n.conv("x", 3, 2, 8), n.floats(places)), n.floats(8))


FIXTURES = {
    "grid-as-large-as-its-map": (sampled, "GridSample_0"),
    "windows-of-one-size": (following_shapes.windows, "Reshape_2"),
    "pool-over-the-whole-map": (following_numbers.strip, "AveragePool_1"),
    "as-many-windows-on-both-axes": (following_shapes.pyramid, "AveragePool_1"),
    "window-of-a-pool-stays": (small_maps, "MaxPool_1"),
    "resize-to-the-size-of-a-joined-map": (following_shapes.maps_of_one_size, "Resize_3"),
    "resize-to-a-share-of-the-input": (following_shapes.stretched_on_one_side, "Resize_2"),
    "resize-to-whole-windows": (following_shapes.stretched_to_windows, "Resize_2"),
    "resize-to-a-size-of-its-own": (to_its_own_size, "Resize_1"),
    "cut-at-the-half": (following_numbers.halves_changed_and_counted, "Slice_1"),
    "cut-of-the-whole-axis": (following_numbers.halves_changed_and_counted, "Slice_2"),
    "side-in-arithmetic": (filled, "Expand_0"),
    "divisor-as-large-as-the-map": (following_numbers.box_head, "Div_5"),
    "steps-in-pixels": (in_pixels, "Mul_2"),
    "shares-in-a-table-stay": (following_numbers.prior_shares, "Add_1"),
}


SIZES = {"resize-to-whole-windows": ((44, 40), (36, 60))}


def of_fixture(name, **options):
    build, _ = FIXTURES[name]
    old, new = SIZES.get(name, (OLD, NEW))
    model = built(build, old, 16 if build is sampled else 13)
    return new, resizefix.input_size(model, size=new, on_refusal="return", verify=False, **options)


def test_there_are_at_most_fifteen_and_each_has_a_fixture():
    assert set(FIXTURES) == set(CONVENTIONS)
    assert len(CONVENTIONS) <= 15


@pytest.mark.parametrize("page", ["docs/reference/input-sizes.md", "docs/zh/reference/input-sizes.md"])
def test_each_has_a_row_on_the_page(page):
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    assert all(text.count(f"| `{name}` | ") == 1 for name in CONVENTIONS)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention_is_told_where_it_decides(name):
    _, result = of_fixture(name)
    assert bool(result)
    uses = [use for use in result.resolution.assumed if use.convention == name]
    assert FIXTURES[name][1] in [use.node for use in uses]
    assert all(use.meaning for use in uses)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_without_conventions_the_same_is_asked(name):
    new, result = of_fixture(name, assume="none")
    assert not bool(result)
    reason = result.outcomes[0].reason
    assert reason.arguments.get("why", reason).code in ("origins.input-size-convention", "origins.input-size-split")
    answered = {}
    for question in result.resolution.choices:
        for option, value in zip(*[iter(question.args(question.proposed))] * 2, strict=True):
            answered.setdefault(option, []).append(value)
    told = {
        "keep": answered.get("--keep", []),
        "follow_input": answered.get("--follow", []),
        "read": [tuple(value.rpartition("=")[::2]) for value in answered.get("--read", [])],
    }
    assert FIXTURES[name][1] in [node for question in result.resolution.choices for node in question.nodes]
    _, chosen = of_fixture(name, assume="none", **told)
    _, usual = of_fixture(name)
    assert bool(chosen)
    assert chosen.resolution.assumed == ()
    assert run(chosen.model, new).tobytes() == run(usual.model, new).tobytes()


@pytest.mark.parametrize("name", CONVENTIONS)
def test_what_chooses_otherwise_makes_another_model_or_none(name):
    _, usual = of_fixture(name)
    use = next(use for use in usual.resolution.assumed if use.convention == name)
    if not use.args:
        return  # no other reading is known
    ((node, reading),) = readings_of(use.args)
    options = {"keep": "keep", "follow": "follow_input"}
    given = {options[reading]: [node]} if reading in options else {"read": [(node, reading)]}
    try:
        _, other = of_fixture(name, **given)
    except resizefix.ResizefixError:
        return
    assert not bool(other) or other.model.SerializeToString() != usual.model.SerializeToString()
