"""Small files whose values are large: a vector of 2²⁷ or 2⁴⁰ elements said in a few bytes, and the scales or sizes of a
resize taken from it. Whoever follows values, and does not ask how many there are, fills the memory."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from exhaustive import EXHAUSTIVE
from hostile_models import Fill, file_of, model, resize, value
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

node = helper.make_node
LARGE = {"2^27": 1 << 27, "2^40": 1 << 40}


def ints(name: str, *numbers: int) -> TensorProto:
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


def scalar(name: str, number: int) -> TensorProto:
    return numpy_helper.from_array(np.array(number, np.int64), name)


def constants(count: int) -> list[TensorProto]:
    root = int(count**0.5)
    return [
        ints("n", count),
        ints("root", root),
        ints("roots", root, root),
        ints("twice", 2 * count),
        scalar("count", count),
        ints("four", 4),
        ints("pads", 0, count),
        ints("one", 1),
        ints("zero", 0),
        ints("flat", -1),
        ints("pair", 1, 1, 1, count),
        ints("pick", 0, 0, 0, 0),
        ints("nested", 0),
        scalar("none", 0),
        scalar("step", 1),
        ints("both", 0, 1),
        numpy_helper.from_array(np.ones((1, 1, 1, 4), np.float32), "row"),
        numpy_helper.from_array(np.array([1, 1, 1, count / 4], np.float32), "wide"),
        numpy_helper.from_array(np.array([1.0], np.float32), "unit"),
    ]


ONE = helper.make_attribute("value", ints("v", 1))


def filled(n: str, output: str) -> NodeProto:
    made = node("ConstantOfShape", [n], [output])
    made.attribute.append(ONE)
    return made


def flattened(*nodes: NodeProto) -> list[NodeProto]:
    return [*nodes, node("Reshape", ["t", "flat"], ["big"])]


# Each gives `big`, a vector of as many elements as LARGE says.
MADE: dict[str, Sequence[NodeProto]] = {
    "constant-of-shape": [filled("n", "big")],
    "constant-of-a-product": [node("Mul", ["root", "root"], ["m"]), filled("m", "big")],
    "constant-of-a-quotient": [
        node("Div", ["twice", "both"], ["q"]),
        node("Slice", ["q", "one", "four"], ["m"]),
        filled("m", "big"),
    ],
    "constant-of-a-cast": [node("Cast", ["n"], ["f"], to=1), node("Cast", ["f"], ["m"], to=7), filled("m", "big")],
    "constant-of-a-shape": [filled("n", "t"), node("Shape", ["t"], ["m"]), filled("m", "big")],
    "constant-of-a-maximum": [node("Max", ["n", "one"], ["m"]), filled("m", "big")],
    "expand": [node("Expand", ["one", "n"], ["big"])],
    "tile": [node("Tile", ["one", "n"], ["big"])],
    "range": [node("Range", ["none", "count", "step"], ["big"])],
    "pad": [node("Pad", ["one", "pads"], ["big"])],
    "resize": flattened(node("Resize", ["row", "", "wide"], ["u"]), node("Cast", ["u"], ["t"], to=7)),
    "sized": flattened(node("Resize", ["row", "", "", "pair"], ["u"]), node("Cast", ["u"], ["t"], to=7)),
    "one-hot": flattened(node("OneHot", ["zero", "count", "both"], ["t"])),
    "matrix": flattened(filled("roots", "t")),
    "outer-product": flattened(
        filled("root", "u"),
        node("Unsqueeze", ["u", "one"], ["w"]),
        node("Unsqueeze", ["u", "zero"], ["h"]),
        node("Mul", ["w", "h"], ["t"]),
    ),
    "eye": flattened(filled("roots", "u"), node("EyeLike", ["u"], ["t"])),
    "scattered": [
        filled("n", "t"),
        node("Unsqueeze", ["zero", "one"], ["i"]),
        node("ScatterND", ["t", "i", "one"], ["big"]),
    ],
    "gathered": [filled("n", "i"), node("Sub", ["i", "one"], ["j"]), node("Gather", ["one", "j"], ["big"])],
    "doubled": [
        node("Identity", ["one"], ["d0"]),
        *(node("Concat", [f"d{i}", f"d{i}"], [f"d{i + 1}"], axis=0) for i in range(27)),
        node("Identity", ["d27"], ["big"]),
    ],
    "joined-often": [filled("root", "t"), node("Concat", ["t"] * 2000, ["big"], axis=0)],
    "non-zero": flattened(filled("n", "u"), node("NonZero", ["u"], ["t"])),
    "summed-over-nothing": [filled("nowhere", "t"), node("ReduceSum", ["t", "zero"], ["big"], keepdims=0)],
}
# How many values are taken from it: a chain that ends in a few numbers is what scales are computed by.
TAKEN: dict[str, Sequence[NodeProto]] = {
    "slice": [node("Slice", ["big", "zero", "four"], ["few"])],
    "gather": [node("Gather", ["big", "pick"], ["few"])],
    "sum": [node("Add", ["big", "zero"], ["b"]), node("Slice", ["b", "zero", "four"], ["few"])],
    "cast": [
        node("Cast", ["big"], ["b"], to=6),
        node("Cast", ["b"], ["c"], to=7),
        node("Gather", ["c", "pick"], ["few"]),
    ],
    "concat": [node("Concat", ["big", "one"], ["b"], axis=0), node("Slice", ["b", "zero", "four"], ["few"])],
    "axes": [
        node("Unsqueeze", ["big", "zero"], ["b"]),
        node("Squeeze", ["b", "zero"], ["c"]),
        node("Gather", ["c", "pick"], ["few"]),
    ],
    "split": [node("Slice", ["big", "zero", "four"], ["b"]), node("Concat", ["b"], ["few"], axis=0)],
    "length": [node("Size", ["big"], ["b"]), node("Expand", ["one", "four"], ["few"])],
}


def in_the_graph(chain: Sequence[NodeProto], tensors: Sequence[TensorProto]) -> ModelProto:
    return model([*chain, *_resized("few")], tensors, inputs=_inputs())


def in_a_branch(chain: Sequence[NodeProto], tensors: Sequence[TensorProto]) -> ModelProto:
    branch = helper.make_graph(list(chain), "b", [], [value("few", None, TensorProto.INT64)])
    chosen = node("If", ["c"], ["s"], then_branch=branch, else_branch=branch)
    return model([chosen, *_resized("s")], tensors, inputs=_inputs())


def in_a_loop(chain: Sequence[NodeProto], tensors: Sequence[TensorProto]) -> ModelProto:
    turn, going = value("turn", [], TensorProto.INT64), value("going", [], TensorProto.BOOL)
    body = helper.make_graph(
        [*chain, node("Identity", ["going"], ["on"])],
        "b",
        [turn, going, value("before", None, TensorProto.INT64)],
        [value("on", [], TensorProto.BOOL), value("few", None, TensorProto.INT64)],
    )
    looped = node("Loop", ["step", "", "pick"], ["s"], body=body)
    return model([looped, *_resized("s")], tensors, inputs=_inputs())


def in_a_function(chain: Sequence[NodeProto], tensors: Sequence[TensorProto]) -> ModelProto:
    given = sorted({name for part in chain for name in part.input} & {tensor.name for tensor in tensors} | {"zero"})
    imports = [helper.make_opsetid("", 13)]
    function = helper.make_function("f", "Few", given, ["few"], list(chain), imports)
    call = node("Few", given, ["s"], domain="f")
    return model([call, *_resized("s")], tensors, inputs=_inputs(), functions=[function])


def _resized(name: str) -> list[NodeProto]:
    """The values as scales, as sizes, and as the sizes of a Reshape before it."""
    return [
        node("Cast", [name], [f"{name}_scales"], to=1),
        resize(operands=("", f"{name}_scales"), y="h", name="by_scales"),
        resize("h", operands=("", "", name), y="i", name="by_sizes"),
        node("Reshape", ["i", name], ["j"]),
        resize("j", operands=("", f"{name}_scales"), name="behind"),
    ]


def _inputs() -> list[TensorProto]:
    return [value("x"), value("c", [], TensorProto.BOOL)]


PLACES: dict[str, Callable[..., ModelProto]] = {
    "graph": in_the_graph,
    "branch": in_a_branch,
    "loop": in_a_loop,
    "function": in_a_function,
}


def values() -> Iterator[tuple[str, Fill]]:
    """Every way to make such a vector; in which place, and how a few values are taken from it, goes round.

    Each has one of the lengths, in turn; with RESIZEFIX_EXHAUSTIVE=1 each, and in every place.
    """
    number = 0
    for turn, (size, count) in enumerate(LARGE.items()):
        tensors = constants(count)
        tensors.append(TensorProto(name="nowhere", data_type=TensorProto.INT64, dims=[2], int64_data=[0, count]))
        for made, chain in MADE.items() if EXHAUSTIVE else list(MADE.items())[turn :: len(LARGE)]:
            for place in PLACES if EXHAUSTIVE else [list(PLACES)[number % len(PLACES)]]:
                taken = list(TAKEN)[number % len(TAKEN)]
                yield f"{made}-{size}-{taken}-{place}", file_of(PLACES[place]([*chain, *TAKEN[taken]], tensors))
                number += 1
        yield f"input-{size}", file_of(_of_an_input(count))
    square = numpy_helper.from_array(np.zeros((1, 1), np.int64), "g0")
    doubled = [node("Gather", [f"g{i}", f"g{i}"], [f"g{i + 1}"]) for i in range(40)]
    yield "axes-that-double", file_of(model([*doubled, *_resized("g40")], [*constants(4), square]))
    more = [node("Unsqueeze", [f"g{i}", "many"], [f"g{i + 1}"]) for i in range(300)]
    tensors = [*constants(4), square, ints("many", *range(500))]
    yield "axes-by-the-hundred", file_of(model([*more, *_resized("g300")], tensors))


def _of_an_input(count: int) -> ModelProto:
    chain = [*TAKEN["sum"], *_resized("few")]
    return model(chain, constants(4), inputs=[*_inputs(), value("big", [count], TensorProto.INT64)])
