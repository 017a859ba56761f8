"""Nothing that changed between opset 8 and 26 is forgotten, and every row says what onnx's schemas say."""

from onnx import defs

from resizefix.opsets.table import ABSENT, ROOMS, TO_OPSET_8
from resizefix.shapes.signatures import since_version

NEWEST = min(26, defs.onnx_opset_version())
OPERATORS = sorted({schema.name for schema in defs.get_all_schemas_with_history() if schema.domain == ""})


HISTORY = {(schema.name, schema.since_version) for schema in defs.get_all_schemas_with_history()}


def versions_between(op_type: str, older: int, newer: int) -> set[int]:
    """The versions that models of the opsets older+1 … newer use, apart from the one that `older` uses."""
    found = {since_version(op_type, opset) for opset in range(older + 1, newer + 1)}
    return found - {since_version(op_type, older), 0}


def has_a_row_or_a_reason(op_type: str) -> bool:
    changed = versions_between(op_type, 8, NEWEST)
    row, absent = TO_OPSET_8.get(op_type), ABSENT.get(op_type)
    if not changed:
        return row is None and absent is None
    if absent is not None:
        return row is None and bool(absent.reason and absent.fix)
    return row is not None and changed <= set(row.reads) and row.writes == since_version(op_type, 8)


def test_every_operator_that_changed_since_opset_8_has_a_row_or_a_reason():
    assert len(OPERATORS) > 150
    assert [op_type for op_type in OPERATORS if not has_a_row_or_a_reason(op_type)] == []


def test_rows_and_reasons_name_operators_that_exist():
    assert set(TO_OPSET_8) | set(ABSENT) <= set(OPERATORS)


def test_a_row_reads_versions_that_exist():
    newest = defs.onnx_opset_version()
    rows = TO_OPSET_8.values()
    read = {(row.op_type, version) for row in rows for version in row.reads if version <= newest}
    assert read <= HISTORY


def test_no_two_rows_are_of_one_operator():
    assert sum(len(room.ROWS) for room in ROOMS) == len(TO_OPSET_8)
