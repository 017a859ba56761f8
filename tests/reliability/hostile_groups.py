"""References to data that lead out of a model's folder, or to what is no data; and the groups of all hostile files."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from hostile_kinds import kinds
from hostile_models import Fill, attributes, file_of, functions, graphs, model, not_models, operands, resize, scales
from hostile_names import names
from onnx import TensorProto, helper

SECRET_NAME = "secret"
SECRET = np.array([1, 1, 7, 7], np.float32)  # what lies outside of the model's folder


def external_data() -> Iterator[tuple[str, Fill]]:
    """References that lead elsewhere; what lies beyond the model's folder is `../secret`, with scales of 7."""
    outside = {
        "parent": "../secret",
        "parent-by-detour": "inside/../../secret",
        "parent-by-dots": "./.././secret",
        "absolute": "{folder}/../secret",
        "link": "link",
        "link-to-a-folder": "door/secret",
        "device": "zero",
    }
    numbers = {
        "nul": ("secret\0", "0", "16"),
        "empty": ("", "0", "16"),
        "dot": (".", "0", "16"),
        "folder": ("inside", "0", "16"),
        "pipe": ("pipe", "0", "16"),
        "long": ("x" * 100_000, "0", "16"),
        "many-folders": ("d/" * 30_000 + "x", "0", "16"),
        "missing": ("missing", "0", "16"),
        "escape": ("\x1b]0;x\x07\x1b[2J", "0", "16"),
        "windows": ("..\\secret", "0", "16"),
        "drive": ("C:\\secret", "0", "16"),
        "url": ("file:///etc/passwd", "0", "16"),
        "model-itself": ("model.onnx", "0", "16"),
        "beyond-the-end": ("data", "16", "16"),
        "beyond-2-64": ("data", str(1 << 64), "16"),
        "negative-offset": ("data", "-16", "16"),
        "negative-length": ("data", "0", "-16"),
        "length-of-terabytes": ("data", "0", str(1 << 42)),
        "other-digits": ("data", "٠", "١٦"),
        "words": ("data", "zero", "all"),
        "length-that-differs": ("data", "0", "8"),
    }
    for name, location in outside.items():
        yield f"external-{name}", _external("scales", location, "0", "16")
        yield f"external-weight-{name}", _external("w", location, "0", "64")
    for name, said in numbers.items():
        yield f"external-{name}", _external("scales", *said)
        yield f"external-weight-{name}", _external("w", *said)


def kinds_and_places() -> Iterator[tuple[str, Fill]]:
    """Also constants that lie at any place of another file."""
    yield from kinds()
    for position, place in (("location", 0), ("offset", 1), ("length", 2)):
        for number in ("", "-1", "+1", "1e3", "17", "9" * 19, "9" * 20, "9" * 5000, "\x1b[2J"):
            said = ["data", "0", "16"]
            said[place] = number
            for what in ("scales", "w"):
                yield f"{what}-{position}-{number[:20]}", _external(what, *said)


def reference(name: str, dims: Sequence[int], location: str, offset: str, length: str) -> TensorProto:
    tensor = TensorProto(name=name, data_type=1, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=text)
    return tensor


def _surroundings(folder: Path) -> None:
    (folder.parent / SECRET_NAME).write_bytes(SECRET.tobytes() * 4)
    (folder / "inside").mkdir()
    (folder / "link").symlink_to("../secret")
    (folder / "door").symlink_to("..")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "data").write_bytes(np.array([1, 1, 2, 2], np.float32).tobytes())
    os.mkfifo(folder / "pipe")


def _external(what: str, location: str, offset: str, length: str) -> Fill:
    """A model whose scales, or a weight before the resize, lie elsewhere."""

    def fill(folder: Path) -> None:
        _surroundings(folder)
        there = location.replace("{folder}", str(folder)), offset, length
        if what == "scales":
            made = model(None, [reference("scales", [4], *there)])
        else:
            add = helper.make_node("Add", ["x", "w"], ["t"])
            made = model([add, resize("t")], [scales(1, 1, 2, 2), reference("w", [1, 1, 4, 4], *there)])
        file_of(made)(folder)

    return fill


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Fill]]]] = {
    "not models": not_models,
    "graphs": graphs,
    "functions": functions,
    "operands": operands,
    "attributes": attributes,
    "external data": external_data,
    "kinds": kinds_and_places,
    "names": names,
}
