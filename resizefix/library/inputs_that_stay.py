"""What is said of the inputs that do not change with the image."""

from __future__ import annotations

from collections.abc import Container, Sequence

from onnx import ModelProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.text import listed
from resizefix.shapes.image_axes import ImageInput, batches_beside, images_beside, open_beside


def inputs_that_stay(model: ModelProto, images: Sequence[ImageInput], asked: Container[str]) -> list[str]:
    """Sentences that name the inputs of which the size stays, or the batch where another one is asked for."""
    said: list[str] = []
    for image in images_beside(model, images):
        size = f"{image.old('height')} x {image.old('width')}"
        said.append(Diagnostic("library.input-size-stays", name=image.name, size=size))
    said += [Diagnostic("library.input-size-stays-open", name=image.name) for image in open_beside(model, images)]
    others = batches_beside(model, images) if "batch" in asked else []
    return [*said, Diagnostic("library.input-size-batch-stays", names=listed(others))] if others else said
