"""Makes the tutorial's pictures: `python docs/pictures/make_pictures.py` from the root.

The fixture's weights are random, so its images would show noise. The pictures are made by the same network, promoted
by resizefix, with weights set by hand: they sharpen, image + 1.5 · (image − blurred image), as SRCNN learns to do.
tests/docs/test_pictures.py makes the pictures again and compares.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import zlib
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import onnx
import onnxruntime as ort

import resizefix

HERE = Path(__file__).parent
FROZEN = HERE.parents[1] / "fixtures" / "srcnn_x3_opset11.onnx"
FACTORS = (1, 2, 3, 4)
# A pixel of an image takes this many in the picture; space between images; room for a label.
ZOOM, SPACE, LABEL = 3, 18, 36
GREY = (128, 128, 128, 255)
GLYPHS = {
    "×": ("101", "010", "101"),
    "1": ("010", "110", "010", "010", "111"),
    "2": ("111", "001", "111", "100", "111"),
    "3": ("111", "001", "111", "001", "111"),
    "4": ("101", "101", "111", "001", "001"),
}


def pictures() -> dict[str, bytes]:
    """Every picture by its file's name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any_scale.onnx"
        resizefix.promote_scales(FROZEN, input_name="scales", verify=False).model.save(path)
        promoted = onnx.load(path)
    small = scene(24, 20)
    images = {factor: enlarged(promoted, small, factor) for factor in FACTORS}
    return {
        "srcnn_at_any_scale.png": png(side_by_side(images)),
        "before.svg": graph(onnx.load(FROZEN), "Before: a Constant holds the scales of the Resize.").encode(),
        "after.svg": graph(promoted, "After: the scales of the Resize are a graph input.").encode(),
    }


def scene(width: int, height: int) -> np.ndarray:
    """A small picture, [height, width, 3] in 0…1: a planet with a ring before a dark sky; edges to be enlarged."""
    fine = 16
    y, x = np.mgrid[0 : height * fine, 0 : width * fine] / fine
    image = np.full((*x.shape, 3), (0.03, 0.03, 0.07))
    across, along = (x - 12) * 0.94 + (y - 10) * 0.34, (y - 10) * 0.94 - (x - 12) * 0.34
    ring = np.abs(np.hypot(across / 10.5, along / 3.2) - 0.86) < 0.14
    disc = np.hypot(x - 12, y - 10) < 5.5
    light = np.clip(1.1 - np.hypot(x - 10, y - 8) / 9, 0, 1)[..., None]
    stripes = np.where(np.sin(along * 2.6)[..., None] > 0.3, (0.95, 0.62, 0.25), (0.80, 0.42, 0.20))
    image[disc] = (stripes * light)[disc]
    image[ring & ~(disc & (along < 0))] = (0.85, 0.82, 0.70)
    for left, top in ((3, 3), (20, 4), (4, 16), (21, 15), (15, 2)):
        image[np.hypot(x - left, y - top) < 0.55] = 1
    return image.reshape(height, fine, width, fine, 3).mean((1, 3))


def enlarged(promoted: onnx.ModelProto, image: np.ndarray, factor: float) -> np.ndarray:
    """The image through the network at this factor, 0…1."""
    session = ort.InferenceSession(sharpening(promoted, image.shape[:2]).SerializeToString())
    feeds = {
        "input": image.transpose(2, 0, 1)[None].astype(np.float32),
        "scales": np.array([1, 1, factor, factor], np.float32),
    }
    return np.clip(session.run(None, feeds)[0][0].transpose(1, 2, 0), 0, 1)


