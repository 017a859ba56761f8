"""Files that a stranger might send: each row a name, and how its folder is filled. The model is always `model.onnx`."""

import gzip
import io
import os
import pickle
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

Fill = Callable[[Path], None]


def value(
    name: str, shape: Sequence[Any] | None = (1, 1, 4, 4), elem_type: int = TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, elem_type, shape)


def scales(*values: float, name: str = "scales", dtype: Any = np.float32) -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype), name)


def resize(x: str = "x", y: str = "y", *, operands: Sequence[str] = ("", "scales"), **attributes: Any) -> NodeProto:
    return helper.make_node("Resize", [x, *operands], [y], name=attributes.pop("name", "resize"), **attributes)


def model(
    nodes: Sequence[NodeProto] | None = None,
    initializers: Sequence[TensorProto] | None = None,
    *,
    inputs: Sequence[onnx.ValueInfoProto] | None = None,
    outputs: Sequence[onnx.ValueInfoProto] | None = None,
    opset: int = 13,
    **others: Any,
) -> ModelProto:
    """The smallest model with a Resize, with what is hostile put in place of what is not."""
    graph = helper.make_graph(
        [resize(mode="nearest")] if nodes is None else list(nodes),
        "g",
        [value("x")] if inputs is None else list(inputs),
        [value("y", None)] if outputs is None else list(outputs),
        [scales(1, 1, 2, 2)] if initializers is None else list(initializers),
        value_info=others.pop("value_info", ()),
    )
    functions = others.pop("functions", ())
    domains = {function.domain for function in functions}
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, ir_version=8, opset_imports=imports, functions=functions, **others)


def file_of(content: bytes | ModelProto) -> Fill:
    data = content if isinstance(content, bytes) else content.SerializeToString()

    def fill(folder: Path) -> None:
        (folder / "model.onnx").write_bytes(data)

    return fill


