from __future__ import annotations

import pytest
from child_python import printed
from fixture_models import FIXTURES, SRCNN

import resizefix

KINDS = {"onnx_graphsurgeon", "onnx_ir", "torch", "PIL"}
HEAVY = {"onnx", "numpy", "onnxruntime", "google.protobuf", "click", "rich"} | KINDS


def modules_after(code: str) -> set[str]:
    """All modules that are imported once this code has run."""
    return set(printed("-c", f"{code}\nimport sys\nprint(*sys.modules)").split())


def loaded_by(code: str) -> set[str]:
    return modules_after(code) & HEAVY


@pytest.mark.parametrize(
    "code",
    [
        "import resizefix; assert 'promote_scales' in dir(resizefix) or resizefix.__all__",
        "from resizefix import ResizefixError, RefusedError, __version__",
    ],
    ids=["the package", "its errors"],
)
def test_nothing_heavy_is_imported_before_a_call_is_looked_up(code):
    assert loaded_by(code) == set()


@pytest.mark.parametrize(
    "code",
    [
        "import resizefix.library.set_interpolation",
        f"import onnx, resizefix; resizefix.promote_scales(onnx.load({str(SRCNN)!r}))",
    ],
    ids=["pictures", "kinds of models"],
)
def test_what_another_kind_of_input_needs_is_not_imported_unasked(code):
    assert loaded_by(code).isdisjoint(KINDS)


@pytest.mark.parametrize("name", ["inspect", "promote_scales", "check"])
def test_a_call_is_looked_up_without_running_or_drawing_anything(name):
    loaded = loaded_by(f"from resizefix import {name}")
    assert "onnx" in loaded  # the test can fail
    assert loaded <= {"onnx", "numpy", "google.protobuf"}


# All that `inspect` of a model with one constant scale imports of these rooms. What only a suggestion, a repair, a
# plan, a downgrade or a run needs is imported where it is used: each module costs about half a millisecond.
FOR_INSPECT = {
    "equivalences": {"kernel_arithmetic"},
    "library": {"coupling", "option_values", "options", "plans", "resolution", "verdict"},
    "operations": {"forms", "site", "sites"},
    "opsets": {"evaluation", "newest"},
    "origins": {"classify"},
    "runtimes": {"inputs"},
    "shapes": {"kept_names", "sizes", "dependents", "reading", "table", "walk"}
    | {"values", "inference", "stored_shapes", "output_size"}
    | {"model_types", "node_types", "value_types"}
    | {"image_axes", "maps_alone"}
    | {"expression", "moving_values", "operand"}
    | {"cutting_rows", "elementwise_rows", "moving_rows", "reshape_row", "window_rows"},
    "targets": {"catalogue", "facts", "collect_facts", "onnxruntime_target", "target", "tensorrt"}
    | {"shared_rules"}
    | {"tensorrt_sampling"}
    | {"met_tensors"}
    | {f"foreign{name}" for name in ("", ".described", ".described_conditions", ".deviations", ".sampling")}
    | {f"foreign.{name}" for name in ("mnn", "ncnn", "opencv", "openvino", "sampled_otherwise", "tract", "tvm")},
    "verification": {"scale_points", "sizing"},
}
NOT_FOR_JSON = {"library.plans", "library.verdict", "reports.terminal", "reports.screen"}


COUNTED = """
import contextlib, io, os, sys, threading
entered = set()
def profile(frame, event, _):
    if event == "call" and frame.f_code.co_name != "<module>":
        entered.add(frame.f_code.co_filename)
threading.setprofile(profile)
sys.setprofile(profile)
from resizefix.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main({words!r})
sys.setprofile(None)
import resizefix
home = os.path.dirname(resizefix.__file__)
print(sum(os.path.commonpath([home, file]) == home for file in entered if os.path.isabs(file)), *sys.modules)
"""


def modules_of(*words: str) -> tuple[set[str], set[str]]:
    """What a command imports: modules of the package, and heavy packages."""
    own, heavy, _ = walk_of(*words)
    return own, heavy


def walk_of(*words: str) -> tuple[set[str], set[str], int]:
    """What a command imports, and how many files of the package it enters: a function or a class body of them runs."""
    entered, *names = printed("-c", COUNTED.format(words=list(words))).split()
    own = {name.removeprefix("resizefix.") for name in names if name.startswith("resizefix.")}
    return own, HEAVY.intersection(names), int(entered)


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_inspect_imports_only_what_it_needs(words):
    own, heavy, entered = walk_of("inspect", str(SRCNN), *words)
    assert entered <= ENTERED["inspect"]
    assert "shapes.walk" in own  # the command has run
    for room, needed in FOR_INSPECT.items():
        found = {name.partition(".")[2] for name in own if name.startswith(f"{room}.")}
        assert found <= needed, f"{room}: import it where it is used"
    assert not own & {"lowerings", "interop", "reports.html", "reports.markdown"}
    assert not (words and own & {*NOT_FOR_JSON, "targets"}), "not for --json"
    assert heavy == {"click", "google.protobuf", "numpy", "onnx"}


# How many files of the package a command enters, at most, for a model of one constant scale. Who follows a line has to
# open each of them: write a small function into the file of its subject, and import late what few models need.
ENTERED = {"inspect": 97, "promote-scales": 109, "legalize": 128, "trt-legacy": 141}

