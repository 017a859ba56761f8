"""A model raised to a later opset: one row per operator whose words or meaning changed; all others stay as they are.

onnx.version_converter is not used: it changes numbers (Resize 9 → 10 → 11 loses its coordinates). An operator without a
row whose new schema does not take the node as it is, is refused. Local functions are raised with the model: onnxruntime
reads their nodes by the opset of the model, whatever they import (ONNX docs/IR.md wants both to mean the same).
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import FunctionProto, NodeProto, TensorProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import RESIZES, dialect_of
from resizefix.dialects.read import read
from resizefix.document.document import Document
from resizefix.document.edits import add_initializer, insert_nodes, replace_nodes, set_default_opset
from resizefix.document.node_builder import FreshNames
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, default_opset, names_in
from resizefix.document.text import counted
from resizefix.document.values import Array, Dims
from resizefix.errors import RefusedError
from resizefix.opsets.newest import NEWEST_RAISED
from resizefix.scope_path import FunctionName
from resizefix.shapes.model_view import ModelView
from resizefix.shapes.operand import MISFITS
from resizefix.shapes.signatures import since_version, violation, why_incomplete

_MANTISSA_OF_POWER = 0.5  # as numpy.frexp splits a power of 2


@dataclass
class Raised:
    """One node on its way: `node` is a copy that a row changes, `tensors` are the constants that it reads then."""

    node: NodeProto
    view: ModelView
    scope: Scope
    names: FreshNames
    tensors: list[TensorProto] = field(default_factory=list)

    def dims(self, name: str) -> Dims | None:
        """The sizes of a tensor that the node can see, as far as they are known."""
        return self.view.dims(self.scope, name)

    def value(self, name: str) -> Array | None:
        """The value of a tensor that nothing at run time can change; None for another."""
        return self.view.value(self.scope, name)

    def take(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, which is removed."""
        for place, attribute in enumerate(self.node.attribute):
            if attribute.name == name:
                value = helper.get_attribute_value(attribute)
                del self.node.attribute[place]
                return value
        return default

    def put(self, name: str, value: Any) -> None:
        """Write an attribute that is not there."""
        self.node.attribute.append(helper.make_attribute(name, value))

    def read(self, position: int, what: str, value: Array) -> None:
        """Let input `position` read a constant."""
        tensor = numpy_helper.from_array(value, self.names.fresh(f"{self.node.output[0]}_{what}"))
        self.tensors.append(tensor)
        self.node.input.extend([""] * (position + 1 - len(self.node.input)))
        self.node.input[position] = tensor.name


Rewrite = Callable[[Raised], None]


def _to_inputs(*names: str, dtype: npt.DTypeLike = np.int64) -> Rewrite:
    """Attributes become inputs, from the second on: integers int64 vectors, others what they are in `dtype`."""

    def rewrite(raised: Raised) -> None:
        values = [raised.take(name) for name in names]
        for position, (name, value) in enumerate(zip(names, values, strict=True), start=1):
            if value is not None:
                array = np.array(value, dtype)
                raised.read(position, name, array.reshape(-1) if dtype is np.int64 else array)

    return rewrite


def _renamed(op_type: str) -> Rewrite:
    def rewrite(raised: Raised) -> None:
        raised.node.op_type = op_type

    return rewrite


def _refused(code: str = "opsets.raise-changed-meaning") -> Rewrite:
    def rewrite(raised: Raised) -> None:
        raise RefusedError(code)

    return rewrite


def _batch_normalization_9(raised: Raised) -> None:
    if raised.take("spatial", 1) != 1:
        raise RefusedError("opsets.raise-spatial")


def _resize_11(raised: Raised) -> None:
    """Resize-10 samples asymmetrically; nearest rounds down where an axis grows and up where it shrinks."""
    scales = raised.node.input[1]
    raised.put("coordinate_transformation_mode", "asymmetric")
    if raised.take("mode", b"nearest") in (b"nearest", "nearest"):
        raised.put("nearest_mode", _rounding(raised.value(scales)))
        raised.put("mode", "nearest")
    else:
        raised.put("mode", "linear")
    raised.read(1, "roi", np.zeros(0, np.float32))
    raised.node.input.append(scales)


def _rounding(scales: Array | None) -> str:
    """How all axes round. Where an axis shrinks by a power of 2 every sample lies on one of the input's."""
    if scales is None or scales.dtype.kind not in "fiu":  # strings are no scales
        raise RefusedError("opsets.raise-rounding")
    grows, shrinks = scales > 1, scales < 1
    rounded = shrinks & (np.frexp(scales)[0] != _MANTISSA_OF_POWER)
    if np.any(grows) and np.any(rounded):
        raise RefusedError("opsets.raise-rounding-both", scales=scales.tolist())
    return "ceil" if np.any(shrinks) and not np.any(grows) else "floor"


def _pad_11(raised: Raised) -> None:
    value = raised.take("value", 0.0)
    raised.read(1, "pads", np.array(raised.take("pads"), np.int64))
    if value:
        raised.read(2, "value", np.array(value, np.float32))


