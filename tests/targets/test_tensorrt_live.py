import json
from pathlib import Path

import numpy as np
import onnx
import onnx_text
import pytest
from child_python import printed
from live_parser import needs_tensorrt
from matrix_models import MATRIX, build
from onnx import numpy_helper, parser

from resizefix.runtimes import tensorrt as tensorrt_live
from resizefix.runtimes.tensorrt import LiveError, LiveParser, LiveUnavailable, LiveVerdict, NetworkInput

GOOD = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> { [up] y = Resize (x, , s) }"""


X = NetworkInput("x", (1, 3, 8, 8))


def model(text: str) -> bytes:
    return bytes(parser.parse_model(text).SerializeToString())


def ask(model: bytes, folder: Path | None = None, **options: object) -> LiveVerdict | LiveUnavailable:
    with LiveParser() as live:
        return live.ask(model, folder, **options)


def verdict(given: str | bytes, **options: object) -> LiveVerdict:
    return ask(model(given) if isinstance(given, str) else given, **options)


# ---- without TensorRT: a process that plays its part ----------------------------------------------------------------


def play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """Let `script` answer instead of TensorRT's process."""
    (tmp_path / "actor.py").write_text("import json, os, signal, sys, time\n" + script)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(tensorrt_live, "WORKER", "actor:work")
    monkeypatch.setattr(tensorrt_live, "MODULE", "json")  # stands for the bindings: it is there


ANSWER = """
def work(request, send):
    def say(stage, **fields): send({"stage": stage, **fields})
    say("started", parser="TensorRT-RTX 0.0")
    data = request.pop("model")
    x = {"name": "x", "dims": [1, 3, 8, 8], "decides_shapes": False}
    parsed = {"accepted": True, "errors": [], "layers": ["RESIZE"], "inputs": [x]}
    """


def test_without_the_bindings_there_is_a_reason_and_no_crash(monkeypatch):
    monkeypatch.setattr(tensorrt_live, "MODULE", "no_such_bindings")
    found = ask(model(GOOD))
    assert "pip install 'resizefix[tensorrt]'" in found.reason


def test_bindings_that_do_not_load_are_a_reason(tmp_path, monkeypatch):
    (tmp_path / "tensorrt_rtx_bindings.py").write_text("raise ImportError('libcuda is too old')")
    monkeypatch.setattr(tensorrt_live, "MODULE", "json")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = ask(model(GOOD))
    assert found.reason == "tensorrt_rtx_bindings does not load: libcuda is too old"


ROOT = Path(tensorrt_live.__file__).parents[2]


def test_a_crash_after_the_answer_keeps_the_answer(tmp_path, monkeypatch):
    play(monkeypatch, tmp_path, ANSWER + "say('parsed', **parsed); os.kill(os.getpid(), signal.SIGSEGV)")
    with LiveParser() as live:
        for _ in range(3):
            assert live.ask(model(GOOD)) == LiveVerdict("TensorRT-RTX 0.0", True, layers=("RESIZE",), inputs=(X,))


CRASHES = [
    ("sys.exit(1)", False, LiveUnavailable("TensorRT-RTX crashes when it is started")),
    (ANSWER + "os.kill(os.getpid(), signal.SIGSEGV)", False,
     LiveVerdict("TensorRT-RTX 0.0", False, (LiveError(None, None, None, "", "the parser crashed (SIGSEGV)"),))),
    (ANSWER + "say('parsed', **parsed); sys.exit(3)", True,
     LiveVerdict("TensorRT-RTX 0.0", True, (LiveError(None, None, None, "", "the builder ended with exit code 3"),),
                 built=False, layers=("RESIZE",), inputs=(X,))),
]  # fmt: skip


@pytest.mark.parametrize(("script", "build", "answer"), CRASHES, ids=["at its start", "parsing", "building"])
def test_what_was_said_before_a_crash_is_kept_and_a_parser_that_crashes_rejects(
    tmp_path, monkeypatch, script, build, answer
):
    play(monkeypatch, tmp_path, script)
    assert verdict(GOOD, build=build) == answer


def test_a_parser_that_takes_too_long_is_ended_and_gives_no_verdict(tmp_path, monkeypatch):
    play(monkeypatch, tmp_path, ANSWER + "time.sleep(60)")
    with LiveParser(time_limit=1.5) as live:
        assert live.ask(model(GOOD)) == LiveUnavailable("TensorRT-RTX 0.0 did not answer within 1.5 s")


def test_the_folder_and_the_profile_reach_the_process(tmp_path, monkeypatch):
    script = "parsed['layers'] = [json.dumps(request), str(len(data))]; say('parsed', **parsed)"
    play(monkeypatch, tmp_path, ANSWER + script)
    profile = {"f": {"min": [1], "opt": np.array([2]), "max": (4,)}}
    found = verdict(GOOD, folder=tmp_path, build=True, profile=profile)
    request = json.loads(found.layers[0])
    assert request["path"] == str(tmp_path / "model.onnx")
    assert request["profile"] == {"f": {"min": [1], "opt": [2], "max": [4]}}
    assert int(found.layers[1]) == len(model(GOOD))


