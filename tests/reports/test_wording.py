import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto
from report_models import COMPUTED, FED, PLAIN, surveyed

from resizefix.interpolation import CoordinateTransformationMode, Extent, ExtentKind, Interpolation, Mode
from resizefix.origins.classify import Origin, OriginKind
from resizefix.printable import columns, shortened
from resizefix.reports.wording import (
    Standing,
    extent,
    few_targets,
    meaning,
    numbers,
    origin,
    runs_of_targets,
    standing,
    tensor,
)
from resizefix.targets.catalogue import TARGETS

LONG = "/model/decoder/up_blocks.1/upsamplers.0/Resize"


def test_what_is_default_is_not_said():
    half = CoordinateTransformationMode.HALF_PIXEL
    assert meaning(Interpolation(Mode.CUBIC, half, cubic_coeff_a=-0.75)) == "cubic half_pixel"
    assert meaning(Interpolation(Mode.CUBIC, half, cubic_coeff_a=-0.5)) == "cubic half_pixel cubic_coeff_a=-0.5"
    odd = Interpolation(Mode.LINEAR, half, antialias=True, axes=(2, 3))
    assert meaning(odd) == "linear half_pixel antialias axes=[2, 3]"
    assert meaning(None) == "not valid"


def test_an_extent_is_said_as_people_write_it():
    assert extent(Extent(ExtentKind.SCALES, (1.0, 1.0, 2.5, 2.0))) == "scales 1×1×2.5×2"
    assert extent(Extent(ExtentKind.SIZES, (1, 3, 1000000, 2))) == "sizes 1×3×1000000×2"
    assert extent(Extent(ExtentKind.SIZES, None)) == "sizes ?"


def test_an_origin_says_first_what_it_follows_and_leaves_constants_out_of_the_chain():
    chain = ("Concat", "Constant", "Slice", "Shape", "Constant")
    found = Origin(OriginKind.COMPUTED, "c", chain=chain, says="height is 20", shared_by=("a", "b", "c", "d"))
    assert origin(found) == "computed c: height is 20 (Concat ← Slice ← Shape); also read by a, b, c, d"
    assert origin(Origin(OriginKind.GRAPH_INPUT, "\x1bs")) == "graph input \\x1bs"


@pytest.mark.parametrize(
    ("dims", "elem_type", "said"),
    [
        ((1, "n", None, "unk__7"), TensorProto.FLOAT, "float 1×n×?×?"),
        ((), TensorProto.INT64, "int64 scalar"),
        (None, TensorProto.FLOAT16, "float16"),
        (None, None, ""),
        ((2,), 999, "type 999 2"),
    ],
)
def test_a_tensor_is_said_as_far_as_it_is_known(dims, elem_type, said):
    assert tensor(dims, elem_type) == said


def test_numbers_are_as_short_as_float32_allows():
    assert numbers([1.0, 2.4000000953674316, 3]) == "1, 2.4, 3"


@given(st.text(), st.integers(4, 40))
def test_shortened_text_fits_and_keeps_both_ends(text, most):
    short = shortened(text, most)
    assert columns(short) <= most
    if short != text:
        head, _, tail = short.partition("…") if "…" not in text else (short[:0], "…", short[len(short) :])
        assert text.startswith(head)
        assert text.endswith(tail)


def test_of_a_path_the_end_stays_longer():
    assert shortened(LONG, 22) == "/model/…plers.0/Resize"
    assert shortened("中文中文中文", 8) == "中…中文"


def test_runs_of_targets_are_said_by_their_ends():
    names = [target.name for target in TARGETS]
    tensorrt = [name for name in names if name.startswith("tensorrt-")]
    assert runs_of_targets(tensorrt) == [f"{names[0]} to {tensorrt[-1]}"]
    assert runs_of_targets(names)[:4] == ["tensorrt-5.0 to tensorrt-rtx", "onnxruntime", "openvino", "opencv-4"]
    assert few_targets(names) == ["tensorrt-5.0 to tensorrt-rtx", "onnxruntime", "openvino", "20 more"]
    assert few_targets(names[:4]) == runs_of_targets(names[:4])
    assert runs_of_targets([*names[:2], *names[3:6]]) == [*names[:2], f"{names[3]} to {names[5]}"]
    assert runs_of_targets([]) == []


def test_a_site_stands_as_its_scales_do():
    (plain,), (fed,), (computed,) = (surveyed(text).sites for text in (PLAIN, FED, COMPUTED))
    assert standing(plain.site) is Standing.PROMOTABLE
    assert standing(fed.site) is Standing.FED
    assert standing(computed.site) is Standing.FIXED