def _dropout_10(raised: Raised) -> None:
    """The mask becomes a bool here, and at opset 12 true where it was false: only one that nothing reads can go."""
    masks = set(raised.node.output[1:]) - {""}
    del raised.node.output[1:]
    for scope in raised.view.scopes.all if masks else ():
        read = {name for node in scope.body.node for name in node.input}
        if masks & (read | {value if isinstance(value, str) else value.name for value in scope.body.output}):
            raise RefusedError("opsets.raise-changed-meaning")


def _dropout_12(raised: Raised) -> None:
    _dropout_10(raised)
    _to_inputs("ratio", dtype=np.float32)(raised)


def _softmax_13(raised: Raised) -> None:
    """Before opset 13 the input is flattened at `axis`; from then on one axis is normalised."""
    axis = int(raised.take("axis", 1))
    dims = raised.dims(raised.node.input[0])
    if dims is None:
        raise RefusedError("opsets.raise-rank")
    rank = len(dims)
    if axis % max(rank, 1) != rank - 1:
        raise RefusedError("opsets.raise-softmax", axis=axis, rank=rank)
    raised.put("axis", rank - 1)


def _resize_13(raised: Raised) -> None:
    """Empty operands beside sizes are left out from here on; one that only a run shows to be empty cannot be."""
    node = raised.node
    if len(node.input) > 3 and node.input[3] and node.input[2]:
        scales = raised.value(node.input[2])
        if scales is None or scales.size:
            raise RefusedError("opsets.raise-fed-scales")
        node.input[2] = ""


def _split_18(raised: Raised) -> None:
    if len(raised.node.input) < 2 or not raised.node.input[1]:
        raised.put("num_outputs", len(raised.node.output))


def _grid_sample_20(raised: Raised) -> None:
    words = {b"bilinear": "linear", b"bicubic": "cubic", b"nearest": "nearest"}
    mode = raised.take("mode")
    if mode is not None:
        raised.put("mode", words[mode if isinstance(mode, bytes) else mode.encode()])


_REDUCTIONS_18 = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSumSquare",
)  # fmt: skip

# What an opset changed in an operator's words or meaning (docs/Changelog.md of onnx, the version of that number).
ROWS: dict[int, dict[str, Rewrite]] = {
    9: {
        "Upsample": _to_inputs("scales", dtype=np.float32),
        "BatchNormalization": _batch_normalization_9,
        "Scan": _refused(),
    },
    10: {
        "Upsample": _renamed("Resize"),
        "Slice": _to_inputs("starts", "ends", "axes"),
        "TopK": _to_inputs("k"),
        "Dropout": _dropout_10,
    },
    11: {
        "Resize": _resize_11,
        "Clip": _to_inputs("min", "max", dtype=np.float32),
        "Pad": _pad_11,
        "Scatter": _renamed("ScatterElements"),
    },
    12: {"Dropout": _dropout_12},
    13: {
        **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), _softmax_13),
        **dict.fromkeys(("Squeeze", "Unsqueeze", "ReduceSum"), _to_inputs("axes")),
        "Split": _to_inputs("split"),
        "Resize": _resize_13,
    },
    # training_mode: with more than one output the old node trained
    14: {"BatchNormalization": lambda raised: _refused()(raised) if len(raised.node.output) > 1 else None},
    16: {"RoiAlign": lambda raised: raised.put("coordinate_transformation_mode", "output_half_pixel")},
    18: {**dict.fromkeys(_REDUCTIONS_18, _to_inputs("axes")), "Split": _split_18},
    # not in ONNX, but in onnxruntime: the last bit of a mean differs
    19: {"AveragePool": _refused("opsets.raise-sums")},
    20: {"GridSample": _grid_sample_20, "DFT": _refused()},
    # scale and bias per channel instead of per group
    21: {"GroupNormalization": _refused()},
}

_FIRST_IR_WITH_OPSETS = 3
_FROM_18_ON = range(18, 1000)
# Operators that onnxruntime computes by ONNX's function body in half precision, and at which opsets. Its CPU has no
# float16 kernel of them: it computes them in float32 between Casts of its own, except at these opsets. There it puts
# the operators of the function body in their place, which round to float16 at other points: Relu becomes Max, which has
# such a kernel. Read off the graphs that onnxruntime 1.32.0 runs with optimisation disabled.
BODY_OPSETS: dict[str, range] = {
    **dict.fromkeys(("LeakyRelu", "PRelu"), range(16, 19)),
    **dict.fromkeys(("Relu", "Elu", "Selu", "ThresholdedRelu", "Softplus", "Softsign", "Mish"), range(18, 19)),
    **dict.fromkeys(("HardSigmoid", "HardSwish", "ReduceL2", "ReduceLogSumExp"), range(18, 19)),
    **dict.fromkeys(("ReduceL1", "ReduceLogSum", "ReduceSumSquare"), _FROM_18_ON),
}


