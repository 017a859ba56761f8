"""What is written unverified passes verification, its target accepts it, and so does a live parser."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import onnx.checker
import onnx.printer
import pytest
from live_parser import needs_tensorrt
from onnx_text import model
from resize_texts import BY_2, refusal, resizing

import resizefix
from resizefix.library.result import Result, VerificationFailedError
from resizefix.outcome import Status
from resizefix.runtimes.tensorrt import LiveParser
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.target import Effect, judge

TYPES = ("float", "float16", "int8", "uint8", "int32", "bfloat16", "double", "int64", "bool")
SHAPES = ("1,3,4,6", "1,3,h,w", "n,3,4,6", "0,3,4,6", "1,3,0,6", "4,6", "h,w", "4", "1,3,5", "1,2,3,4,5")
FORMS = (
    ("nearest", "asymmetric", "floor"),
    ("nearest", "half_pixel_symmetric", "ceil"),
    ("nearest", "align_corners", "round_prefer_ceil"),
    ("linear", "half_pixel", "floor"),
    ("linear", "half_pixel_symmetric", "floor"),
    ("cubic", "half_pixel_symmetric", "floor"),
)
SCALES = ((2.0, 2.0), (0.5, 0.5), (1.5, 0.7), (0.1, 0.1))
EVERY = list(itertools.product(TYPES, SHAPES, FORMS, SCALES))


def text(elem_type: str, shape: str, form: tuple[str, str, str], scales: tuple[float, ...]) -> str:
    rank = shape.count(",") + 1
    full = [1.0] * (rank - len(scales)) + list(scales[:rank])
    mode, coordinates, nearest = form
    values = ",".join(map(str, full))
    return f"""({elem_type}[{shape}] x) => ({elem_type}[{",".join("?" * rank)}] y)
        <float[{rank}] s = {{{values}}}, float[0] r = {{}}> {{
        y = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}", nearest_mode = "{nearest}">
        (x, r, s) }}"""


def drawn(seed: int, count: int) -> Iterator[onnx.ModelProto]:
    for case in random.Random(seed).sample(EVERY, count):
        yield model(text(*case), random.Random(str(case)).choice((11, 13, 19)))


def long_enough(case: onnx.ModelProto) -> list[int]:
    """A shape at which the smallest of `SCALES` leaves something of an axis that the file leaves open."""
    dims = case.graph.input[0].type.tensor_type.shape.dim
    return [20 if dim.dim_param else dim.dim_value for dim in dims]


def is_empty(case: onnx.ModelProto) -> bool:
    """Whether the output has no elements at the smallest sizes that are fed, whatever the model computes."""
    sizes = [dim.dim_value or 20 for dim in case.graph.input[0].type.tensor_type.shape.dim]
    scales = [onnx.numpy_helper.to_array(tensor) for tensor in case.graph.initializer if tensor.name == "s"]
    return any(int(size * scale) == 0 for each in scales for size, scale in zip(sizes, each, strict=True))


@pytest.mark.parametrize("seed", range(2))
def test_what_is_written_unverified_passes_verification_and_is_accepted(seed: int) -> None:
    """Of every model for every target; what several targets are given alike is verified once."""
    for case in drawn(seed, 16):
        verified = set()
        for target in TARGETS:
            made = resizefix.legalize(case, target=target.name, verify=False, on_refusal="return")
            if not made.changed:
                continue
            for facts in facts_of(resizefix.interop.opened(made.model)):
                rejected = [v.rule for v in judge(target, facts) if v.effect is not Effect.NOTED]
                assert not rejected, onnx.printer.to_text(case)
            written = made.model.SerializeToString()
            if written not in verified:
                assert_as_verified(made, resizefix.legalize, case, target=target.name, live=False)
                verified.add(written)


def assert_as_verified(
    made: Result, operation: Callable[..., Result], case: onnx.ModelProto, **options: object
) -> None:
    """What was written unverified passes verification, or states that this cannot be tried."""
    if not made.changed:
        return
    onnx.checker.check_model(made.model, full_check=True)
    if "not verifiable here" in (made.outcomes[0].condition or ""):
        if not is_empty(case):  # whose outputs agree where both models load
            with pytest.raises(VerificationFailedError):
                operation(case, **options)
    else:
        proven = operation(case, shape={"x": long_enough(case)}, **options)
        assert proven.verification.passed, onnx.printer.to_text(case)


def test_what_trt_legacy_writes_unverified_passes_verification() -> None:
    for case in drawn(5, 25):
        assert_as_verified(resizefix.trt_legacy(case, verify=False, on_refusal="return"), resizefix.trt_legacy, case)


def test_what_freeze_scales_writes_unverified_passes_verification() -> None:
    for elem_type, shape, form, scales in random.Random(6).sample(EVERY, 25):
        if "half_pixel_symmetric" in form:
            continue  # opset 13 has no such mode
        constant = text(elem_type, shape, form, scales)
        computed = constant.replace("float[0] r", "float[1] one = {1}, float[0] r").replace("(x, r, s)", "(x, r, k)")
        chain = model(computed.replace("y = Resize", "k = Mul(s, one) y = Resize"))
        assert_as_verified(resizefix.freeze_scales(chain, verify=False), resizefix.freeze_scales, chain)
        fed = model(constant)
        rank = shape.count(",") + 1
        values = onnx.numpy_helper.to_array(fed.graph.initializer[0]).tolist()
        del fed.graph.initializer[0]
        fed.graph.input.append(onnx.helper.make_tensor_value_info("s", onnx.TensorProto.FLOAT, [rank]))
        frozen = resizefix.freeze_scales(fed, set={"s": values}, verify=False)
        assert_as_verified(frozen, resizefix.freeze_scales, fed, set={"s": values})


@needs_tensorrt
@pytest.mark.parametrize("target", ["tensorrt-9", "tensorrt-10", "tensorrt-rtx"])
def test_what_is_written_unverified_is_accepted_by_the_live_parser(target: str) -> None:
    with LiveParser() as parser:
        for case in drawn(9, 30):
            made = resizefix.legalize(case, target=target, verify=False, on_refusal="return")
            if made.outcomes[0].status is Status.CHANGED:
                assert parser.ask(made.model.SerializeToString()).accepted, onnx.printer.to_text(case)


@pytest.mark.parametrize("target", ["tensorrt-8.5", "tensorrt-9", "tensorrt-10", "tensorrt-rtx"])
def test_nearest_of_uint8_stands_between_casts(target: str) -> None:
    for form, shape in ((FORMS[0], "1,3,h,w"), (FORMS[1], "1,3,4,6"), (FORMS[2], "1,3,4,6")):
        made = resizefix.legalize(model(text("uint8", shape, form, (2.0, 2.0)), 19), target=target)
        assert made.outcomes[0].exact
        nodes = [node.op_type for node in made.model.graph.node]
        assert (nodes[0], nodes[-1]) == ("Cast", "Cast")


def test_uint8_inside_of_a_network_is_refused_with_what_to_do() -> None:
    nodes = 'y = Resize <mode = "nearest"> (x, , s) t = Concat <axis = 1> (y, y) z = Cast <to = 1> (t)'
    inside = resizing(nodes, BY_2, "uint8[1,3,4,6] x", "float[1,6,8,12] z")
    reason = (
        resizefix.legalize(inside, target="tensorrt-10", verify=False, on_refusal="return").outcomes[0].reason or ""
    )
    assert "tensorrt-10 takes uint8 only as inputs and outputs of the network. Convert the image to float" in reason


@pytest.mark.parametrize("target", ["tensorrt-6.0", "tensorrt-7.0", "tensorrt-8.0", "tensorrt-8.4"])
def test_a_target_without_uint8_is_given_none(target: str) -> None:
    given = model(text("uint8", "1,3,4,6", FORMS[2], (2.0, 2.0)), 11)
    reason = refusal(resizefix.legalize(given, target=target, verify=False, on_refusal="return"))
    assert f"Reshape): {target} takes no uint8 in Concat" in reason or "does not repeat" in reason
