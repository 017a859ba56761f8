"""Small files whose values are large: a vector of 2²⁷ or 2⁴⁰ elements said in a few bytes, and the scales or sizes of a
resize taken from it. Whoever follows values, and does not ask how many there are, fills the memory."""

import re
from collections.abc import Iterator

from exhaustive import EXHAUSTIVE
from hostile_models import Fill, file_of
from onnx_text import model

LARGE = {"2^27": 1 << 27, "2^40": 1 << 40}


def constants(count: int) -> dict[str, str]:
    """By name the type of each constant, and its value."""
    root = int(count**0.5)
    return {
        "n": f"int64[1] n = {{{count}}}", "root": f"int64[1] root = {{{root}}}",
        "roots": f"int64[2] roots = {{{root}, {root}}}", "twice": f"int64[1] twice = {{{2 * count}}}",
        "count": f"int64 count = {{{count}}}", "pads": f"int64[2] pads = {{0, {count}}}",
        "pair": f"int64[4] pair = {{1, 1, 1, {count}}}", "wide": f"float[4] wide = {{1, 1, 1, {count / 4}}}",
        "nowhere": f"int64[2] nowhere = {{0, {count}}}", "four": "int64[1] four = {4}", "one": "int64[1] one = {1}",
        "zero": "int64[1] zero = {0}", "flat": "int64[1] flat = {-1}", "pick": "int64[4] pick = {0, 0, 0, 0}",
        "none": "int64 none = {0}", "step": "int64 step = {1}", "both": "int64[2] both = {0, 1}",
        "row": "float[1, 1, 1, 4] row = {1, 1, 1, 1}",
    }  # fmt: skip


def filled(n: str, output: str) -> str:
    return f"{output} = ConstantOfShape <value = int64[1] {{1}}> ({n})"


FLAT = " big = Reshape (t, flat)"
# Each gives `big`, a vector of as many elements as LARGE says.
MADE = {
    "constant-of-shape": filled("n", "big"),
    "constant-of-a-product": f"m = Mul (root, root) {filled('m', 'big')}",
    "constant-of-a-quotient": f"q = Div (twice, both) m = Slice (q, one, four) {filled('m', 'big')}",
    "constant-of-a-cast": f"f = Cast <to = 1> (n) m = Cast <to = 7> (f) {filled('m', 'big')}",
    "constant-of-a-shape": f"{filled('n', 't')} m = Shape (t) {filled('m', 'big')}",
    "constant-of-a-maximum": f"m = Max (n, one) {filled('m', 'big')}",
    "expand": "big = Expand (one, n)",
    "tile": "big = Tile (one, n)",
    "range": "big = Range (none, count, step)",
    "pad": "big = Pad (one, pads)",
    "resize": f"u = Resize (row, , wide) t = Cast <to = 7> (u) {FLAT}",
    "sized": f"u = Resize (row, , , pair) t = Cast <to = 7> (u) {FLAT}",
    "one-hot": f"t = OneHot (zero, count, both) {FLAT}",
    "matrix": f"{filled('roots', 't')} {FLAT}",
    "outer-product": f"{filled('root', 'u')} w = Unsqueeze (u, one) h = Unsqueeze (u, zero) t = Mul (w, h) {FLAT}",
    "eye": f"{filled('roots', 'u')} t = EyeLike (u) {FLAT}",
    "scattered": f"{filled('n', 't')} i = Unsqueeze (zero, one) big = ScatterND (t, i, one)",
    "gathered": f"{filled('n', 'i')} j = Sub (i, one) big = Gather (one, j)",
    "doubled": "d0 = Identity (one) "
    + " ".join(f"d{i + 1} = Concat <axis = 0> (d{i}, d{i})" for i in range(27))
    + " big = Identity (d27)",
    "joined-often": f"{filled('root', 't')} big = Concat <axis = 0> ({', '.join(['t'] * 2000)})",
    "non-zero": f"{filled('n', 'u')} t = NonZero (u) {FLAT}",
    "summed-over-nothing": f"{filled('nowhere', 't')} big = ReduceSum <keepdims = 0> (t, zero)",
}
# How many values are taken from it: a chain that ends in a few numbers is what scales are computed by.
TAKEN = {
    "slice": "few = Slice (big, zero, four)",
    "gather": "few = Gather (big, pick)",
    "sum": "b = Add (big, zero) few = Slice (b, zero, four)",
    "cast": "b = Cast <to = 6> (big) e = Cast <to = 7> (b) few = Gather (e, pick)",
    "concat": "b = Concat <axis = 0> (big, one) few = Slice (b, zero, four)",
    "axes": "b = Unsqueeze (big, zero) e = Squeeze (b, zero) few = Gather (e, pick)",
    "split": "b = Slice (big, zero, four) few = Concat <axis = 0> (b)",
    "length": "b = Size (big) few = Expand (one, four)",
}
# Where the chain stands; `s` is what comes out.
PLACES = {
    "graph": "CHAIN s = Identity (few)",
    "branch": "s = If (c) <then_branch = t () => (int64[k] few) { CHAIN }, "
    "else_branch = o () => (int64[k] few) { CHAIN }>",
    "loop": "s = Loop (step, , pick) <body = b (int64 turn, bool going, int64[k] before) => (bool on, int64[k] few) "
    "{ CHAIN on = Identity (going) }>",
    "function": "s = f.Few (GIVEN)",
}
RESIZED = """s_scales = Cast <to = 1> (s) [by_scales] h = Resize (x, , s_scales) [by_sizes] i = Resize (h, , , s)
 j = Reshape (i, s) [behind] y = Resize (j, , s_scales)"""


