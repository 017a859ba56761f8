"""Files that real converters broke: what onnxruntime did with them before the repair, what they compute after it."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from ort_runs import opened

import resizefix
from resizefix.document.document import Document
from resizefix.faults import names
from resizefix.faults.table import ROWS
from resizefix.library.plans import Plans, repair_helps
from resizefix.library.result import Result
from resizefix.operations.sites import sites_in
from resizefix.outcome import Status
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.verification import VerificationStatus

BROKEN = Path(__file__).parents[2] / "fixtures" / "broken"
CASES = {case["id"]: case for case in json.loads((BROKEN / "index.json").read_text())}
KINDS = {"tensor(float)": "float32", "tensor(double)": "float64"}
REPAIRED = [name for name, case in CASES.items() if case["expected"] == "repaired" and "refuse" not in case["also_ok"]]


def feeds_of(case: dict, shapes: dict, opened: ort.InferenceSession) -> dict[str, np.ndarray]:
    rng = np.random.RandomState(0)
    feeds = {}
    for entry in opened.get_inputs():
        kind = np.dtype(KINDS.get(entry.type, entry.type[len("tensor(") : -1]))
        shape = shapes[entry.name]
        whole = kind.kind in "iu"
        values = rng.randint(2, 5, size=shape) if whole and not isinstance(shape, dict) else None
        if values is None:
            values = np.array(shape["values"]) if isinstance(shape, dict) else rng.rand(*shape)
        feeds[entry.name] = values.astype(kind)
    return feeds


@cache
def tried(name: str) -> Result:
    """The repair with the preference that the index names; where what it makes does not load, as it was tried."""
    try:
        return resizefix.repair(BROKEN / f"{name}.onnx", prefer=CASES[name].get("prefer"), on_refusal="return")
    except resizefix.VerificationFailedError as error:
        return error.result


def repaired(name: str) -> Result | None:
    """The repair; None where what is written would not load."""
    return None if tried(name).verification.status is VerificationStatus.FAILED else tried(name)


def faults_fixed(name: str) -> set[str]:
    return {fault for outcome in tried(name).outcomes for fault in (outcome.fault or "").split(", ")} - {""}


@pytest.mark.parametrize("name", REPAIRED)
def test_what_a_real_converter_broke_computes_what_its_reference_does(name):
    case = CASES[name]
    result = repaired(name)
    assert result.changed
    assert result.verification.passed
    made = result.model.to_proto()
    reference = onnx.load(BROKEN / "reference" / f"{name}.onnx")
    for shapes in case["compare"]["feeds"]:
        for optimized in (False, True):
            wanted, found = opened(reference, optimized=optimized), opened(made, optimized=optimized)
            feeds = feeds_of(case, shapes, wanted)
            for before, after in zip(wanted.run(None, feeds), found.run(None, feeds), strict=True):
                assert before.shape == after.shape
                span = float(np.ptp(before.astype(np.float64))) or 1.0
                allowed = case["compare"]["tol"] or (1e-6 if optimized else 0.0)
                assert np.abs(before.astype(np.float64) - after).max() <= allowed * span


@pytest.mark.parametrize("name", REPAIRED)
def test_before_the_repair_onnxruntime_says_what_the_index_says(name):
    case = CASES[name]
    model = onnx.load(BROKEN / f"{name}.onnx", load_external_data=False)
    if case["onnxruntime"]["state"] == "load_fail":
        with pytest.raises(Exception, match=r".") as failure:
            opened(model, optimized=True)
        assert str(failure.value)[:60] == case["onnxruntime"]["says"][:60]
        return
    reference, session = onnx.load(BROKEN / "reference" / f"{name}.onnx"), opened(model)
    feeds = feeds_of(case, case["compare"]["feeds"][-1], session)
    if case["onnxruntime"]["state"] == "run_fail":
        with pytest.raises(Exception, match=r"Resize|broadcast"):
            session.run(None, feeds)
        return
    wanted = opened(reference).run(None, feeds)
    found = session.run(None, feeds)
    if case["onnxruntime"]["state"] == "right":  # a file that other runtimes refuse
        assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))
        return
    assert any(a.shape != b.shape or not np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_a_repaired_file_has_no_fault_left_and_a_second_repair_changes_nothing(name):
    case = CASES[name]
    result = repaired(name)
    if result is None:
        assert "refuse" in (case["expected"], *case["also_ok"])
        return
    assert result.changed or "refuse" in case["also_ok"] or case["expected"] != "repaired"
    again = resizefix.repair(result.model, prefer=case.get("prefer"), on_refusal="return")
    assert not again.changed
    assert again.model.to_proto() == result.model.to_proto()


def near_resizes(model: onnx.ModelProto) -> set[str]:
    """Names that resizes read and write, what computes their operands, and names that several nodes write."""
    nodes = list(model.graph.node)
    made = {name: node for node in nodes for name in node.output}
    found: set[str] = set()
    for node in nodes:
        if node.op_type in ("Resize", "Upsample"):
            found |= {*node.input, *node.output}
            todo = list(node.input[1:])
            while todo:
                name = todo.pop()
                if name in made and made[name].op_type not in ("Shape", "Size"):
                    todo += [source for source in made[name].input if source not in found]
                    found |= {*made[name].input, *made[name].output}
    written = Counter(name for node in nodes for name in node.output)
    return (found | {name for name, count in written.items() if count > 1}) - {""}


@pytest.mark.parametrize("name", REPAIRED)
def test_what_is_not_the_resizes_is_byte_for_byte_what_it_was(name):
    before = onnx.load(BROKEN / f"{name}.onnx")
    after = repaired(name).model.to_proto()
    near = near_resizes(before) | near_resizes(after)
    for one, other in ((before, after), (after, before)):
        there = Counter(node.SerializeToString() for node in other.graph.node)
        for node in one.graph.node:
            if there[node.SerializeToString()]:
                there[node.SerializeToString()] -= 1
            elif not any(attribute.HasField("g") for attribute in node.attribute):  # bodies hold resizes of their own
                assert {*node.input, *node.output} & near, node
    kept = {tensor.name: tensor.SerializeToString() for tensor in after.graph.initializer}
    for tensor in before.graph.initializer:
        assert tensor.name in near or kept.get(tensor.name) == tensor.SerializeToString()
    outside = ("producer_name", "producer_version", "doc_string", "model_version", "domain")
    assert [getattr(before, field) for field in outside] == [getattr(after, field) for field in outside]
    assert list(before.graph.input) == list(after.graph.input)
    assert list(before.metadata_props) == list(after.metadata_props)


ALL_FAULTS = {names.REUSED, *(name for row in ROWS for name in row.names)}
WITHOUT_FILE = {name for row in ROWS if row.on_request or not row.has_converter for name in row.names}


def test_every_fault_has_a_file_of_the_converter_that_makes_it():
    assert set().union(*map(faults_fixed, CASES)) == ALL_FAULTS - WITHOUT_FILE


def test_the_page_names_a_file_and_its_converter_for_every_fault_that_a_converter_makes():
    page = (BROKEN.parents[1] / "docs" / "repair.md").read_text(encoding="utf-8")
    makers = page.split("## Who makes them")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in makers.splitlines() if line.startswith("| `")]
    files = {row[0].strip("`"): row for row in rows}
    assert files.keys() == ALL_FAULTS - WITHOUT_FILE
    for fault, (_, converters, named) in files.items():
        for name in re.findall("`([a-z0-9_]+)`", named):
            case = CASES[name]
            assert fault in faults_fixed(name)
            assert case["version"] in converters or any(word in converters for word in case["converter"].split())


@pytest.mark.parametrize("page", ["docs/repair.md", "docs/zh/repair.md"])
def test_the_page_lists_every_fault(page):
    lines = (BROKEN.parents[1] / page).read_text(encoding="utf-8").splitlines()
    cells = [line.split("|")[1] for line in lines if line.startswith("| `")]
    assert {name for cell in cells for name in re.findall("`([a-z0-9-]+)`", cell)} == ALL_FAULTS


def is_repaired_without_a_preference(name: str) -> bool:
    if "prefer" in CASES[name]:
        try:
            return resizefix.repair(BROKEN / f"{name}.onnx", on_refusal="return").changed
        except resizefix.VerificationFailedError:
            return False
    result = repaired(name)
    return result is not None and result.changed


@pytest.mark.parametrize("name", CASES)
def test_repair_is_suggested_where_it_succeeds_and_nowhere_else(name):
    path = BROKEN / f"{name}.onnx"
    view = ModelView(Document.open(path))
    succeeds = is_repaired_without_a_preference(name)
    sites = sites_in(view)
    assert Plans(view, sites).repairs == succeeds
    stands_in_the_way = faults_fixed(name) != {names.REUSED}  # of names no node depends
    assert repair_helps(path, {site.index for site in sites}) == (succeeds and stands_in_the_way)


@pytest.mark.parametrize("name", CASES)
def test_no_model_that_onnxruntime_does_not_load_is_said_to_be_accepted(name):
    case = CASES[name]
    fails = case["expected"] == "repaired" and case["onnxruntime"]["state"] == "load_fail"
    if fails and case["kind"] != "lost_pixel":  # there another node refuses the size
        assert not resizefix.check(BROKEN / f"{name}.onnx", target="onnxruntime").accepted
        legal = resizefix.legalize(BROKEN / f"{name}.onnx", target="onnxruntime", verify=False, on_refusal="return")
        assert any(outcome.status is not Status.UNCHANGED for outcome in legal.outcomes)
