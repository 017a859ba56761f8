"""Bytes that were a model once: cut off, with bits flipped, with any numbers for scales."""

import random
import struct
from collections.abc import Iterator

from hostile_models import model, nested_if
from hostile_names import named
from onnx import TensorProto


def truncated() -> Iterator[bytes]:
    """Every beginning of a small model."""
    whole = model().SerializeToString()
    return (whole[:length] for length in range(len(whole)))


def every_bit_flipped() -> Iterator[bytes]:
    """A small model once for each of its bits, with that bit the other way round."""
    whole = model().SerializeToString()
    for position in range(8 * len(whole)):
        data = bytearray(whole)
        data[position // 8] ^= 1 << position % 8
        yield bytes(data)


def flipped(count: int, seed: int = 0) -> Iterator[bytes]:
    """Small models with one to eight bits flipped."""
    rng = random.Random(seed)
    originals = [
        model().SerializeToString(),
        named("name").SerializeToString(),
        model([nested_if(3)]).SerializeToString(),
    ]
    for _ in range(count):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        yield bytes(data)


def random_numbers(count: int, seed: int = 0) -> Iterator[bytes]:
    """Small models whose scales are any 16 bytes."""
    rng = random.Random(seed)
    for _ in range(count):
        tensor = TensorProto(name="scales", data_type=1, dims=[4], raw_data=struct.pack("<2f", 1, 1) + rng.randbytes(8))
        yield model(None, [tensor]).SerializeToString()