def large(place: str, chain: str, said: dict[str, str], inputs: str = "") -> Fill:
    """The values as scales, as sizes, and as the sizes of a Reshape before it."""
    given = ", ".join(sorted({*re.findall(r"\w+", chain)} & said.keys() | {"zero"}))
    nodes = PLACES[place].replace("CHAIN", chain).replace("GIVEN", given)
    function = f'<domain: "f", opset_import: ["" : 13]> Few ({given}) => (few) {{ {chain} }}'
    graph = f"""(float[1, 1, 4, 4] x, bool c{inputs}) => (float[] y)
        <{", ".join(said.values())}> {{ {nodes} {RESIZED} }} {function if place == "function" else ""}"""
    return file_of(model(graph, 13, "f"))


def values() -> Iterator[tuple[str, Fill]]:
    """Every way to make such a vector; in which place, and how a few values are taken from it, goes round.

    Each has one of the lengths, in turn; with RESIZEFIX_EXHAUSTIVE=1 each, and in every place.
    """
    number = 0
    for turn, (size, count) in enumerate(LARGE.items()):
        said = constants(count)
        for made, chain in MADE.items() if EXHAUSTIVE else list(MADE.items())[turn :: len(LARGE)]:
            for place in PLACES if EXHAUSTIVE else [list(PLACES)[number % len(PLACES)]]:
                taken = list(TAKEN)[number % len(TAKEN)]
                yield f"{made}-{size}-{taken}-{place}", large(place, f"{chain} {TAKEN[taken]}", said)
                number += 1
        yield f"input-{size}", large("graph", TAKEN["sum"], constants(4), f", int64[{count}] big")
    said = {**constants(4), "g0": "int64[1, 1] g0 = {0}", "many": f"int64[500] many = {{{str([*range(500)])[1:-1]}}}"}
    doubled = " ".join(f"g{i + 1} = Gather (g{i}, g{i})" for i in range(40))
    yield "axes-that-double", large("graph", f"{doubled} few = Identity (g40)", said)
    more = " ".join(f"g{i + 1} = Unsqueeze (g{i}, many)" for i in range(300))
    yield "axes-by-the-hundred", large("graph", f"{more} few = Identity (g300)", said)
