from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resizefix.document.wire import (
    CutOffError,
    MalformedError,
    Record,
    encode_bytes,
    encode_header,
    encode_varint,
    read_varint,
    records,
    varint_value,
)


@given(st.integers(0, 2**64 - 1))
def test_a_varint_reads_back_as_it_was_written(number):
    encoded = encode_varint(number)
    assert read_varint(encoded, 0, len(encoded)) == (number, len(encoded))


def test_a_varint_may_be_longer_than_needed_but_not_than_ten_bytes():
    assert read_varint(b"\x81" + b"\x80" * 8 + b"\x00", 0, 10) == (1, 10)
    with pytest.raises(MalformedError, match="longer than 10 bytes"):
        read_varint(b"\x80" * 10 + b"\x00", 0, 11)


def test_a_varint_beyond_64_bits_is_malformed():
    assert read_varint(b"\xff" * 9 + b"\x01", 0, 10)[0] == 2**64 - 1
    with pytest.raises(MalformedError, match="64 bits"):
        read_varint(b"\xff" * 9 + b"\x02", 0, 10)


def test_a_varint_cut_off_by_the_end_of_its_message_is_malformed():
    with pytest.raises(CutOffError):
        read_varint(b"\x80\x01", 0, 1)


def test_records_give_number_type_and_offsets_of_each_kind():
    data = b"\x08\x96\x01" + b"\x11" + bytes(8) + encode_bytes(3, b"abc") + b"\x25" + bytes(4)
    assert list(records(data, 0, len(data))) == [
        Record(1, 0, 0, 1, 3),
        Record(2, 1, 3, 4, 12),
        Record(3, 2, 12, 14, 17),
        Record(4, 5, 17, 18, 22),
    ]
    assert varint_value(data, Record(1, 0, 0, 1, 3)) == 150


def test_a_group_is_one_record_up_to_the_tag_that_ends_it():
    inner = b"\x13\x0b\x0c\x14" + encode_bytes(3, b"\x0c") + b"\x08\x01"
    data = b"\x0b" + inner + b"\x0c" + b"\x08\x01"
    assert [(record.number, record.wire_type, record.end) for record in records(data, 0, len(data))] == [
        (1, 3, len(inner) + 2),
        (1, 0, len(data)),
    ]
    deepest = b"\x0b" * 100 + b"\x0c" * 100
    assert [record.end for record in records(deepest, 0, 200)] == [200]


def test_records_of_a_part_keep_to_that_part():
    data = b"\xff" + encode_bytes(3, b"abc") + b"\xff"
    assert [record.number for record in records(data, 1, len(data) - 1)] == [3]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x1a\x05abc", "claims 5 bytes where 3 are left"),
        (b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7fabc", "claims 9223372036854775807 bytes"),
        (b"\x11abc", "claims 8 bytes where 3 are left"),
        (b"\x25abc", "claims 4 bytes where 3 are left"),
        (b"\x08", "in the middle of a number"),
        (b"\x0b\x08\x01", "inside a group"),
        (b"\x0b\x14", "a group ends that did not begin"),
        (b"\x0b\x03", "a group ends that did not begin"),
        (b"\x0b" * 101 + b"\x0c" * 101, "nested too deep"),
        (b"\x0c", "wire type 4"),
        (b"\x0e\x00", "wire type 6"),
        (b"\x0f\x00", "wire type 7"),
        (b"\x00\x00", "no field of any message has the number 0"),
        (b"\x80\x80\x80\x80\x80\x01\x00", "no field of any message has the number"),
    ],
)
def test_bytes_that_are_no_records_are_refused_with_the_reason(data, reason):
    with pytest.raises(MalformedError, match=reason):
        list(records(data, 0, len(data)))


@given(st.binary(max_size=200))
def test_any_bytes_are_records_or_malformed_and_records_cover_them_without_gaps(data):
    try:
        found = list(records(data, 0, len(data)))
    except MalformedError:
        return
    assert [record.start for record in found] == [0, *(record.end for record in found[:-1])][: len(found)]
    assert not found or found[-1].end == len(data)


def test_a_hundred_thousand_records_take_less_than_two_seconds():
    data = encode_bytes(1, b"node") * 100_000
    begun = time.perf_counter()
    assert sum(1 for _ in records(data, 0, len(data))) == 100_000
    assert time.perf_counter() - begun < 2


def test_a_walk_over_a_mapped_file_keeps_no_pages_of_large_records(tmp_path):
    path = tmp_path / "sparse"
    count, size = 40, 3 << 20
    with path.open("wb") as file:
        for _ in range(count):
            file.write(encode_header(9, size))
            file.seek(size - 1, 1)
            file.write(b"\0")
    walked = subprocess.run([sys.executable, "-c", WALK, str(path)], capture_output=True, text=True, check=True)
    before, after, found = map(int, walked.stdout.split())
    assert found == count
    assert after - before < 8 << 10  # kB, of 120 MB


WALK = """
import mmap, sys
from resizefix.document.wire import records

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
    before = peak()
    found = sum(1 for _ in records(data, 0, len(data)))
    print(before, peak(), found)
"""
