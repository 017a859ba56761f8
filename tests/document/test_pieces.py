from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resizefix.document.source import Source, Span, as_bytes, first_difference, part_of

BLOCK = 1 << 20


def span(path: Path, data: bytes, start: int = 0) -> Span:
    path.write_bytes(bytes(start) + data)
    return Span(Source(path), start, start + len(data))


@given(st.binary(max_size=8), st.binary(max_size=8), st.binary(max_size=8))
def test_the_first_byte_that_differs_is_that_of_a_plain_search(same, before, after):
    before, after = same + before, same + after
    length = min(len(before), len(after))
    unequal = [k for k in range(length) if before[k] != after[k]]
    expected = None if before == after else min([*unequal, length])
    assert first_difference(before, after) == expected


@pytest.mark.parametrize("where", [0, BLOCK - 1, BLOCK, 2 * BLOCK + 5, None])
@pytest.mark.parametrize("shift", [0, 3])
def test_files_are_compared_across_blocks_and_with_bytes(where, shift, tmp_path):
    old = bytes(2 * BLOCK + 6)
    new = bytearray(old)
    if where is not None:
        new[where] = 1
    pieces = span(tmp_path / "a", old), span(tmp_path / "b", bytes(new), shift)
    assert first_difference(*pieces) == where
    assert first_difference(pieces[0], bytes(new)) == where
    assert first_difference(pieces[0], part_of(pieces[1], 0, 7)) == (where if where == 0 else 7)


@given(st.integers(0, 12), st.integers(0, 12))
def test_a_part_of_a_piece_is_a_slice(start, length):
    data = bytes(range(10))
    end = start + length
    assert as_bytes([part_of(data, start, end)]) == data[start:end]


def test_a_part_of_a_span_is_a_slice_too(tmp_path):
    piece = span(tmp_path / "a", bytes(range(10)), 4)
    for start in range(12):
        for end in range(start, 14):
            assert as_bytes([part_of(piece, start, end)]) == bytes(range(10))[start:end]
