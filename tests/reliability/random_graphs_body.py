"""A graph under construction: nodes with or without names, constants in every spelling, metadata nobody reads."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

# A field that no version of ONNX has, number 1000: three bytes.
UNKNOWN_FIELD = b"\xc2\x3e\x03abc"


@dataclass
class Source:
    """What the whole model shares: the draws, the names, the inputs and what they are fed."""

    rng: random.Random
    opset: int
    ir_version: int
    count: int = 0
    feeds: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    defaults: list[TensorProto] = field(default_factory=list)

    def fresh(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}"

    def input(
        self, word: str, value: np.ndarray, *, dims: Sequence[int | str] | None = None, default: bool = False
    ) -> str:
        """A graph input that is fed `value`; with `default` it need not be."""
        name = self.fresh(word)
        elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, elem_type, value.shape if dims is None else dims))
        self.feeds[name] = value
        if default:
            self.defaults.append(numpy_helper.from_array(value, name))
        return name


@dataclass
class Body:
    """The nodes of one graph or function; `initializers` is None in a function, which can hold none."""

    source: Source
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] | None = field(default_factory=list)
    is_main: bool = False

    def node(self, op_type: str, inputs: Sequence[str], word: str = "t", outputs: int = 1, **attributes: object) -> str:
        """Adds a node and gives the name of its first output."""
        rng = self.source.rng
        names = [self.source.fresh(word) for _ in range(outputs)]
        made = helper.make_node(op_type, inputs, names)
        if rng.random() < 0.6:
            made.name = self.source.fresh(f"{op_type}_")
        if rng.random() < 0.15:
            made.doc_string = "a word\nfrom the exporter ✓"
        if rng.random() < 0.15:
            entry = made.metadata_props.add()
            entry.key, entry.value = "pkg.torch.onnx.name_scopes", "['', 'up']"
        if rng.random() < 0.1:
            made.MergeFromString(UNKNOWN_FIELD)
        made.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        if "domain" in attributes:
            raise AssertionError("a domain is no attribute")
        self.nodes.append(made)
        return names[0]

    def initializer(self, value: np.ndarray, word: str = "w") -> str:
        assert self.initializers is not None
        name = self.source.fresh(word)
        tensor = numpy_helper.from_array(value, name)
        if self.source.rng.random() < 0.3 and value.dtype in (np.float32, np.int64):  # the typed fields
            tensor = helper.make_tensor(name, tensor.data_type, value.shape, value.reshape(-1).tolist())
        if self.source.rng.random() < 0.1:
            tensor.doc_string = "kept"
        self.initializers.append(tensor)
        return name

    def constant_node(self, value: np.ndarray, word: str = "c") -> str:
        """A Constant node, in a spelling that the opset has."""
        rng = self.source.rng
        if self.source.opset >= 12 and value.ndim == 1 and value.size and rng.random() < 0.5:
            if value.dtype == np.float32:
                return self.node("Constant", [], word, value_floats=value.tolist())
            if value.dtype == np.int64:
                return self.node("Constant", [], word, value_ints=value.tolist())
        return self.node("Constant", [], word, value=numpy_helper.from_array(value, self.source.fresh("v")))

    def constant(self, value: np.ndarray, word: str = "c") -> str:
        """Either spelling of a constant that this body can hold."""
        if self.initializers is None or self.source.rng.random() < 0.4:
            return self.constant_node(value, word)
        return self.initializer(value, word)
