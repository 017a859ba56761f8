import contextlib
import json

import onnx
import pytest
from hostile_fixtures import HOSTILE, INDEX, answers, rows

from resizefix.document.wire import LENGTH_DELIMITED, START_GROUP, MalformedError, records

ROWS = rows()
AT_A_TIME = 7  # files to one process
WRITTEN_WITH = json.loads(INDEX.read_text(encoding="utf-8"))["onnx"]


def test_the_index_lists_every_file():
    assert {row["file"] for row in ROWS} == {path.name for path in HOSTILE.glob("*.hostile")}


@pytest.mark.parametrize("start", range(0, len(ROWS), AT_A_TIME))
def test_what_once_broke_something_is_answered_with_its_sentence(worker, tmp_path, start):
    """After a change of words: python tests/reliability/hostile_fixtures.py."""
    wanted = {row["file"]: row["answers"] for row in ROWS[start : start + AT_A_TIME]}
    found, wrong = answers(worker, tmp_path, list(wanted))
    assert wrong == {}
    for file, answer in wanted.items():
        codes = {command: code for command, (code, _) in found[file].items()}
        assert codes == {command: code for command, (code, _) in answer.items()}, file
    # Another version of onnx may say other things of the same file.
    if onnx.__version__ == WRITTEN_WITH:
        assert found == wanted


PARTS, GROUPS = HOSTILE / "graph-in-three-parts.hostile", HOSTILE / "unknown-groups.hostile"
LINES = (["promote-scales"], ["legalize", "--target", "tensorrt-5.0"], ["trt-legacy"])


@pytest.fixture
def written(worker, tmp_path):
    """Runs a command on a file: what the file held before, what is written, and what is said."""

    def run(path, command, *options):
        (tmp_path / "model.onnx").write_bytes(path.read_bytes())
        run = worker.run([command, "model.onnx", "out.onnx", *options], folder=tmp_path).last
        assert (run.code, run.stderr) == (0, "")
        assert (tmp_path / "model.onnx").read_bytes() == path.read_bytes()
        return path.read_bytes(), (tmp_path / "out.onnx").read_bytes(), run.stdout

    return run


@pytest.mark.parametrize("line", LINES)
def test_a_graph_in_three_parts_is_written_and_proven(written, line):
    _, after, said = written(PARTS, *line)
    assert "verification passed" in said
    onnx.checker.check_model(onnx.load_from_string(after), full_check=True)


def test_a_promoted_graph_in_three_parts_keeps_every_record_that_is_not_edited(written):
    before, after = map(_records_of_graphs, written(PARTS, "promote-scales", "--no-verify")[:2])
    gone = [record for record in before if record not in after]
    new = [record for record in after if record not in before]
    assert [record for record in before if record in after] == [record for record in after if record in before]
    assert len(before) == 14
    assert [record[:1] for record in gone] == [RESIZE, INITIALIZER, OUTPUT]
    assert [record[:1] for record in new] == [INPUT, RESIZE, OUTPUT]


RESIZE, INITIALIZER, INPUT, OUTPUT = (bytes((number << 3 | 2,)) for number in (1, 5, 11, 12))


def _records_of_graphs(data):
    """The records of all parts of the graph, as they stand in the file."""
    parts = [record for record in records(data, 0, len(data)) if record.number == 7]
    return [data[inner.start : inner.end] for part in parts for inner in records(data, part.body, part.end)]


@pytest.mark.parametrize("line", LINES)
def test_groups_that_no_schema_knows_are_carried_through(written, line):
    before, after, _ = written(GROUPS, *line)
    groups = _groups(before, 0, len(before))
    assert groups == _groups(after, 0, len(after)) != []


def _groups(data, start, end):
    """Every group of the model, its graph, and the graph's inputs and outputs; nodes and constants may go."""
    found = []
    for record in records(data, start, end):
        if record.wire_type == START_GROUP:
            found.append(data[record.start : record.end])
        elif record.wire_type == LENGTH_DELIMITED and record.number in (7, 11, 12):
            with contextlib.suppress(MalformedError):  # a name, say
                found += _groups(data, record.body, record.end)
    return found
