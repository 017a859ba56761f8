"""docs/schema says what `--json` prints: real answers of every command over real models are held to it."""

import json

import jsonschema
import onnx
import pytest
from fixture_models import FIXTURES, SRCNN
from onnx_text import model as model_of
from referencing import Registry, Resource

from resizefix.cli import group
from resizefix.runtimes.runtime import Runtime, TimedModel, Timings

SCHEMAS = {path.stem: json.loads(path.read_text()) for path in (FIXTURES.parent / "docs" / "schema").glob("*.json")}
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())
MODELS = [
    "srcnn_x3_opset11",
    "unet_nearest_opset11",
    "computed_scales_opset9",
    "scripted_if_opset11",
    "esrgan_qdq_opset17",
    "bisenet_x8_linear_opset9",
    "broken/fp16_scales_const_13",
]


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS[name], registry=REGISTRY)


def test_every_command_has_a_schema_and_every_schema_is_one():
    assert set(SCHEMAS) == {*group.list_commands(None), "definitions", "many", "text"}  # type: ignore[arg-type]
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "MODEL"),
        ("promote-scales", "MODEL", "--dry-run", "--no-verify"),
        ("promote-scales", "MODEL", "--dry-run", "--for", "tensorrt", "--no-verify"),
        ("freeze-scales", "MODEL", "--dry-run", "--no-verify"),
        ("trt-legacy", "MODEL", "--dry-run", "--no-verify"),
        ("legalize", "MODEL", "--dry-run", "--target", "tensorrt-7.0", "--no-verify"),
        ("repair", "MODEL", "--dry-run", "--no-verify"),
        ("set", "MODEL", "--dry-run", "mode=linear", "coordinates=asymmetric", "--no-verify"),
        ("input-size", "MODEL", "96x64", "--dry-run", "--no-verify"),
        ("opset", "MODEL", "9", "--dry-run", "--no-verify"),
        ("opset", "MODEL", "18", "--dry-run", "--no-verify"),
        ("check", "MODEL"),
        ("verify", "MODEL", "MODEL"),
        ("explain", "Resize scales must be an initializer!", "MODEL"),
        ("explain", "no such message"),
        ("verify", "MODEL", "--runtime", "onnxruntime"),
        ("diff", "MODEL", SRCNN),
        ("target", "new", "my-npu", "-o", "FILE"),
    ],
    ids=lambda arguments: " ".join(arguments[:1]),
)
def test_what_is_printed_is_what_the_schema_says(answered, tmp_path, model, arguments):
    places = {"MODEL": FIXTURES / f"{model}.onnx", "FILE": tmp_path / "npu.toml"}
    found = answered(*(places.get(word, word) for word in arguments))
    assert found["exit_code"] in (0, 1)
    validator(arguments[0]).validate(found)


@pytest.mark.parametrize("words", [["promote-scales"], ["legalize", "--target", "onnxruntime"], ["set", "mode=linear"]])
def test_a_model_that_is_refused_as_a_whole_is_answered_in_full(answered, tmp_path, words):
    nodes = "a = Softmax <axis = 1> (x) y = Resize (a, s)"
    graph = f"(float[2,3,8,8] x) => (float[?,?,?,?] y) <float[4] s = {{1, 1, 2, 2}}> {{ {nodes} }}"
    onnx.save(model_of(graph, 10), tmp_path / "m.onnx")
    found = answered(words[0], tmp_path / "m.onnx", "--dry-run", "--opset", "13", *words[1:])
    assert found["exit_code"] == 1
    assert "Softmax node 'a' cannot be raised" in found["error"]
    assert [outcome["status"] for outcome in found["outcomes"]] == ["refused"]
    assert found.keys() >= {"inputs", "verification", "blockers"}
    validator(words[0]).validate(found)


def test_a_proof_is_as_the_schema_says(answered):
    found = answered("promote-scales", SRCNN, "--dry-run")
    assert found["verification"]["runs"]
    validator("promote-scales").validate(found)


def test_a_measured_difference_is_as_the_schema_says(answered):
    found = answered("set", SRCNN, "--dry-run", "mode=nearest")
    assert found["outcomes"][0]["node_diffs"]
    validator("set").validate(found)


@pytest.mark.parametrize("command", ["inspect", "promote-scales", "check", "verify"])
def test_unusable_input_is_as_the_schema_says(answered, command):
    more = {"promote-scales": ["--dry-run"], "check": ["--target", "onnxruntime"], "verify": ["none.onnx"]}
    found = answered(command, "none.onnx", *more.get(command, []))
    assert found["exit_code"] == 2
    validator(command).validate(found)


@pytest.mark.parametrize("words", [["check", "--target", "list"], ["legalize", "--help"], ["--version"]])
def test_text_is_as_its_schema_says(answered, words):
    validator("text").validate(answered(*words))


def test_several_models_are_as_the_schema_says(answered):
    paths = [FIXTURES / f"{model}.onnx" for model in MODELS[:2]]
    found = answered("inspect", *paths)
    validator("many").validate(found)
    for each in found["models"]:
        validator("inspect").validate(each)


def test_an_answer_that_lacks_what_is_promised_is_told_apart(answered):
    found = answered("inspect", SRCNN)
    del found["sites"][0]["promotable"]
    with pytest.raises(jsonschema.ValidationError, match="'promotable' is a required property"):
        validator("inspect").validate(found)


def test_times_are_as_the_schema_says(answered, monkeypatch):
    def told(runtime, models, rounds, seconds):
        return Timings("a clock", tuple(TimedModel((1.0,) * rounds) for _ in models))

    monkeypatch.setattr(Runtime, "time", told)
    found = answered("legalize", SRCNN, "--dry-run", "--fastest", "--allow-inexact")
    assert found["speed"]["nodes"][0]["before"] == {"form": "as it is", "ms": 1000.0}
    validator("legalize").validate(found)
