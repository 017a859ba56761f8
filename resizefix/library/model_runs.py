"""Whether onnxruntime runs a model: as the file is, at the sizes that a message says were fed, and at others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from resizefix.document.document import Document
from resizefix.errors import ResizefixError
from resizefix.messages.fed_sizes import FedSizes
from resizefix.origins.input_sizes.input_axes import ImageInput, image_inputs
from resizefix.verification.conditions import Conditions, conditions
from resizefix.verification.engine import Engine

Shapes = Mapping[str, tuple[int, ...]]
# What an image is enlarged by, per axis: twice, and by odd numbers, which halvings do not divide.
_ENLARGED = ((2, 0, 2, 0), (1, 2, 1, 6), (1, 1, 1, 3))
_USUAL = 32  # of an axis that the file leaves open


def why_not_run(document: Document, shapes: Shapes | Conditions | None = None) -> str | None:
    """Why onnxruntime does not run the model with inputs of these shapes, or under these conditions; None: it runs."""
    try:
        Engine(shapes if isinstance(shapes, Conditions) else conditions(shape=shapes or {})).fit(document)
    except ResizefixError as error:
        return str(error)
    return None


def runs_at(document: Document, shapes: Shapes | None = None) -> bool:
    """Whether onnxruntime runs the model with inputs of these shapes."""
    return why_not_run(document, shapes) is None


def fed_images(document: Document) -> Sequence[ImageInput]:
    """The image inputs of a model; none where it has none."""
    try:
        return image_inputs(document.proto, ())
    except ResizefixError:
        return ()


def fed_shape(document: Document, fed: FedSizes) -> Shapes | None:
    """The shape that was fed to the input that the message names, or to the image; None: there is no such axis."""
    images = fed_images(document)
    image = next((one for one in images if one.name == fed.input), next(iter(images), None))
    if image is None or max(fed.axes, default=0) >= len(image.dims):
        return None
    return {image.name: tuple(fed.axes.get(axis, size or _USUAL) for axis, size in enumerate(image.dims))}


def other_shapes(document: Document) -> list[Shapes]:
    """Larger images than the file's, to run it with."""
    found: list[Shapes] = []
    for times_high, more_high, times_wide, more_wide in _ENLARGED:
        shapes = {}
        for image in fed_images(document):
            dims = [size or (1 if axis == image.axes.get("batch") else _USUAL) for axis, size in enumerate(image.dims)]
            for name, times, more in (("height", times_high, more_high), ("width", times_wide, more_wide)):
                dims[image.axes[name]] = dims[image.axes[name]] * times + more
            shapes[image.name] = tuple(dims)
        found += [shapes] if shapes else []
    return found
