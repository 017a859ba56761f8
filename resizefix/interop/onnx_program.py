"""The `ONNXProgram` that `torch.onnx.export(…, dynamo=True)` returns: an onnx_ir.Model and where it was exported from.

What comes back is called and saved like the one given; a promoted input is one more argument at the end. torch itself
is not imported. Source: torch/onnx/_internal/exporter/_onnx_program.py (2.13).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.interop import ir_model

if TYPE_CHECKING:
    import onnx_ir as ir


class ONNXProgram(Protocol):
    """What torch's ONNXProgram has, as far as it is used here."""

    model: ir.Model
    exported_program: object

    @property
    def model_proto(self) -> object:
        """The model as an onnx.ModelProto."""

    def __init__(self, model: ir.Model, exported_program: object) -> None: ...


def is_one(model: object) -> bool:
    """Whether `model` looks like an ONNXProgram. Its `model_proto`, which is made when asked for, is not asked for."""
    return hasattr(type(model), "model_proto") and hasattr(model, "exported_program")


def opened(model: ONNXProgram) -> Document:
    """A document of the program's model. Raises UsageError for a program of another making."""
    if not ir_model.is_one(model.model):
        raise UsageError(
            "interop.program-without-ir-model",
            qualname=type(model).__qualname__,
            qualname_2=type(model.model).__qualname__,
        )
    return ir_model.opened(model.model)


def returned(document: Document, like: ONNXProgram) -> ONNXProgram:
    """A program of the document's model and of the same exported program."""
    return type(like)(ir_model.returned(document, like.model), like.exported_program)