def not_models() -> Iterator[tuple[str, Fill]]:
    rng = random.Random(0)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", b"x" * 100)
    yield "empty", file_of(b"")
    yield "zip", file_of(archive.getvalue())
    yield "pickle", file_of(pickle.dumps({"weight": [1.0]}))
    yield "pickle-that-acts", file_of(b"\x80\x04cos\nsystem\n(S'touch acted'\ntR.")
    yield "gzip", file_of(gzip.compress(model().SerializeToString(), mtime=0))
    yield "text-with-escapes", file_of(b"\x1b]0;title\x07\x1b[31mred\n" * 20)
    for size in (1, 64, 4096, 100_000):
        yield f"random-{size}", file_of(rng.randbytes(size))
    yield "zeros", file_of(bytes(100_000))
    yield "ones", file_of(b"\xff" * 100_000)
    whole = model().SerializeToString()
    yield "model-and-garbage", file_of(whole + rng.randbytes(100))
    yield "two-models", file_of(whole + whole)
    yield "groups", file_of(b"\x3b\x3c" * 50_000)
    graph = helper.make_graph([], "g", [value("location")], []).SerializeToString()
    yield "group-in-a-graph", file_of(_record(7, graph + b"\x9b\x06\x9c\x06"))
    yield "length-that-lies", file_of(b"\x3a" + _varint(1 << 40) + b"\x0a\x05abc")
    yield "length-of-2-64", file_of(b"\x3a" + b"\xff" * 9 + b"\x01" + bytes(5000))
    yield "length-inside-that-lies", file_of(_record(7, b"\x0a" + _varint(1 << 30) + bytes(5000)))
    yield "lengths-all-lie", file_of(b"".join(_record(7, b"\x0a\x7f") for _ in range(5000)))
    bodies = [6, 5, 1] * 10_000  # graph → node (1) → attribute (5) → graph (6)
    types = [1, 4] * 10_000 + [2]  # ValueInfo.type (2) → TypeProto.sequence_type (4) → elem_type (1) → …
    yield "subgraphs-10000-deep", file_of(_record(7, _nested(bodies)))
    yield "subgraphs-10000-deep-and-large", file_of(_record(7, _nested(bodies, bytes(5000))))
    yield "types-10000-deep", file_of(_record(7, _record(11, _nested(types))))

    def folder_itself(folder: Path) -> None:
        (folder / "model.onnx").mkdir()

    def pipe(folder: Path) -> None:
        os.mkfifo(folder / "model.onnx")

    def link(to: str) -> Fill:
        return lambda folder: (folder / "model.onnx").symlink_to(to)

    def terabytes(folder: Path) -> None:
        with (folder / "model.onnx").open("wb") as file:
            file.write(_record(7, b"")[:1] + _varint(1 << 41))
            file.truncate(1 << 41)

    yield "folder", folder_itself
    yield "pipe", pipe
    yield "link-to-itself", link("model.onnx")
    yield "link-to-nothing", link("nowhere")
    yield "link-to-a-device", link("/dev/zero")
    yield "sparse-file-of-terabytes", terabytes


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _record(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _nested(numbers: Sequence[int], innermost: bytes = b"") -> bytes:
    """Records inside each other, the innermost first: written from the inside out, each length once."""
    parts, length = [innermost], len(innermost)
    for number in numbers:
        header = _varint(number << 3 | 2) + _varint(length)
        parts.append(header)
        length += len(header)
    return b"".join(reversed(parts))


def graphs() -> Iterator[tuple[str, Fill]]:
    identity = helper.make_node
    cases: dict[str, ModelProto] = {
        "cycle-of-data": model([identity("Add", ["x", "b"], ["a"]), identity("Relu", ["a"], ["b"]), resize("b")]),
        "cycle-of-scales": model(
            [identity("Mul", ["s", "s"], ["t"]), identity("Neg", ["t"], ["s"]), resize(operands=("", "s"))], []
        ),
        "own-output-as-scales": model([resize(operands=("", "y"))], []),
        "own-output-as-input": model([resize("y")]),
        "two-producers": model([resize(), resize(name="other")]),
        "writes-an-input": model([resize(y="x")], outputs=[value("x", None)]),
        "writes-an-initializer": model([identity("Neg", ["x"], ["scales"]), resize()]),
        "same-node-names": model([resize(), resize("y", "z")], outputs=[value("z", None)]),
        "same-initializer-twice": model(None, [scales(1, 1, 2, 2), scales(1, 1, 3, 3)]),
        "same-input-twice": model(inputs=[value("x"), value("x", (2, 2))]),
        "same-output-twice": model(outputs=[value("y", None), value("y", None)]),
        "no-inputs": model([helper.make_node("Resize", [], ["y"])]),
        "no-outputs": model([helper.make_node("Resize", ["x", "", "scales"], [])]),
        "empty-outputs": model([helper.make_node("Resize", ["x", "", "scales"], ["", ""])] * 2),
        "many-inputs": model([helper.make_node("Resize", ["x"] * 5000, ["y"])]),
        "undefined-names": model([resize("nowhere", operands=("", "neither"))]),
        "nothing": ModelProto(),
        "empty-graph": helper.make_model(helper.make_graph([], "", [], [])),
        "empty-nodes": model([NodeProto()] * 100),
        "500-resizes": model([resize(f"t{i}", f"t{i + 1}", name="") for i in range(500)], inputs=[value("t0")]),
        "wide-shapes": model(inputs=[value("x", [1] * 100_000)]),
        "negative-dims": model(inputs=[value("x", [-1, -(2**62), 2**62, 2**62])]),
        "huge-dims": model(inputs=[value("x", [1, 1, 2**31, 2**31])]),
        "no-types": model(inputs=[onnx.ValueInfoProto(name="x")], outputs=[onnx.ValueInfoProto(name="y")]),
        "input-of-unknown-type": model(inputs=[value("x", elem_type=77)]),
        "sequence-of-sequences": model(inputs=[_sequences("x", 15)]),
    }
    for number in (0, -1, 5, 6, 9, 99, 2**31, 2**62):
        cases[f"opset-{number}"] = model(opset=number)
        cases[f"ir-{number}"] = model()
        cases[f"ir-{number}"].ir_version = number
    cases["no-opset"] = model()
    del cases["no-opset"].opset_import[:]
    cases["two-opsets"] = model()
    cases["two-opsets"].opset_import.append(helper.make_opsetid("ai.onnx", 9))
    cases["if-without-branches"] = model([helper.make_node("If", ["x"], ["y"])])
    cases["bodies-30-deep"] = model([nested_if(30)], inputs=[value("x"), value("c", [], TensorProto.BOOL)])
    cases["loop-of-itself"] = model([helper.make_node("Loop", ["y", ""], ["y"], body=model().graph)])
    for name, body in cases.items():
        yield name, file_of(body)


def functions() -> Iterator[tuple[str, Fill]]:
    def call(name: str, x: str = "a", y: str = "b", domain: str = "f") -> NodeProto:
        return helper.make_node(name, [x], [y], domain=domain)

    def function(name: str, *nodes: NodeProto) -> onnx.FunctionProto:
        return helper.make_function(
            "f", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 13), helper.make_opsetid("f", 1)]
        )

    main = [call("F", "x", "t"), resize("t")]
    yield "function-of-itself", file_of(model(main, functions=[function("F", call("F"))]))
    each_other = [function("F", call("G")), function("G", call("F"))]
    yield "functions-of-each-other", file_of(model(main, functions=each_other))
    inside = helper.make_node("If", ["a"], ["b"], then_branch=helper.make_graph([call("F")], "t", [], [value("b")]))
    yield "function-of-itself-in-a-body", file_of(model(main, functions=[function("F", inside)]))
    chain = [function(f"F{i}", call(f"F{i + 1}")) for i in range(2000)] + [function("F2000", call("Relu", domain=""))]
    yield "functions-2000-deep", file_of(model([call("F0", "x", "t"), resize("t")], functions=chain))
    twice = [function(f"F{i}", call(f"F{i + 1}", "a", "c"), call(f"F{i + 1}", "c", "b")) for i in range(40)]
    twice.append(function("F40", call("Relu", domain="")))
    yield "functions-that-double", file_of(model([call("F0", "x", "t"), resize("t")], functions=twice))
    yield "function-twice", file_of(model(main, functions=[function("F", call("Relu", domain=""))] * 2))
    shadow = function("Resize", helper.make_node("Relu", ["a"], ["b"]))
    shadow.domain = ""
    yield "function-named-resize", file_of(model(functions=[shadow]))
    yield "function-without-nodes", file_of(model(main, functions=[function("F")]))