def sharpening(model: onnx.ModelProto, size: tuple[int, int], strength: float = 1.5) -> onnx.ModelProto:
    """The model with weights that sharpen, for images of this size (height, width)."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    distance = np.mgrid[-4:5, -4:5]
    blur = np.exp(-(distance**2).sum(0) / (2 * 1.2**2))
    values = {entry.name: np.zeros(tuple(entry.dims), np.float32) for entry in model.graph.initializer}
    for colour in range(3):
        values["conv1.weight"][colour, colour, 4, 4] = 1
        values["conv1.weight"][3 + colour, colour] = blur / blur.sum()
        for channel in (colour, 3 + colour):
            values["conv2.weight"][channel, channel] = 1
        values["conv3.weight"][colour, colour, 2, 2] = 1 + strength
        values["conv3.weight"][colour, 3 + colour, 2, 2] = -strength
    for entry in model.graph.initializer:
        entry.CopyFrom(onnx.numpy_helper.from_array(values[entry.name], entry.name))
    for axis, length in zip((2, 3), size, strict=True):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_value = length
    return model


def side_by_side(images: dict[int, np.ndarray]) -> np.ndarray:
    """One RGBA picture: the images on a common ground line, their factors above."""
    shapes = [(image.shape[0] * ZOOM, image.shape[1] * ZOOM) for image in images.values()]
    height = max(rows for rows, _ in shapes) + LABEL
    picture = np.zeros((height, sum(columns for _, columns in shapes) + SPACE * (len(images) - 1), 4), np.uint8)
    left = 0
    for (factor, image), (rows, columns) in zip(images.items(), shapes, strict=True):
        pixels = np.rint(image * 255).astype(np.uint8).repeat(ZOOM, 0).repeat(ZOOM, 1)
        picture[height - rows :, left : left + columns, :3] = pixels
        picture[height - rows :, left : left + columns, 3] = 255
        write(picture, f"×{factor}", height - rows - LABEL + 6, left)
        left += columns + SPACE
    return picture


def write(picture: np.ndarray, words: str, top: int, left: int, size: int = 4) -> None:
    """Draw digits and the multiplication sign, five dots of `size` pixels high."""
    for at, sign in enumerate(words):
        rows = GLYPHS[sign]
        first = top + (5 - len(rows)) * size
        for row, dots in enumerate(rows):
            for column, dot in enumerate(dots):
                if dot == "1":
                    y, x = first + row * size, left + (at * 4 + column) * size
                    picture[y : y + size, x : x + size] = GREY


def png(pixels: np.ndarray) -> bytes:
    """[height, width, 4] of uint8 as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


STYLE = """
text { font: 13px sans-serif; fill: #222; } rect { fill: #eef; stroke: #99b; }
.new rect { fill: #fe9; stroke: #b80; } line { stroke: #888; } .new line { stroke: #b80; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd; } rect { fill: #334; stroke: #668; }
  .new rect { fill: #640; stroke: #fb4; } .new line { stroke: #fb4; }
}
"""


def graph(model: onnx.ModelProto, says: str) -> str:
    """The graph as a column of boxes, and beside the Resize where its scales come from."""
    first, last = model.graph.input[0], model.graph.output[0]
    nodes = [node.op_type for node in model.graph.node if node.op_type != "Constant"]
    boxes = [f"input {_shape(first)}", *nodes, f"output {_shape(last)}"]
    parts = []
    for at, label in enumerate(boxes):
        if at:
            parts.append(f'<line x1="70" y1="{at * 41 - 13}" x2="70" y2="{at * 41 + 1}"/>')
        parts.append(_box(1, at * 41 + 1, 138, label))
    top = boxes.index("Resize") * 41 + 1
    kind = "new" if len(model.graph.input) > 1 else "old"
    scales = f'<line x1="139" y1="{top + 13}" x2="160" y2="{top + 13}"/>{_box(160, top, 138, _scales(model))}'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="{len(boxes) * 41 - 12}" role="img" '
        f'aria-label="{says}"><style>{STYLE}</style>{"".join(parts)}<g class="{kind}">{scales}</g></svg>\n'
    )


def _scales(model: onnx.ModelProto) -> str:
    (resize,) = (node for node in model.graph.node if node.op_type == "Resize")
    for node in model.graph.node:
        if resize.input[2] in node.output:
            values = onnx.numpy_helper.to_array(node.attribute[0].t)
            return f"Constant {', '.join(f'{value:g}' for value in values)}"
    return f"input {resize.input[2]}: float[4]"


def _box(left: int, top: int, width: int, label: str) -> str:
    words = f'<text x="{left + width // 2}" y="{top + 18}" text-anchor="middle">{escape(label)}</text>'
    return f'<rect x="{left}" y="{top}" width="{width}" height="27" rx="4"/>{words}'


def _shape(value: onnx.ValueInfoProto) -> str:
    dims = value.type.tensor_type.shape.dim
    return "×".join(str(dim.dim_value) if dim.HasField("dim_value") else "?" for dim in dims)


def main() -> None:
    """Write all pictures into the folder given, by default this one."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, data in pictures().items():
        (folder / name).write_bytes(data)
        print(f"wrote {folder / name}")


if __name__ == "__main__":
    main()
