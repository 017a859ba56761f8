"""What a command needs does not grow with the weights: a model of 150 MB within a few dozen."""

import re
from pathlib import Path

import pytest
from child_python import ended
from onnx import TensorProto, helper

from resizefix.document.document import Document
from resizefix.document.wire import encode_header

MEGABYTE = 1 << 20
SIZE = 150 * MEGABYTE
WEIGHTS = 30
MOST = 120 * MEGABYTE
SIZE_OF_ONE = 256 * MEGABYTE

# The command line, then the most memory that the process ever held (not ru_maxrss: a child's begins at its parent's).
RUN = """
import re, sys
from resizefix.cli import main
try:
    main(sys.argv[1:])
finally:
    print("peak", re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1], file=sys.stderr)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with one resize and 150 MB of weights, which are holes in the file."""
    return written(tmp_path_factory.mktemp("large") / "large.onnx", WEIGHTS, SIZE)


def written(path: Path, weights: int, size: int) -> Path:
    """A model with one resize, and weights of that many bytes together, which are holes in the file."""
    if not Path("/proc/self/status").exists():
        pytest.skip("how much memory a process held is only known on Linux")
    each = size // weights
    names = [f"w{i}" for i in range(weights)]
    nodes = [helper.make_node("Resize", ["x", "", "s"], ["y"], name="up", mode="nearest")]
    nodes += [helper.make_node("ReduceSum", [name], [f"{name}_sum"], name=f"{name}_sum") for name in names]
    nodes.append(helper.make_node("Sum", ["y", *(f"{name}_sum" for name in names)], ["out"], name="sum"))
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, size, size])]
        for name, size in (("x", 4), ("out", 8))
    )
    small = [helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 2, 2])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, small).SerializeToString()
    heads = []
    for name in names:
        tensor = TensorProto(name=name, data_type=1, dims=[each // 4, 1]).SerializeToString()
        tensor += encode_header(TensorProto.RAW_DATA_FIELD_NUMBER, each)
        heads.append(encode_header(5, len(tensor) + each) + tensor)
    model = helper.make_model(helper.make_graph([], "", [], []), opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    model.ClearField("graph")
    with path.open("wb") as file:
        file.write(model.SerializeToString() + encode_header(7, len(graph) + sum(map(len, heads)) + weights * each))
        file.write(graph)
        for head in heads:
            file.write(head)
            file.seek(each, 1)
        file.truncate()
    return path


def peak_of(*arguments: object, code: int = 0) -> int:
    """The most memory, in bytes, that the command held; it must end with that exit code."""
    done = ended("-c", RUN, *arguments)
    assert done.returncode == code, done.stderr
    found = re.search(r"peak (\d+)", done.stderr)
    assert found is not None
    return int(found[1]) * 1024


# A row for each command; the weights are in none of them.
COMMANDS = {
    "inspect": ("inspect", "MODEL"),
    "check": ("check", "MODEL", "--target", "tensorrt-10"),
    "promote-scales": ("promote-scales", "MODEL", "OUT", "--no-verify"),
    "legalize": ("legalize", "MODEL", "OUT", "--target", "tensorrt-7.1", "--no-verify"),
    "trt-legacy": ("trt-legacy", "MODEL", "OUT", "--no-verify"),
    "diff": ("diff", "MODEL", "MODEL"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_model_of_150_megabytes_is_worked_on_in_120(name, large, tmp_path):
    places = {"MODEL": large, "OUT": tmp_path / "out.onnx"}
    assert large.stat().st_size > SIZE
    assert peak_of(*(places.get(word, word) for word in COMMANDS[name])) <= MOST
    assert "OUT" not in COMMANDS[name] or places["OUT"].stat().st_size > SIZE


@pytest.mark.parametrize("external", [False, True])
def test_one_tensor_of_a_quarter_of_a_gigabyte_is_compared_in_120_megabytes(external, tmp_path):
    before, after = (written(tmp_path / name, 1, SIZE_OF_ONE) for name in ("before.onnx", "after.onnx"))
    if external:
        for path in (before, after):
            moved_out(path, tmp_path / f"{path.stem}.bin")
    assert peak_of("diff", before, after, "--meaning-only") <= MOST
    last = (tmp_path / "after.bin" if external else after).open("r+b")
    with last:
        last.seek(-1, 2)
        last.write(b"\1")
    assert peak_of("diff", before, after, code=1) <= MOST


def moved_out(path: Path, data: Path) -> None:
    """The one tensor of the model gets its data in another file, holes again."""
    document = Document.open(path)
    references = document.proto.graph.initializer[1].external_data
    del references[:]
    for key, value in (("location", data.name), ("offset", "0"), ("length", str(SIZE_OF_ONE))):
        references.add(key=key, value=value)
    path.write_bytes(document.proto.SerializeToString())
    with data.open("wb") as file:
        file.truncate(SIZE_OF_ONE)


@pytest.mark.parametrize("name", ["promote-scales", "legalize"])
def test_a_proof_needs_no_more_than_the_weights_once_for_both_models(name, large, tmp_path):
    places = {"MODEL": large, "OUT": tmp_path / "out.onnx"}
    command = [word for word in COMMANDS[name] if word != "--no-verify"]
    assert peak_of(*(places.get(word, word) for word in command)) <= SIZE + MOST
