"""Where a drawn resize node stands: in the main graph, a branch, a loop's or a scan's body, or a local function."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from onnx import FunctionProto, TensorProto, ValueInfoProto, helper
from random_graphs_body import Body, Source
from random_graphs_neighbours import Tensor
from random_graphs_origin import ATTRIBUTE, SHARED, WAYS, Way
from random_graphs_spelling import Spelling


@dataclass(frozen=True)
class Placed:
    """One resize node of the drawn model: what it writes, how it is spelled, where its extent comes from."""

    output: str
    spelling: Spelling
    way: Way
    place: str
    x: Tensor
    operand: str = ""
    input: str = ""  # the graph input that feeds the operand
    values: tuple[float, ...] = ()


Write = Callable[[Body, Spelling, Tensor, "list[Placed]", "list[FunctionProto]"], Tensor]


@dataclass(frozen=True)
class Place:
    """`goes_on`: whether what follows can take the result for an image of the same rank."""

    name: str
    write: Write
    since: int = 7
    weight: int = 1
    goes_on: bool = True

    def fits(self, source: Source) -> bool:
        return source.opset >= self.since and (self.name != "function" or source.ir_version >= 8)


def resize(
    body: Body, spelling: Spelling, x: Tensor, sites: list[Placed], place: str, way: Way | None = None
) -> tuple[Tensor, Placed]:
    """The node and what makes its operands, into `body`."""
    rng = body.source.rng
    attributes = dict(spelling.attributes)
    if spelling.opset < 9:
        spelling = replace(spelling, values=tuple(np.array(spelling.values, np.float32).tolist()))
        name = body.node("Upsample", [x.name], "y", **attributes, scales=list(spelling.values))
        placed = Placed(name, spelling, ATTRIBUTE, place, x, values=spelling.values)
        sites.append(placed)
        return Tensor(name, spelling.output_dims(x.sizes), x.dtype), placed
    known = set(body.source.feeds)
    if way is None:
        way = rng.choice([way for way in WAYS for _ in range(way.weight) if _fits(way, body, spelling, x)])
    twin = _same_constant(body, spelling, sites) if way.kind in ("initializer", "constant") else None
    if twin is not None and rng.random() < 0.6:
        way, operand, values = twin.way, twin.operand, twin.values  # the same origin, however it is spelled
    else:
        constants, values = way.constants(spelling, x.sizes)
        operand = way.write(body, spelling, x.name, constants)
    spelling = replace(spelling, values=values)
    fed = next((name for name in body.source.feeds if name not in known), "")
    name = body.node(spelling.op_type, _inputs(body, spelling, x.name, operand), "y", **attributes)
    placed = Placed(name, spelling, way, place, x, operand, fed, values)
    sites.append(placed)
    return Tensor(name, spelling.output_dims(x.sizes), x.dtype), placed


def _fits(way: Way, body: Body, spelling: Spelling, x: Tensor) -> bool:
    if spelling.kind not in way.kinds or (way.full and spelling.axes is not None):
        return False
    if (way.main and not body.is_main) or (body.initializers is None and not way.local):
        return False
    # data is what is larger than the handful of numbers that may well be meant as scales
    data = next(iter(body.source.feeds.values()))
    return not way.floating or (x.dtype == "float32" and data.ndim > 1 and data.size > 16)


def _same_constant(body: Body, spelling: Spelling, sites: list[Placed]) -> Placed | None:
    if not body.is_main:
        return None
    wanted = tuple(np.array(spelling.values, np.float32 if spelling.kind == "scales" else np.int64).tolist())
    for site in sites:
        constant = site.way.kind in ("initializer", "constant") and site.place == "main" and site.operand
        if constant and site.spelling.kind == spelling.kind and site.values == wanted:
            return site
    return None


def _inputs(body: Body, spelling: Spelling, x: str, operand: str) -> list[str]:
    rng = body.source.rng
    if spelling.opset < 11:
        return [x, operand]
    mandatory = spelling.opset < 13

    def unused(word: str) -> str:
        return body.constant(np.zeros(0, np.float32), word) if mandatory or rng.random() < 0.2 else ""

    roi = unused("roi") if spelling.roi is None else body.constant(np.array(spelling.roi, np.float32), "roi")
    if spelling.kind == "sizes":
        return [x, roi, unused("scales"), operand]
    return [x, roi, operand, ""] if rng.random() < 0.1 else [x, roi, operand]


def _info(name: str, x: Tensor) -> ValueInfoProto:
    """Of the type of x, and any shape."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype)), None)


def _in_main(body: Body, spelling: Spelling, x: Tensor, sites: list[Placed], functions: list[FunctionProto]) -> Tensor:
    return resize(body, spelling, x, sites, "main")[0]


