"""The commands that `check`, `legalize` and `explain` name for TensorRT lead to files that its builder takes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
import onnx_text
import pytest
from child_python import ended
from live_parser import needs_tensorrt
from shape_input_models import depth_anything, mask_decoder, matting

import resizefix
from resizefix.document.document import Document
from resizefix.faults.names import clashing_names
from resizefix.library.explain import explain
from resizefix.operations.integer_inputs import deciding_floats
from resizefix.runtimes.tensorrt import LiveParser
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import TARGETS

# A depth map gets the size of a second image, and both name their sides alike.
GUIDED = """(float[b,1,h,w] depth, float[b,3,h,w] rgb) => (float[b,1,h,w] y) <int64[1] two = {2}, int64[1] four = {4},
    int64[1] zero = {0}> { s = Shape (rgb) hw = Slice (s, two, four, zero) d = Shape (depth)
    bc = Slice (d, zero, two, zero) sizes = Concat <axis = 0> (bc, hw)
    [up] y = Resize <mode = "linear"> (depth, "", "", sizes) }"""
STRUCTURES = {
    "SAM": mask_decoder, "RVM": matting, "Depth-Anything": depth_anything,
    "guided depth": lambda: onnx_text.model(GUIDED, 17),
}  # fmt: skip
MOST_STEPS = 4
INTEGERS_ALONE = [target.name for target in TARGETS if "runtime-extent-is-integer" in {r.name for r in target.rules}]
# Nodes that no rule of a resize looks at, each with a shape that the float input n decides.
DECIDED = {
    "Slice": "whole = Cast <to = 7> (n) [it] a = Slice (x, i0, whole, i2)",
    "Reshape": "whole = Cast <to = 7> (n) s = Concat <axis = 0> (whole, m1) [it] a = Reshape (x, s)",
    "Tile": "whole = Cast <to = 7> (n) s = Concat <axis = 0> (i1, i1, i1, whole) [it] a = Tile (x, s)",
    "Expand": "whole = Cast <to = 7> (n) s = Concat <axis = 0> (whole, i1, i1, i1) [it] a = Expand (x, s)",
    "ConstantOfShape": "whole = Cast <to = 7> (n) [it] a = ConstantOfShape (whole)",
}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def called(words: Sequence[str]) -> str:
    done = ended("-m", "resizefix", *words)
    assert "this is an error in resizefix" not in done.stderr
    return done.stdout + done.stderr


def next_words(text: str) -> list[str]:
    """The words of the command that a text names next."""
    lines = text.splitlines()
    at = next((index for index, line in enumerate(lines) if line.startswith("next, to")), None)
    return [] if at is None else shlex.split(lines[at + 1])[1:]


def followed(model: onnx.ModelProto) -> tuple[str, list[str], Mapping[str, Mapping[str, list[int]]]]:
    """The last file, the commands, and the profile that the last of them printed, after `check` names no more."""
    onnx.save(model, "m.onnx")
    path, commands, profile = "m.onnx", list[str](), dict[str, dict[str, list[int]]]()
    for _ in range(MOST_STEPS):
        words = next_words(called(["check", path, "--target", "tensorrt-10"]))
        if not words:
            break
        path = words[2]
        said = called(words)
        commands.append(words[0])
        profile = {}
        for flag in (one for line in said.splitlines() if line.startswith("trtexec") for one in line.split()):
            bound, _, specs = flag.partition("Shapes=")
            for name, _, sizes in (spec.partition(":") for spec in specs.split(",") if specs):
                profile.setdefault(name, {})[bound.strip("-")] = [int(size) for size in sizes.split("x")]
    return path, commands, profile


@needs_tensorrt
@pytest.mark.parametrize("name", STRUCTURES)
def test_check_names_commands_until_it_accepts_and_the_builder_takes_what_they_lead_to(name: str) -> None:
    path, commands, profile = followed(STRUCTURES[name]())
    assert commands
    assert "freeze-scales" not in commands
    assert resizefix.check(path, target="tensorrt-10").accepted
    assert deciding_floats(ModelView(Document.open(path))) == []
    if profile:
        with LiveParser() as parser:
            found = parser.ask(Path(path).read_bytes(), build=True, profile=profile)
        assert found.built, found  # type: ignore[union-attr]
    else:
        assert resizefix.check(path, target="tensorrt-10", build=True).taken


@pytest.mark.parametrize("target", INTEGERS_ALONE)
@pytest.mark.parametrize("operator", DECIDED)
def test_no_verdict_accepts_a_shape_that_a_float_input_decides(operator: str, target: str) -> None:
    graph = f"""(float[1,1,8,8] x, float[1] n) => (float[?,?,?,?] y) <float[4] s4 = {{1, 1, 2, 2}}, int64[1] i0 = {{0}},
        int64[1] i1 = {{1}}, int64[1] i2 = {{2}}, int64[1] m1 = {{-1}}> {{
        {DECIDED[operator]} y = Resize (x, , s4) z = Identity (a) }}"""
    model = onnx_text.model(graph, 17)
    verdict = resizefix.check(model, target=target)
    assert not verdict.accepted
    assert [(one.node, one.rule) for one in verdict.violations if one.node == "it"] == [
        ("it", "runtime-extent-is-integer")
    ]
    assert f"--target {target} --shape-inputs" in verdict.violations[-1].fix
    whole = onnx_text.model(graph.replace("float[1] n", "int64[1] n"), 17)
    assert "it" not in {one.node for one in resizefix.check(whole, target=target).violations}


@needs_tensorrt
@pytest.mark.parametrize("operator", ["Slice", "Tile"])
def test_the_real_builder_refuses_such_a_shape_too(operator: str) -> None:
    graph = f"""(float[1,1,8,8] x, float[1] n) => (float[?,?,?,?] a) <int64[1] i0 = {{0}}, int64[1] i1 = {{1}},
        int64[1] i2 = {{2}}> {{ {DECIDED[operator]} }}"""
    with LiveParser() as parser:
        assert not parser.ask(onnx_text.model(graph, 17).SerializeToString(), build=True).taken  # type: ignore[union-attr]


def test_a_frozen_input_that_others_read_is_frozen_for_all() -> None:
    onnx.save(mask_decoder(), "m.onnx")
    words = next_words(called(["inspect", "m.onnx", "-n", "to_original"])) or next_words(called(["inspect", "m.onnx"]))
    if words and words[0] == "freeze-scales":
        assert "--all-uses" in words
    (trial, *_) = explain("is a shape tensor and must have type Int32 or Int64. Type is Float", "m.onnx")
    assert trial.command is not None
    called(shlex.split(trial.command)[1:])
    assert resizefix.check(shlex.split(trial.command)[3], target="tensorrt-10").accepted


def test_a_legalized_file_whose_profile_gives_a_name_two_lengths_names_repair() -> None:
    model = matting()
    repaired = resizefix.repair(model).model
    for file, one in (("names.onnx", repaired), ("apart.onnx", repaired)):
        onnx.save(one, file)
    again = onnx.load("names.onnx")
    for value in (*again.graph.input, *again.graph.output):  # as exporters name them
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if axis >= 2:
                dim.dim_param = ("height", "width")[axis - 2]
    onnx.save(again, "names.onnx")
    options = ["--target", "tensorrt-10", "--shape-inputs", "--denominator", "16"]
    said = called(["legalize", "names.onnx", "names.out.onnx", *options])
    assert next_words(said)[:2] == ["repair", "names.out.onnx"]
    assert "two of height, width" in " ".join(said.split())
    assert next_words(called(["legalize", "apart.onnx", "apart.out.onnx", *options])) == []


@pytest.mark.parametrize(("low", "high", "clashing"), [
    ([1, 1, 1, 1], [1, 1, 1, 1], ["h", "w"]), ([1, 1, 8, 8], [1, 1, 16, 8], []), ([1, 1, 4, 9], [1, 1, 8, 16], ["w"]),
])  # fmt: skip
def test_ranges_of_one_name_must_have_a_length_in_common(low: list[int], high: list[int], clashing: list[str]) -> None:
    ranges = {"depth": (low, high), "rgb": ([1, 3, 8, 8], [2, 3, 16, 8])}
    assert clashing_names(onnx_text.model(GUIDED, 17), ranges) == clashing


def test_explain_names_the_names_after_another_fix() -> None:
    model = resizefix.repair(matting()).model
    for value in (*model.graph.input, *model.graph.output):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if axis >= 2:
                dim.dim_param = ("height", "width")[axis - 2]
    onnx.save(model, "m.onnx")
    (found, *_) = explain("is a shape tensor and must have type Int32 or Int64. Type is Float", "m.onnx")
    assert found.then is not None
    assert found.then.split()[1] == "repair"
