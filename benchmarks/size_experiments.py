"""Which wrong results each experiment of `input-size` refutes: errors are injected into right ones.

A network of `two_sizes.py` is converted; a result that is right gets one error: a number or a table of the old size, a
size with height and width swapped, a cut that ends one sample early, a padding that moved to the other side. A changed
file that still runs, gives the shapes of the right one, and other numbers is a wrong result. Right ones that an
experiment refutes count against it.

usage: size_experiments.py [--seeds 0:300] [--further] [--verbose]
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper
from size_blocks import BLOCKS
from two_sizes import MOST_COMBINATIONS, SIZES, agree, network, options_of, results

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.input_sizes.experiments.coverage import require_covered
from resizefix.input_sizes.experiments.image_experiments import Original, Picture
from resizefix.input_sizes.experiments.locality import require_local
from resizefix.input_sizes.experiments.there_and_back import require_same_back
from resizefix.input_sizes.refusal import Choices, SizeRefusedError
from resizefix.interop import opened
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.verification.engine import Engine
from resizefix.verification.verification import conditions

Size = tuple[int, int]
Experiment = Callable[[Document, Document, Size, Choices], bool]


class DefaultLevel(Engine):
    """An engine whose models are all optimised."""

    def open(self, document: Document, **given: object) -> Session:
        return super().open(document, **{**given, "optimized": True})


def _refutes(run: Callable[..., object], engine: type[Engine] = Engine) -> Experiment:
    def experiment(before: Document, after: Document, new: Size, choices: Choices) -> bool:
        pictures = {"image": Picture((2, 3), (1, 3, *new))}
        try:
            experiments = engine(conditions(), "new")
            original = Original.run(experiments, before, after)
            run(experiments, original, after, pictures, lambda label: choices.of(label) is not None)
        except (SizeRefusedError, CannotLoadError, CannotRunError):
            return True
        return False

    return experiment


def back_again(before: Document, after: Document, new: Size, choices: Choices) -> bool:
    """Whether the new model, converted to the old size, computes something else than the original; not looked at where
    another node is changed on the way back."""
    image = before.proto.graph.input[0].type.tensor_type.shape.dim
    old = image[2].dim_value, image[3].dim_value
    given = {"keep": choices.keep, "follow_input": choices.follow, "read": choices.read}
    try:
        there = resizefix.input_size(before.proto, size=new, verify=False, on_refusal="return", **given)
        back = resizefix.input_size(after.proto, size=old, verify=False, on_refusal="return", **given)
    except ResizefixError:
        return False
    if not back or {one.node for one in there.outcomes} != {one.node for one in back.outcomes}:
        return False
    experiments = Engine(conditions(), "new")
    model = opened(back.model)
    try:
        original = Original.run(experiments, before, model)
        require_same_back(experiments, original, model, lambda label: choices.of(label) is not None)
    except (SizeRefusedError, CannotLoadError, CannotRunError):
        return True
    return False


EXPERIMENTS: dict[str, Experiment] = {
    "coverage": _refutes(require_covered),
    "locality": _refutes(require_local),
    "back again": back_again,
}
# Those that refuted nothing more than these, and are not built.
FURTHER: dict[str, Experiment] = {
    "coverage, nine parts": _refutes(partial(require_covered, parts=list(product(range(3), repeat=2)))),
    "coverage, default level": _refutes(require_covered, DefaultLevel),
}


def wrong_models(before: ModelProto, right: ModelProto) -> Iterator[tuple[str, ModelProto]]:
    """The right model with one error, and what kind of error it is."""
    old = {one.name: numpy_helper.to_array(one) for one in before.graph.initializer}
    readers = collections.defaultdict(list)
    for node in right.graph.node:
        for place, name in enumerate(node.input):
            readers[name].append((node.op_type, place))
    for index, one in enumerate(right.graph.initializer):
        value = numpy_helper.to_array(one)
        for kind, made in _wrong_values(value, old.get(one.name), readers[one.name]):
            if made.tobytes() != value.tobytes() or made.shape != value.shape:
                changed = ModelProto()
                changed.CopyFrom(right)
                changed.graph.initializer[index].CopyFrom(numpy_helper.from_array(made.astype(value.dtype), one.name))
                yield f"{kind} of {readers[one.name][0][0]}", changed
    for index, (node, new) in enumerate(zip(before.graph.node, right.graph.node, strict=False)):
        for place, attribute in enumerate(new.attribute):
            for kind, made in _wrong_attribute(node, attribute):
                changed = ModelProto()
                changed.CopyFrom(right)
                changed.graph.node[index].attribute[place].CopyFrom(helper.make_attribute(attribute.name, made))
                yield f"{kind} of {new.op_type}", changed


def _wrong_values(
    value: np.ndarray, old: np.ndarray | None, readers: Sequence[tuple[str, int]]
) -> Iterator[tuple[str, np.ndarray]]:
    if old is not None and old.shape == value.shape and old.tobytes() != value.tobytes():
        yield "constant left", old
    if old is not None and old.ndim == value.ndim and old.shape != value.shape and old.size:
        lengths = list(zip(value.shape, old.shape, strict=True))
        yield "table not moved", old[np.ix_(*[np.minimum(np.arange(size), had - 1) for size, had in lengths])]
        yield "table repeated", old[np.ix_(*[np.arange(size) % had for size, had in lengths])]
    if value.dtype.kind == "i" and value.ndim == 1 and value.size >= 2:
        for at in range(value.size - 1):
            swapped = value.copy()
            swapped[at], swapped[at + 1] = value[at + 1], value[at]
            yield "sides swapped", swapped
    for op_type, place in readers[:1]:
        if op_type == "Slice" and place in (1, 2):
            for step in (-1, 1):
                yield f"{('start', 'end')[place - 1]} off by one", value + step
        if op_type == "Pad" and place == 1:
            half = value.size // 2
            moved = value.copy()
            moved[:half] -= 1
            moved[half:] += 1
            yield "pad moved", np.where(value + moved[::-1] > 0, moved, value)


def _wrong_attribute(node: onnx.NodeProto, new: onnx.AttributeProto) -> Iterator[tuple[str, list[int]]]:
    if new.type != onnx.AttributeProto.INTS:
        return
    old = next((list(one.ints) for one in node.attribute if one.name == new.name), None)
    now = list(new.ints)
    if old is not None and old != now:
        yield "attribute left", old
        yield "attribute swapped", now[::-1]
    if new.name == "pads" and node.op_type in ("Conv", "MaxPool", "AveragePool") and any(now):
        half = len(now) // 2
        yield "pad moved", [*[size - 1 for size in now[:half]], *[size + 1 for size in now[half:]]]


def right_result(before: ModelProto, truth: Sequence[np.ndarray], new: Size) -> tuple[ModelProto, Choices] | None:
    """The right model, and the choices that give it."""
    result = resizefix.input_size(before, size=new, verify=False, on_refusal="return")
    if bool(result):
        return (result.model, Choices()) if agree(result.model, truth, new) else None
    offers = [[one.args(reading.name) for reading in one.readings] for one in result.resolution.choices]
    for combination in islice(product(*offers), MOST_COMBINATIONS) if offers else ():
        given = options_of([word for args in combination for word in args])
        try:
            result = resizefix.input_size(before, size=new, verify=False, on_refusal="return", **given)
        except ResizefixError:
            continue
        if bool(result) and agree(result.model, truth, new):
            choices = Choices(given.get("keep", ()), given.get("follow_input", ()), read=given.get("read", ()))
            return result.model, choices
    return None


def is_wrong(model: ModelProto, truth: Sequence[np.ndarray], new: Size) -> bool:
    """Whether a model runs, gives the right shapes, and something else."""
    try:
        made = results(model, new)
    except Exception:
        return False
    alike = all(one.shape == other.shape for one, other in zip(made, truth, strict=True))
    return alike and not agree(model, truth, new)


def main() -> int:
    """Print what each experiment refutes; 1 where one refutes a right result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:300")
    parser.add_argument("--further", action="store_true", help="with the experiments that are not built")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    experiments = {**EXPERIMENTS, **(FURTHER if given.further else {})}
    found: collections.Counter[tuple[str, ...]] = collections.Counter()
    kinds: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    rights, refuted = 0, collections.Counter()
    for seed in range(*map(int, given.seeds.split(":"))):
        draw = np.random.default_rng(seed + 77)
        names = [str(name) for name in draw.choice(list(BLOCKS), draw.integers(1, 4))]
        old, new = (SIZES[place] for place in draw.choice(len(SIZES), 2, replace=False))
        try:
            before, wanted = network(seed, old, names), network(seed, new, names)
            results(before, old)
            truth = results(wanted, new)
        except Exception:  # a block that does not fit behind another
            continue
        made = right_result(before, truth, new)
        if made is None:
            continue
        right, choices = made
        rights += 1
        original = opened(before)
        for name, experiment in experiments.items():
            if experiment(original, opened(right), new, choices):
                refuted[name] += 1
                print("RIGHT REFUTED", name, seed, names, old, new, choices, flush=True)
        for kind, wrong in wrong_models(before, right):
            if is_wrong(wrong, truth, new):
                by = tuple(name for name, one in experiments.items() if one(original, opened(wrong), new, choices))
                found[by] += 1
                kinds[kind][by] += 1
    for kind, counts in kinds.items() if given.verbose else ():
        print(kind, {" + ".join(by) or "none": count for by, count in counts.items()})
    print(f"{rights} right results, of which refuted: {dict(refuted)}; {sum(found.values())} wrong ones, refuted by")
    for by, count in found.most_common():
        print(f"  {' + '.join(by) or 'none'}: {count}")
    return 1 if refuted else 0


if __name__ == "__main__":
    sys.exit(main())
