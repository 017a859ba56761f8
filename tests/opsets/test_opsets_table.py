"""Nothing that changed between opset 8 and 26 is forgotten, and every row says what onnx's schemas say."""

from __future__ import annotations

import pytest
from onnx import defs

from resizefix.opsets.signatures import since_version
from resizefix.opsets.table import ABSENT, TO_OPSET_7, TO_OPSET_8

NEWEST = min(26, defs.onnx_opset_version())
OPERATORS = sorted({schema.name for schema in defs.get_all_schemas_with_history() if schema.domain == ""})


def versions_between(op_type: str, older: int, newer: int) -> set[int]:
    """The versions that models of the opsets older+1 … newer use, apart from the one that `older` uses."""
    found = {since_version(op_type, opset) for opset in range(older + 1, newer + 1)}
    return found - {since_version(op_type, older), 0}


@pytest.mark.parametrize("op_type", OPERATORS)
def test_every_operator_that_changed_since_opset_8_has_a_row_or_a_reason(op_type: str) -> None:
    changed = versions_between(op_type, 8, NEWEST)
    row = TO_OPSET_8.get(op_type)
    if not changed:
        assert row is None
        assert op_type not in ABSENT
    elif op_type in ABSENT:
        assert row is None
        assert ABSENT[op_type].reason
        assert ABSENT[op_type].fix
    else:
        assert row is not None
        assert changed <= set(row.reads)
        assert row.writes == since_version(op_type, 8)


@pytest.mark.parametrize("op_type", OPERATORS)
def test_every_operator_that_changed_with_opset_8_has_a_row(op_type: str) -> None:
    changed = versions_between(op_type, 7, 8)
    row = TO_OPSET_7.get(op_type)
    assert (set() if row is None else set(row.reads)) == changed
    assert row is None or row.writes == since_version(op_type, 7)


def test_rows_and_reasons_name_operators_that_exist() -> None:
    assert set(TO_OPSET_8) | set(ABSENT) | set(TO_OPSET_7) <= set(OPERATORS)


@pytest.mark.parametrize("row", [*TO_OPSET_8.values(), *TO_OPSET_7.values()], ids=lambda row: row.op_type)
def test_a_row_reads_versions_that_exist(row: object) -> None:
    known = {schema.since_version for schema in defs.get_all_schemas_with_history() if schema.name == row.op_type}  # type: ignore[attr-defined]
    newer = {version for version in row.reads if version > defs.onnx_opset_version()}  # type: ignore[attr-defined]
    assert set(row.reads) - newer <= known  # type: ignore[attr-defined]