# What a command that writes does not use stays unloaded: rooms, or modules of them.
UNUSED = {
    "promote-scales": ("faults", "lowerings", "opsets.lowering", "opsets.table", "origins.fit", "reports.survey"),
    "legalize": ("library.live", "library.plans", "opsets.lowering", "opsets.table", "runtimes.tensorrt"),
    "trt-legacy": ("library.live", "library.plans", "reports.survey", "runtimes.tensorrt"),
}


@pytest.mark.parametrize("command", UNUSED)
def test_a_command_that_writes_loads_only_what_it_uses(command, tmp_path):
    more = ("--target", "tensorrt-8.0") if command == "legalize" else ()
    own, _, entered = walk_of(command, str(SRCNN), str(tmp_path / "out.onnx"), *more)
    assert entered <= ENTERED[command]
    assert "runtimes.ort_session" in own  # the result is verified
    unused = (*UNUSED[command], "input_sizes", "interop.graphsurgeon_graph", "interop.ir_model")
    assert [name for name in sorted(own) if f"{name}.".startswith(tuple(f"{prefix}." for prefix in unused))] == []


BROKEN = FIXTURES / "broken" / "both_extents_aidge.onnx"
NO_CUBIC = "This version of TensorRT does not support cubic interpolation!"
# What runs other runtimes, and what another size of the input needs: for who asks for it.
ASKED_FOR = ("runtimes.adapters.", "input_sizes")


def within(own: set[str], *rooms: str) -> set[str]:
    return {name for name in own if name.startswith(rooms)}


def loaded_for(words: tuple[str, ...], tmp_path) -> set[str]:
    """What a command loads; IN, FED and BROKEN among its words are models, OUT is a file that it must write."""
    files = {"IN": SRCNN, "FED": tmp_path / "fed.onnx", "BROKEN": BROKEN, "OUT": tmp_path / "out.onnx"}
    if "FED" in words:
        resizefix.promote_scales(SRCNN, input_name="scales", verify=False).model.save(files["FED"])
    own, _ = modules_of(*(str(files.get(word, word)) for word in words))
    assert "OUT" not in words or files["OUT"].exists()
    return own


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "IN"),
        ("inspect", "IN", "-v"),
        ("promote-scales", "IN", "OUT"),
        ("promote-scales", "IN", "OUT", "--for", "tensorrt"),
        ("freeze-scales", "FED", "OUT", "--set", "scales=1,1,2,2"),
        ("set", "IN", "OUT", "mode=linear"),
        ("repair", "BROKEN", "OUT"),
        ("legalize", "IN", "OUT", "--target", "tensorrt-8.0"),
        ("trt-legacy", "IN", "OUT"),
        ("opset", "IN", "OUT", "17"),
        ("verify", "IN", "IN"),
        ("diff", "IN", "FED"),
        ("explain", NO_CUBIC),
        ("explain", NO_CUBIC, "IN"),
        ("check", "IN"),
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_who_asks_neither_for_a_run_in_another_runtime_nor_for_a_size_loads_nothing_of_them(words, tmp_path):
    own = loaded_for(words, tmp_path)
    assert {"document.document", "library.explain"} & own  # the command has run
    assert within(own, *ASKED_FOR) == set()


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "IN", "--json"),
        ("verify", "IN", "IN"),
        ("diff", "IN", "FED"),
        ("explain", NO_CUBIC),
        ("explain", NO_CUBIC, "IN"),
        ("check", "IN", "--target", "tensorrt-10"),
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_who_is_told_nothing_of_other_runtimes_loads_no_rules_of_one(words, tmp_path):
    assert within(loaded_for(words, tmp_path), "targets.foreign") == set()


@pytest.mark.parametrize(
    "words", [("inspect",), ("check",), ("check", "--target", "qnn"), ("promote-scales", "--dry-run", "--json")]
)
def test_who_is_told_of_other_runtimes_gets_their_rules(words):
    own, _ = modules_of(*words, str(SRCNN))
    assert "targets.foreign.described" in own


def test_where_a_target_accepts_the_model_no_other_runtime_is_read_and_nothing_that_runs(tmp_path):
    own, _, entered = walk_of("legalize", str(SRCNN), str(tmp_path / "out.onnx"), "--target", "tensorrt-10")
    assert entered <= 82
    assert "targets.tensorrt" in own  # the command has run
    assert not own & {"document.splice", "runtimes.ort_session", "verification.engine"}
    assert within(own, "targets.foreign") == set()


def test_help_imports_neither_a_command_nor_what_reads_a_model():
    own, heavy = modules_of("--help")
    assert heavy == {"click"}
    assert {name.partition(".")[0] for name in own} & {*FOR_INSPECT, "dialects", "document", "faults"} == set()


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_the_process_that_reports_on_a_folder_leaves_models_and_targets_to_its_workers(words, tmp_path):
    (tmp_path / SRCNN.name).symlink_to(SRCNN)
    own, heavy = modules_of("check", str(tmp_path), "--target", "tensorrt-10", *words)
    assert {"cli.many", "pool"} <= own
    assert heavy == {"click"}
