"""Types and shapes of a model that may hold resize nodes: inference, with the sizes that onnxruntime gives them."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto

from resizefix.dialects.output_size import RESIZED
from resizefix.document import shapes
from resizefix.document.shapes import Dims, Key, Shapes


def shapes_of(model: ModelProto) -> Shapes:
    """What is known of every tensor; never the size that onnx gives the output of a resize and onnxruntime does not."""
    return Shapes(model, RESIZED)


def rederive(model: ModelProto, seeds: Mapping[Key, Dims | None]) -> None:
    """`document.shapes.rederive`: every stored shape that depends on the seeded tensors is made true again."""
    shapes.rederive(model, seeds, RESIZED)