def raised_to(document: Document, opset: int, leave: frozenset[str] = frozenset()) -> Document:
    """A copy of the document that imports `opset` of ai.onnx and computes the same; `document` stays as it is.

    Operators of `leave` stay as they are, as do functions of another opset that hold one. Raises RefusedError with the
    first operator that cannot be raised.
    """
    if opset > NEWEST_RAISED:
        raise RefusedError("opsets.raise-unread", opset=opset, newest=NEWEST_RAISED)
    made = document.copy()
    if not any(entry.domain in DEFAULT_DOMAINS for entry in made.proto.opset_import):
        made.proto.opset_import.append(helper.make_opsetid("", 1))  # as it is read; IR 1 and 2 name no opset
        made.proto.ir_version = max(made.proto.ir_version, _FIRST_IR_WITH_OPSETS)
    before = default_opset(made.proto.opset_import, fallback=1)
    view = ModelView(made)
    moved = _first_computed_otherwise(view, before, opset)
    if moved is not None:
        raise _refusal(moved, opset, Diagnostic("opsets.raise-half", before=before))
    kept = {
        scope.path.function
        for scope in view.scopes.all
        if scope.opset != before and any(node.op_type in leave for node in scope.body.node)
    }
    for version in range(min(scope.opset for scope in view.scopes.all) + 1, opset + 1):
        _step(made, version, leave, kept)
    return made


def why_not_raised(document: Document, opset: int, leave: frozenset[str] = frozenset()) -> str | None:
    """Why `raised_to` refuses the document; None: it does not."""
    try:
        raised_to(document, opset, leave)
    except RefusedError as error:
        return error.diagnostic
    return None


def _step(document: Document, version: int, leave: frozenset[str], kept: Container[FunctionName | None]) -> None:
    """From the opset before `version` to it: the model and those functions, but for `kept`, that import that one."""
    view = ModelView(document)
    names = FreshNames(names_in(document.proto))
    rows = ROWS.get(version, {})
    for scope in view.scopes.all:
        if scope.opset != version - 1 or scope.path.function in kept:
            continue
        instead: dict[str, Sequence[NodeProto]] = {}
        constants: list[NodeProto] = []  # of a function, which sees no initializers
        for node in scope.body.node:
            if node.domain not in DEFAULT_DOMAINS or node.op_type in leave:
                continue
            row = rows.get(node.op_type)
            if row is None:
                _require_taken(node, version)
                continue
            invalid = _why_invalid(node, version - 1)
            if invalid is not None:  # a row reads what the older schema promises
                raise _refusal(node, version, Diagnostic("opsets.raise-invalid", opset=version - 1, why=invalid))
            raised = Raised(NodeProto(), view, scope, names)
            raised.node.CopyFrom(node)
            try:
                row(raised)
            except RefusedError as error:
                raise _refusal(node, version, error.diagnostic) from error
            except MISFITS as error:
                why = Diagnostic("opsets.node-does-not-fit", operator=node.op_type)
                raise _refusal(node, version, why) from error
            _require_taken(raised.node, version)
            for tensor in raised.tensors:
                if scope.in_function:
                    constants.append(helper.make_node("Constant", [], [tensor.name], value=tensor))
                else:
                    add_initializer(document.proto, tensor)
            instead[node.output[0]] = (raised.node,)
        replace_nodes(scope.body, instead)
        insert_nodes(scope.body, 0, constants)
    for owner in (document.proto, *document.proto.functions):
        name = FunctionName.of(owner) if isinstance(owner, FunctionProto) else None
        if default_opset(owner.opset_import, fallback=0) == version - 1 and name not in kept:
            set_default_opset(owner, version)


def _why_invalid(node: NodeProto, opset: int) -> str | None:
    """What is wrong with the node in its own opset; None: nothing."""
    if not any(node.output):
        return Diagnostic("opsets.has-outputs", count=counted(0, "output"), version=f"{node.op_type} in ONNX")
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return Diagnostic("opsets.raise-argument")
    if node.op_type not in RESIZES:
        return why_incomplete(node, opset)
    try:
        read(node, dialect_of(node.op_type, opset))
    except RefusedError as error:
        return error.diagnostic
    return None


def _require_taken(node: NodeProto, version: int) -> None:
    """Raises RefusedError unless the schema of this opset takes the node as it is."""
    is_new = since_version(node.op_type, version) in (version, 0)
    wrong = violation(node, version, lambda name: None) if is_new else None
    if wrong is not None:
        raise _refusal(node, version, wrong)


def _refusal(node: NodeProto, version: int, why: str) -> RefusedError:
    label = node.name or (node.output[0] if node.output else "")
    return RefusedError("opsets.raise-refused", operator=node.op_type, label=label, opset=version, why=why)


def _first_computed_otherwise(view: ModelView, before: int, after: int) -> NodeProto | None:
    """The first node that onnxruntime computes in another way at opset `after` than at `before`; None: there is none.

    No types are known in local functions, which are passed over.
    """
    moved = {name for name, opsets in BODY_OPSETS.items() if (before in opsets) != (after in opsets)}
    for scope in view.scopes.all:
        nodes: Sequence[NodeProto] = () if scope.in_function else scope.body.node
        for node in nodes:
            found = node.op_type in moved and node.domain in DEFAULT_DOMAINS and bool(node.input)
            if found and view.elem_type(scope, node.input[0]) == TensorProto.FLOAT16:
                return node
    return None
