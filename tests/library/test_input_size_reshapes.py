"""Reshapes of maps whose sides are 1 at the old size, and of maps that were joined to one line."""

import pytest
from size_networks import NEW, assert_follows

LOW = (8, 24)


def levels(n, h, w):
    """Heads at several strides, each flattened by itself, joined to a line, and cut into rows of 17."""
    flat = []
    for stride in (4, 8):
        y = n.Transpose(n.conv("x", 3, 34, stride), perm=[0, 2, 3, 1])
        flat.append(n.Reshape(y, [1, -1]))
    return n.Reshape(n.Concat(*flat, axis=1), [1, -1, 17])


def levels_in_numbers(n, h, w):
    """The same with every size as a number."""
    flat = []
    for stride in (4, 8):
        y = n.Transpose(n.conv("x", 3, 34, stride), perm=[0, 2, 3, 1])
        flat.append(n.Reshape(y, [1, h // stride * (w // stride) * 34]))
    count = 2 * sum(h // stride * (w // stride) for stride in (4, 8))
    rows = n.Reshape(n.Concat(*flat, axis=1), [1, count, 17])
    return n.Slice(rows, [14], [16], [2])


def one_line(n, h, w):
    """Of a map of one row, nothing in the file says what the 1 is: the image, or the rows as well."""
    y = n.conv("x", 3, 2, 8)
    return n.Reshape(y, [1, h // 8 * (w // 8) * 2])


def one_row_of_all(n, h, w):
    y = n.Transpose(n.conv("x", 3, 2, 8), perm=[0, 2, 3, 1])
    return n.Reshape(y, [1, -1])


@pytest.mark.parametrize("size", [NEW, "any"])
@pytest.mark.parametrize("build", [levels, levels_in_numbers])
def test_joined_maps_are_cut_into_rows_of_their_channels(build, size):
    assert_follows(build, size)


@pytest.mark.parametrize("build", [levels, levels_in_numbers])
def test_a_map_of_one_row_is_flattened_as_the_larger_ones_that_it_is_joined_to(build):
    assert_follows(build, (16, 48), old=LOW)


@pytest.mark.parametrize("build", [one_line, one_row_of_all])
def test_the_one_in_front_is_the_image_where_a_side_of_the_map_is_one_too(build):
    assert_follows(build, (16, 48), old=LOW)


def strips(n, h, w):
    """Four strips, each spread over its columns again."""
    y = n.ReduceMean(n.Reshape(n.conv("x", 3, 2), [1, 2, h, 4, w // 4]), axes=[4], keepdims=1)
    return n.Reshape(n.Expand(y, [1, 2, h, 4, w // 4]), [1, 2, h, w])


def windows(n, h, w):
    """Windows of 12 columns instead."""
    y = n.ReduceMean(n.Reshape(n.conv("x", 3, 2), [1, 2, h, w // 12, 12]), axes=[4], keepdims=1)
    return n.Reshape(n.Expand(y, [1, 2, h, w // 12, 12]), [1, 2, h, w])


@pytest.mark.parametrize("size", [(48, 96), "any"])
@pytest.mark.parametrize(("build", "reading"), [(strips, "inner-follows"), (windows, "outer-follows")])
def test_what_is_expanded_to_the_list_of_a_reshape_follows_with_it(build, reading, size):
    assert_follows(build, size, read=[("Reshape_1", reading)], at=[(48, 96)])