def _in_if(body: Body, spelling: Spelling, x: Tensor, sites: list[Placed], functions: list[FunctionProto]) -> Tensor:
    rng, source = body.source.rng, body.source
    then, other = Body(source), Body(source)
    y, _ = resize(then, spelling, x, sites, "If")
    if y.dims == x.dims and rng.random() < 0.5:
        z = other.node("Identity", [x.name], "same")
    else:
        z = resize(other, spelling, x, sites, "If")[0].name
    graphs = [
        helper.make_graph(inner.nodes, "branch", [], [_info(name, x)], inner.initializers)
        for inner, name in ((then, y.name), (other, z))
    ]
    yes = np.array(True)
    condition = body.constant(yes) if rng.random() < 0.4 else source.input("cond", yes)
    result = body.node("If", [condition], "chosen", then_branch=graphs[0], else_branch=graphs[1])
    return Tensor(result, y.dims, x.dtype)


def _in_loop(body: Body, spelling: Spelling, x: Tensor, sites: list[Placed], functions: list[FunctionProto]) -> Tensor:
    source = body.source
    inner = Body(source)
    y, _ = resize(inner, spelling, x, sites, "Loop")
    count, condition, going_on = (source.fresh(word) for word in ("i", "cond", "go"))
    inner.nodes.append(helper.make_node("Identity", [condition], [going_on]))
    infos = [helper.make_tensor_value_info(going_on, TensorProto.BOOL, []), _info(y.name, x)]
    inputs = [
        helper.make_tensor_value_info(name, kind, [])
        for name, kind in ((count, TensorProto.INT64), (condition, TensorProto.BOOL))
    ]
    graph = helper.make_graph(inner.nodes, "rounds", inputs, infos, inner.initializers)
    times = body.constant(np.array(2, np.int64))
    result = body.node("Loop", [times, body.constant(np.array(True))], "rounds", body=graph)
    return Tensor(result, None if y.dims is None else (2, *y.dims), x.dtype)


def _in_scan(body: Body, spelling: Spelling, x: Tensor, sites: list[Placed], functions: list[FunctionProto]) -> Tensor:
    """The body resizes the whole outer X once per row of it: Scan's own slices have another rank."""
    source = body.source
    inner = Body(source)
    y, _ = resize(inner, spelling, x, sites, "Scan")
    row, copy = source.fresh("row"), source.fresh("copy")
    inner.nodes.append(helper.make_node("Identity", [row], [copy]))
    infos = [_info(name, x) for name in (copy, y.name)]
    graph = helper.make_graph(inner.nodes, "rows", [_info(row, x)], infos, inner.initializers)
    body.node("Scan", [x.name], "rows", 2, body=graph, num_scan_inputs=1)
    result = body.nodes[-1].output[1]
    return Tensor(result, None if y.dims is None else (x.sizes[0], *y.dims), x.dtype)


def _in_function(
    body: Body, spelling: Spelling, x: Tensor, sites: list[Placed], functions: list[FunctionProto]
) -> Tensor:
    """Its scales a Constant inside, or an argument that the call passes an initializer to."""
    source = body.source
    inner = Body(source, initializers=None)
    parameter = source.fresh("arg")
    inputs, arguments = [parameter], [x.name]
    way: Way | None = None
    if spelling.opset >= 9 and source.rng.random() < 0.4:
        operand = source.fresh("scale_arg")
        inputs.append(operand)
        way = replace(SHARED, name="argument", write=lambda *_: operand)
    y, placed = resize(inner, spelling, Tensor(parameter, x.dims, x.dtype), sites, "function", way)
    if way is not None:
        value = np.array(placed.values, np.float32 if spelling.kind == "scales" else np.int64)
        arguments.append(body.initializer(value, spelling.kind))
    kind = source.fresh("Up")
    imports = [helper.make_opsetid("", source.opset)]
    functions.append(helper.make_function("local", kind, inputs, [y.name], inner.nodes, imports))
    result = source.fresh("called")
    body.nodes.append(helper.make_node(kind, arguments, [result], name=source.fresh("call_"), domain="local"))
    if source.rng.random() < 0.3:  # a second call of the same function
        again = helper.make_node(kind, [body.node("Identity", [x.name]), *arguments[1:]], [source.fresh("called")])
        again.domain = "local"
        body.nodes.append(again)
    return Tensor(result, y.dims, x.dtype)


PLACES = (
    Place("main", _in_main, weight=12),
    Place("If", _in_if),
    Place("Loop", _in_loop, since=11, goes_on=False),
    Place("Scan", _in_scan, since=9, goes_on=False),
    Place("function", _in_function, since=10, weight=2),
)