def operands() -> Iterator[tuple[str, Fill]]:
    nan, inf = float("nan"), float("inf")
    for number in (nan, inf, -inf, 0.0, -0.0, -1.0, 1e30, 1e-30, 1e-45, 1e6, 3.4e38):
        yield f"scales-{number}", file_of(model(None, [scales(1, 1, number, number)]))
        attribute = [helper.make_node("Upsample", ["x"], ["y"], scales=[1, 1, number, number])]
        yield f"attribute-{number}", file_of(model(attribute, [], opset=8))
        by_height = [helper.make_node("Upsample", ["x"], ["y"], height_scale=number, width_scale=number)]
        yield f"height-{number}", file_of(model(by_height, [], opset=1))
    for size in (0, -1, 1, 2**31, 2**62, -(2**63)):
        sizes = scales(1, 1, size, size, dtype=np.int64)
        yield f"sizes-{size}", file_of(model([resize(operands=("", "", "scales"))], [sizes]))
    shapes = {"empty": (0,), "scalar": (), "matrix": (2, 2), "short": (2,), "long": (100_000,)}
    for name, shape in shapes.items():
        tensor = numpy_helper.from_array(np.full(shape, 2, np.float32), "scales")
        yield f"scales-{name}", file_of(model(None, [tensor]))
    for dtype in (np.float64, np.float16, np.int32, np.bool_, np.complex64):
        yield f"scales-{np.dtype(dtype).name}", file_of(model(None, [scales(1, 1, 2, 2, dtype=dtype)]))
    strings = TensorProto(name="scales", data_type=TensorProto.STRING, dims=[4], string_data=[b"\xff\x1b[2J"] * 4)
    yield "scales-strings", file_of(model(None, [strings]))
    liars = {
        "claims-terabytes": {"dims": [1 << 42], "data_type": 1},
        "claims-terabytes-raw": {"dims": [1 << 42], "data_type": 1, "raw_data": bytes(16)},
        "claims-2-64": {"dims": [1 << 62, 1 << 62], "data_type": 1, "raw_data": bytes(16)},
        "claims-less-than-nothing": {"dims": [-4], "data_type": 1, "raw_data": bytes(16)},
        "claims-nothing": {"dims": [0, 1 << 62], "data_type": 1},
        "too-short": {"dims": [4], "data_type": 1, "raw_data": bytes(15)},
        "too-long": {"dims": [4], "data_type": 1, "raw_data": bytes(17)},
        "two-fields": {"dims": [4], "data_type": 1, "raw_data": bytes(16), "float_data": [1, 1, 3, 3]},
        "no-type": {"dims": [4], "raw_data": bytes(16)},
        "unknown-type": {"dims": [4], "data_type": 99, "raw_data": bytes(16)},
        "segment": {"dims": [4], "data_type": 1, "segment": TensorProto.Segment(begin=0, end=1 << 62)},
        "many-dims": {"dims": [1] * 100_000, "data_type": 1, "raw_data": bytes(4)},
    }
    for name, fields in liars.items():
        yield f"scales-{name}", file_of(model(None, [TensorProto(name="scales", **fields)]))
        constant = helper.make_node("Constant", [], ["scales"], value=TensorProto(**fields))
        yield f"constant-{name}", file_of(model([constant, resize()], []))
        weight = helper.make_node("Add", ["x", "w"], ["t"])
        tensors = [scales(1, 1, 2, 2), TensorProto(name="w", **fields)]
        yield f"weight-{name}", file_of(model([weight, resize("t")], tensors))
    for name, nodes, tensors in _bombs():
        yield f"bomb-{name}", file_of(model([*nodes, resize(operands=("", "s"))], tensors))