NODES = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3,8,8] x, bool c) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> {
  [twin] a = Relu (x)
  [twin] b = Relu (a)
  d = Resize (b, , s)
  y = If (c) <then_branch = t () => (float[a,b,c,d] p) { [inner] p = Relu (d) },
              else_branch = e () => (float[a,b,c,d] q) { q = Resize (d, , s) }>
}"""


@pytest.mark.parametrize(
    ("error", "output", "index"),
    [
        ({"op_type": "Relu", "name": "twin", "index": 1}, "b", 1),
        ({"op_type": "Relu", "name": "twin", "index": 7}, None, None),
        ({"op_type": "Relu", "name": "inner", "index": 5}, "p", 0),
        ({"op_type": "Resize", "name": "", "index": 2}, "d", 2),
        ({"op_type": "Resize", "name": "", "index": 0}, "q", 0),
        ({"op_type": "Resize", "name": "", "index": 1}, None, None),
        ({"op_type": "", "name": "", "index": -1}, None, None),
    ],
)
def test_an_error_is_placed_by_name_and_by_position_where_names_do_not_tell(
    tmp_path, monkeypatch, error, output, index
):
    parsed = {"accepted": False, "errors": [{**error, "message": "no"}], "layers": [], "inputs": []}
    play(monkeypatch, tmp_path, ANSWER + f"say('parsed', **json.loads({json.dumps(parsed)!r})); say('done')")
    (found,) = verdict(NODES).errors
    assert (found.output, found.index, found.op_type, found.message) == (output, index, error["op_type"], "no")


def test_the_worker_reads_nothing_of_the_package():
    script = (
        "import sys; import resizefix.runtimes.tensorrt_worker;"
        "print([name for name in sys.modules if name.split('.')[0] in ('onnx', 'onnxruntime', 'numpy')])"
    )
    assert printed("-c", script, cwd=ROOT) == "[]\n"


# ---- with TensorRT --------------------------------------------------------------------------------------------------


@needs_tensorrt
def test_a_resize_is_parsed_and_built():
    found = verdict(GOOD, build=True)
    assert found.parser.startswith("TensorRT-RTX 1.")
    assert (found.accepted, found.built, found.layers, found.inputs) == (True, True, ("RESIZE",), (X,))
    assert found.errors == ()


@needs_tensorrt
def test_a_refused_node_is_named_with_its_reason():
    found = verdict(GOOD.replace("Resize", "Resize <antialias = 1>"))
    assert not found.accepted
    (error,) = found.errors
    assert (error.node, error.output, error.index, error.op_type) == ("up", "y", 0, "Resize")
    assert "Antialiasing is not supported" in error.message


@needs_tensorrt
def test_a_factor_that_is_fed_builds_with_a_profile_and_fails_without():
    text = """<ir_version: 8, opset_import: ["" : 13]>
    g (float[1,3,h,w] x, int64[1] f) => (float[a,b,c,d] y) <int64[2] one = {1,1}> {
      shape = Shape (x) all = Concat <axis = 0> (one, f, f) z = Mul (shape, all) y = Resize (x, , , z)
    }"""
    pixels = {"min": [1, 3, 4, 4], "opt": [1, 3, 8, 8], "max": [1, 3, 16, 16]}
    assert verdict(text).inputs == (NetworkInput("x", (1, 3, None, None)), NetworkInput("f", (1,), decides_shapes=True))
    with_factor = {"x": pixels, "f": {"min": [1], "opt": [2], "max": [4]}}
    built = verdict(text, build=True, profile=with_factor)
    assert built.built, built.errors
    without = verdict(text, build=True, profile={"x": pixels})
    assert (without.accepted, without.built) == (True, False)
    assert "missing values for shape input tensor f" in without.errors[0].message
    unknown = verdict(text, build=True, profile={**with_factor, "k": pixels})
    assert "the network has no input 'k'; it has x, f" in unknown.errors[0].message


@needs_tensorrt
def test_a_default_is_no_input_of_the_network_any_more():
    text = """<ir_version: 8, opset_import: ["" : 13]>
    g (float[1,3,8,8] x, float[4] s = {1,1,2,2}) => (float[a,b,c,d] y) { y = Resize (x, , s) }"""
    assert verdict(text).inputs == (X,)


@needs_tensorrt
def test_external_weights_are_found_in_the_folder_and_only_there(tmp_path):
    proto = onnx_text.model(
        "(float[1,3,8,8] x) => (float[a,b,c,d] y) {  a = Conv <pads = [1,1,1,1]> (x, w) y = Resize (a, , s) }"
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((3, 3, 3, 3), np.float32), "w"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s"))
    onnx.save_model(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=64)
    light = (tmp_path / "m.onnx").read_bytes()
    assert verdict(light, folder=tmp_path, build=True).built
    assert not verdict(light, folder=tmp_path / "..").accepted


@needs_tensorrt
def test_bytes_that_are_no_model_are_refused():
    found = verdict(b"\xff\xff\xff\xff")
    assert not found.accepted
    assert found.errors


@needs_tensorrt
def test_the_rebuilt_cases_of_the_matrix_get_the_recorded_verdict_of_the_parser():
    wrong = []
    with LiveParser() as live:
        for row in MATRIX:
            found = live.ask(build(row["case"])[0].SerializeToString())
            if found.accepted != (row["rtx_1.7.1"] != "parse-fail"):
                wrong.append((row["case"], found.errors))
    assert wrong == []


@needs_tensorrt
def test_rebuilt_cases_get_the_recorded_verdict_of_the_builder():
    failing = [row for row in MATRIX if row["rtx_1.7.1"] == "build-fail"]
    building = [row for row in MATRIX if row["rtx_1.7.1"] == "ok"][::25]
    with LiveParser() as live:
        for row in failing + building:
            proto, profile = build(row["case"])
            found = live.ask(proto.SerializeToString(), build=True, profile=profile)
            assert found.built == (row["rtx_1.7.1"] == "ok"), row
