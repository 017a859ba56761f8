"""What converters do to the operands of a resize: a function breaks one node in place, or raises NotHere."""

import random
from collections.abc import Callable

import numpy as np
from onnx import TensorProto
from onnx.helper import np_dtype_to_tensor_dtype
from onnx.numpy_helper import from_array
from resize_nodes import NotHere, RawResize

Breaker = Callable[[RawResize, random.Random], None]


# ---- another type ----


def constant_as(what: str, kind: type[np.number]) -> Breaker:
    def breaks(resize: RawResize, rng: random.Random) -> None:
        value = resize.constant(what)
        lossy = issubclass(kind, np.integer) and not np.array_equal(value, value.astype(kind))
        if lossy or value.dtype not in (np.float32, np.int64):  # another fault came before
            raise NotHere
        resize.put(resize.place_of(what), value.astype(kind))

    return breaks


def cast_to(what: str, kind: type[np.number]) -> Breaker:
    def breaks(resize: RawResize, rng: random.Random) -> None:
        place = resize.place_of(what)
        if kind is np.float16:
            resize.constant(what)  # of a number that is computed the digits would be lost
        cast(resize, place, resize.node.input[place], kind)

    return breaks


def cast(resize: RawResize, place: int, name: str, kind: type[np.number]) -> None:
    to = np_dtype_to_tensor_dtype(np.dtype(kind))
    resize.set_input(place, resize.insert("Cast", [name], f"{name}_{np.dtype(kind).name}", to=to))


def scales_through_half(resize: RawResize, rng: random.Random) -> None:
    """float32 constant → float16 → float32: the digits are lost, and the file runs."""
    place = resize.place_of("scales")
    cast(resize, place, resize.put(place, resize.constant("scales").astype(np.float16)), np.float32)


def empty_scales_behind_cast(resize: RawResize, rng: random.Random) -> None:
    resize.place_of("sizes")
    cast(resize, 2, resize.put(2, np.zeros(0, np.float16)), np.float32)


def stale_half_type(resize: RawResize, rng: random.Random) -> None:
    for value in getattr(resize.body, "value_info", ()):
        if value.name == resize.output:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
            return
    raise NotHere


def quantised_scales(bits: int) -> Breaker:
    def breaks(resize: RawResize, rng: random.Random) -> None:
        place, value = resize.place_of("scales"), resize.constant("scales")
        if resize.opset < (21 if bits == 16 else 10):
            raise NotHere
        kind = np.uint16 if bits == 16 else np.uint8
        step = np.float32(value.max() / np.iinfo(kind).max)
        name = resize.put(place, np.round(value / step).astype(kind))
        read = [name, *(resize.put(place, np.array(one)) for one in (step, kind(0)))]
        resize.set_input(place, resize.insert("DequantizeLinear", read, f"{name}_real"))

    return breaks


def quantised_sizes(resize: RawResize, rng: random.Random) -> None:
    """QuantizeLinear and DequantizeLinear in the float arithmetic of sizes, which saturate them."""
    name = resize.node.input[resize.place_of("sizes")]
    made = next((node for node in resize.body.node if name in node.output), None)
    if made is None or made.op_type != "Cast":
        raise NotHere
    floor = next((node for node in resize.body.node if made.input[0] in node.output), made)
    last = floor.output[0] if floor.op_type == "Floor" else name
    source = floor.input[0] if floor.op_type == "Floor" else made.input[0]
    steps = [
        resize.insert("Constant", [], f"{source}_{end}", before=last, value=from_array(np.array(value)))
        for end, value in (("step", np.float32(0.05)), ("zero", rng.choice((np.int8(0), np.uint8(0)))))
    ]
    whole = resize.insert("QuantizeLinear", [source, *steps], f"{source}_q", before=last)
    real = resize.insert("DequantizeLinear", [whole, *steps], f"{source}_dq", before=last)
    next(node for node in resize.body.node if last in node.output).input[0] = real


# ---- in another place ----


def scales_in_the_place_of_roi(resize: RawResize, rng: random.Random) -> None:
    node = resize.node
    if resize.opset < 11 or resize.place_of("scales") != 2 or len(node.input) != 3 or "axes" in resize.attributes:
        raise NotHere
    resize.set_inputs(node.input[0], node.input[2])


def computed_sizes_in_another_place(resize: RawResize, rng: random.Random) -> None:
    """As onnxscript writes `sizes=` without roi."""
    x, sizes = resize.node.input[0], resize.node.input[resize.place_of("sizes")]
    resize.set_inputs(*rng.choice(((x, sizes), (x, "", sizes))))


