"""Networks of many kinds of blocks, built at two input sizes: what `input-size` makes of the one must be the other.

A result is wrong where it differs from the network that was built at that size; an assumption explains it where
choosing otherwise, by its own arguments, gives that network, or leads to questions whose readings do: another number
may have followed by its example. A question is right where one of its readings does.

usage: two_sizes.py [--seeds 0:1000] [--any] [--declared] [--batch] [--quick] [--block NAME]
                    [--family NAME]… [--verbose]
"""

from __future__ import annotations

import argparse
import collections
import itertools
import sys
from collections.abc import Sequence

import numpy as np
import onnxruntime as ort
from onnx import ModelProto
from size_blocks import BLOCKS, FAMILIES, Map, Net

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.outcome import Status

SIZES = ((32, 48), (48, 32), (64, 96), (64, 64), (48, 80), (96, 64))
MOST_COMBINATIONS = 40


class TooSmallError(Exception):
    """A block does not fit the map."""


def network(seed: int, size: tuple[int, int], names: Sequence[str]) -> ModelProto:
    """The network of a seed for one size: a convolution, and the named blocks."""
    net = Net(seed, *size)
    x = Map(net.add("Conv", "image", net.weight(8, 3, 3, 3), pads=[1] * 4), 8, *size)
    further = []
    for name in names:
        if min(x.h, x.w) < 8 or x.h > 300 or x.w > 300:
            raise TooSmallError
        x = BLOCKS[name](net, x)
        if net.pick(0, 0, 1):
            further.append(x.name)
    return net.model(x, list(dict.fromkeys(further)))


def results(model: ModelProto, size: tuple[int, int], first: int = 0, count: int = 1) -> list[np.ndarray]:
    """The outputs for one image, or for more together, the `first` of all on."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    image = np.random.default_rng(5).random((first + count, 3, *size), np.float32)[first:]
    return ort.InferenceSession(model.SerializeToString(), options).run(None, {"image": image})


def agree(model: ModelProto, truth: Sequence[np.ndarray], size: tuple[int, int], count: int = 1) -> bool:
    """Whether a model computes what the network of this size does."""
    try:
        made = results(model, size, count=count)
    except Exception:  # onnxruntime has no common class for what it raises
        return False
    return all(
        one.shape == other.shape
        and np.allclose(one, other, rtol=1e-4, atol=1e-4 * max(np.abs(other).max(initial=0), 1))
        for one, other in zip(made, truth, strict=True)
    )


def options_of(words: Sequence[str]) -> dict[str, list]:
    """Arguments of the command as those of the library."""
    made: dict[str, list] = collections.defaultdict(list)
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option == "--read":
            node, _, name = value.rpartition("=")
            made["read"].append((node, name))
        else:
            made["keep" if option == "--keep" else "follow_input"].append(value)
    return made


def declared_open(model: ModelProto) -> ModelProto:
    """The model with its height and width declared open, as exporters do that leave the constants of one size."""
    made = ModelProto.FromString(model.SerializeToString())
    for dim, name in zip(made.graph.input[0].type.tensor_type.shape.dim[2:], ("height", "width"), strict=True):
        dim.dim_param = name
    return made


def judge(
    seed: int,
    names: Sequence[str],
    old: tuple[int, int],
    new: tuple[int, int],
    *,
    to_any: bool = False,
    declared: bool = False,
    batch: int = 1,
    quick: bool = False,
) -> tuple[str, str]:
    """The verdict on one pair, and what to look at. `batch`: so many images of the old size, of which
    each gets what the network makes of it alone. `quick`: the result is verified where it is wrong alone."""
    try:
        new = old if batch > 1 else new
        before, wanted = network(seed, old, names), network(seed, new, names)
        results(before, old)
        truth = [np.concatenate(parts) for parts in zip(*(results(wanted, new, i) for i in range(batch)), strict=True)]
    except TooSmallError:
        return "small", ""
    except Exception as error:  # a block that does not fit behind another
        return "unfit", str(error)[:200]

    def convert(words: Sequence[str] = (), verify: bool = not quick) -> resizefix.library.result.Result:
        size, given = "any" if to_any else new, {**options_of(words), "verify": verify}
        if batch > 1:
            return resizefix.input_size(before, batch=batch, on_refusal="return", **given)
        if declared:
            return resizefix.input_size(declared_open(before), size=size, was=old, on_refusal="return", **given)
        return resizefix.input_size(before, size=size, on_refusal="return", **given)

    try:
        result = convert()
        if bool(result) and quick and not agree(result.model, truth, new, batch):
            result = convert(verify=True)
    except ResizefixError as error:
        return "failed", str(error)[:300]
    if bool(result):
        if agree(result.model, truth, new, batch):
            return "right", ""
        otherwise = [[(), use.args] for use in result.resolution.assumed]
        explained = any_right(convert, otherwise, truth, new, batch, and_then=True)
        said = "; ".join(f"{use.node}: {use.convention}" for use in result.resolution.assumed)
        return ("assumed wrong" if explained else "SILENT"), f"{explained} {said}"
    choices = result.resolution.choices
    if not choices:
        refused = [one for one in result.outcomes if one.status is Status.REFUSED]
        return "refused", "; ".join(f"{one.node}: {one.reason}" for one in refused)[:250]
    offers = offers_of(result)
    said = "; ".join(f"{one.nodes} {[reading.name for reading in one.readings]}" for one in choices)
    found = any_right(convert, offers, truth, new, batch)
    return ("asked" if found else "asked, not offered"), f"{found} {said}"


def offers_of(result) -> list[list[tuple[str, ...]]]:
    """Of each question, the arguments of its readings."""
    return [[one.args(reading.name) for reading in one.readings] for one in result.resolution.choices]


def any_right(convert, offers, truth, new, batch, *, and_then: bool = False) -> str:
    """The first combination of arguments that gives the truth; `and_then`: or leads to questions of which one does."""
    for combination in itertools.islice(itertools.product(*offers), MOST_COMBINATIONS):
        words = [word for args in combination for word in args]
        try:
            result = convert(words)
        except ResizefixError:
            continue
        if bool(result) and agree(result.model, truth, new, batch):
            return " ".join(words) or "-"
        if and_then and words and not result and result.resolution.choices:
            later = any_right(lambda more, words=words: convert([*words, *more]), offers_of(result), truth, new, batch)
            if later:
                return " ".join([*words, later])
    return ""


def main() -> int:
    """Print the counts; 1 where something is silently wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:300")
    parser.add_argument("--any", action="store_true")
    parser.add_argument("--declared", action="store_true", help="the file declares its height and width open")
    parser.add_argument("--batch", action="store_true", help="three images instead of another size")
    parser.add_argument("--quick", action="store_true", help="verify results where they are wrong alone")
    parser.add_argument("--block", help="only networks of this block alone")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only networks of these families' blocks")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    drawn = [name for family in given.family or FAMILIES for name in FAMILIES[family]]
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, last):
        draw = np.random.default_rng(seed + 77)
        names = [given.block] if given.block else [str(name) for name in draw.choice(drawn, draw.integers(1, 4))]
        old, new = (SIZES[place] for place in draw.choice(len(SIZES), 2, replace=False))
        count = 3 if given.batch else 1
        verdict, why = judge(
            seed, names, old, new, to_any=given.any, declared=given.declared, batch=count, quick=given.quick
        )
        counts[verdict] += 1
        if verdict == "SILENT" or (given.verbose and verdict != "right"):
            print(seed, verdict, names, old, new, why, flush=True)
    print(dict(counts))
    return 1 if counts["SILENT"] else 0


if __name__ == "__main__":
    sys.exit(main())