def _bombs() -> Iterator[tuple[str, list[NodeProto], list[TensorProto]]]:
    """Constant scales that are small to say and too large to compute; more of them are in hostile_values.py."""
    node = helper.make_node
    products = [node("Mul", [f"t{i}", f"t{i}"], [f"t{i + 1}"]) for i in range(60)]
    yield "mul", [*products, node("Identity", ["t60"], ["s"])], [scales(1, 2, name="t0")]
    row, column = np.ones((1, 60_000), np.float32), np.ones((60_000, 1), np.float32)
    wide = [numpy_helper.from_array(row, "r"), numpy_helper.from_array(column, "c")]
    yield "broadcast", [node("Mul", ["r", "c"], ["s"])], wide
    yield "matmul", [node("MatMul", ["c", "r"], ["s"])], wide
    long = [node("Neg", [f"t{i}"], [f"t{i + 1}"]) for i in range(5000)]
    yield "long-chain", [*long, node("Identity", ["t5000"], ["s"])], [scales(1, 1, 2, 2, name="t0")]
    strange = node("Constant", [], ["s"], value_ints=[1] * 200_000)
    yield "constant-list", [strange], []


def attributes() -> Iterator[tuple[str, Fill]]:
    def with_attribute(attribute: AttributeProto) -> ModelProto:
        node = resize(mode="nearest")
        node.attribute.append(attribute)
        return model([node], opset=18)

    made = helper.make_attribute
    nan = float("nan")
    cases = {
        "mode-int": made("mode", 3),
        "mode-floats": made("mode", [1.0]),
        "mode-not-utf8": made("mode", b"\xff\x1b[31m"),
        "mode-graph": made("mode", model().graph),
        "mode-of-no-type": AttributeProto(name="mode", s=b"linear"),
        "mode-by-reference": AttributeProto(name="mode", type=AttributeProto.STRING, ref_attr_name="m"),
        "scales-attribute": made("scales", [1.0, nan]),
        "axes-huge": made("axes", [2**62, -(2**63)]),
        "axes-twice": made("axes", [2, 2]),
        "axes-many": made("axes", [2] * 100_000),
        "axes-empty": AttributeProto(name="axes", type=AttributeProto.INTS),
        "coefficient-nan": made("cubic_coeff_a", nan),
        "coefficient-inf": made("cubic_coeff_a", float("inf")),
        "extrapolation-nan": made("extrapolation_value", nan),
        "antialias-7": made("antialias", 7),
        "antialias-float": made("antialias", 1.5),
        "unknown-attribute": made("\x1b[31m", "x"),
        "no-name": AttributeProto(type=AttributeProto.INT, i=3),
        "coordinates": made("coordinate_transformation_mode", "\x1b]0;x\x07"),
        "policy": made("keep_aspect_ratio_policy", "[/]"),
        "graph-without-graph": AttributeProto(name="body", type=AttributeProto.GRAPH),
        "tensor-without-tensor": AttributeProto(name="value", type=AttributeProto.TENSOR),
    }
    for name, attribute in cases.items():
        yield f"attribute-{name}", file_of(with_attribute(attribute))
    for name, attribute in cases.items():
        constant = helper.make_node("Constant", [], ["scales"])
        attribute.name = "value"
        constant.attribute.append(attribute)
        yield f"constant-{name}", file_of(model([constant, resize()], []))


def _sequences(name: str, depth: int) -> onnx.ValueInfoProto:
    kind = helper.make_tensor_type_proto(1, [1])
    for _ in range(depth):
        kind = helper.make_sequence_type_proto(kind)
    return helper.make_value_info(name, kind)


def nested_if(depth: int) -> NodeProto:
    node = resize(name="inner")
    for _ in range(depth):
        body = helper.make_graph([node], "b", [], [value("y", None)])
        node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=helper.make_graph([], "e", [], []))
    return node