def constant_sizes_in_another_place(resize: RawResize, rng: random.Random) -> None:
    scales, out = resize.constant("scales"), resize.stored(resize.output)
    if resize.opset < 11 or scales.size != 4 or (len(np.unique(scales)) > 1 and np.any(scales * 2 % 1)):
        raise NotHere
    resize.set_inputs(resize.node.input[0])
    resize.put(rng.choice((1, 2)), np.array(out, np.int64))


# ---- other numbers ----


def both_extents(resize: RawResize, rng: random.Random) -> None:
    scales, dims = resize.constant("scales"), resize.stored(resize.node.input[0])
    if resize.opset < 11 or len(resize.node.input) > 3 or "axes" in resize.attributes or scales.ndim != 1:
        raise NotHere
    out = [int(np.float32(size) * np.float32(scale)) for size, scale in zip(dims, scales, strict=True)]
    resize.put(3, np.array(out, np.int64))


def neither_extent(resize: RawResize, rng: random.Random) -> None:
    if resize.opset < 13 and len(resize.node.input) < 4:
        raise NotHere
    resize.set_inputs(resize.node.input[0])


def images_scales(resize: RawResize) -> np.ndarray:
    """The scales of four axes, batch and channels kept."""
    scales = resize.constant("scales")
    if scales.size != 4 or np.any(scales[:2] != 1) or "axes" in resize.attributes:
        raise NotHere
    return scales.copy()


def two_of_four_scales(resize: RawResize, rng: random.Random) -> None:
    resize.put(resize.place_of("scales"), images_scales(resize)[2:])


def scales_of_two_axes(resize: RawResize, rng: random.Random) -> None:
    resize.put(resize.place_of("scales"), resize.constant("scales").reshape(rng.choice(((-1, 1), (1, -1)))))


def nearly_one(resize: RawResize, rng: random.Random) -> None:
    scales = images_scales(resize)
    scales[:2] = rng.choice((1.0000153, 0.9999847, 0.9999999, 1.0001, 0.99995, 0.99951))
    resize.put(resize.place_of("scales"), scales)


def is_said_by_sizes(resize: RawResize, scales: np.ndarray) -> bool:
    """Whether the stored sizes say the scales; or say nothing, as the output's are not stored."""
    try:
        out = resize.stored(resize.output)
    except NotHere:
        return True
    return out == [size * scale for size, scale in zip(resize.stored(resize.node.input[0]), scales, strict=False)]


def impossible_scales(resize: RawResize, rng: random.Random) -> None:
    scales = resize.constant("scales").copy()
    if not is_said_by_sizes(resize, scales):
        raise NotHere
    scales[-rng.choice((1, 2)) :] = rng.choice((0.0, -1.0, float("nan"), float("inf")))
    resize.put(resize.place_of("scales"), scales)


def images_sizes(resize: RawResize) -> np.ndarray:
    sizes = resize.constant("sizes")
    if sizes.size != 4:
        raise NotHere
    return sizes.copy()


def placeholder_sizes(resize: RawResize, rng: random.Random) -> None:
    sizes = images_sizes(resize)
    if list(sizes[:2]) != resize.stored(resize.node.input[0])[:2]:
        raise NotHere
    sizes[:2] = rng.choice((0, -1))
    resize.put(3, sizes)


def sizes_lose_channels(resize: RawResize, rng: random.Random) -> None:
    sizes = images_sizes(resize)
    if sizes[0] != 1 or resize.stored(resize.output)[1] != sizes[1]:
        raise NotHere
    sizes[1] = 1
    resize.put(3, sizes)


BREAKERS: dict[str, Breaker] = {
    "float16 scales": constant_as("scales", np.float16),
    "float64 scales": constant_as("scales", np.float64),
    "int64 scales": constant_as("scales", np.int64),
    "float sizes": constant_as("sizes", np.float32),
    "scales cast to float16": cast_to("scales", np.float16),
    "scales cast to float64": cast_to("scales", np.float64),
    "sizes cast to int32": cast_to("sizes", np.int32),
    "sizes cast to float32": cast_to("sizes", np.float32),
    "scales through float16": scales_through_half,
    "empty scales behind a cast": empty_scales_behind_cast,
    "stale type": stale_half_type,
    "scales in 8 bits": quantised_scales(8),
    "scales in 16 bits": quantised_scales(16),
    "sizes quantised": quantised_sizes,
    "scales for roi": scales_in_the_place_of_roi,
    "computed sizes in another place": computed_sizes_in_another_place,
    "constant sizes in another place": constant_sizes_in_another_place,
    "scales and sizes": both_extents,
    "no extent": neither_extent,
    "two scales": two_of_four_scales,
    "scales of two axes": scales_of_two_axes,
    "nearly 1": nearly_one,
    "impossible scales": impossible_scales,
    "placeholder sizes": placeholder_sizes,
    "sizes lose channels": sizes_lose_channels,
}
