"""No version of an operator is forgotten, downwards or upwards, and every row says what onnx's schemas say."""

from onnx import defs

from resizefix.opsets.raising_rows import NOTHING_TO_DO
from resizefix.opsets.raising_rows import ROWS as UP
from resizefix.opsets.table import ABSENT, DOWN, ROOMS
from resizefix.shapes.table import since_version

OLDEST = 7
SCHEMAS = [schema for schema in defs.get_all_schemas_with_history() if schema.domain == ""]
VERSIONS = sorted({(schema.name, schema.since_version) for schema in SCHEMAS if schema.since_version > OLDEST})
OPERATORS = {schema.name for schema in SCHEMAS}
RESIZES = {"Upsample", "Resize"}  # operations/opset.py has their rows, which are dialects


def is_first(op_type: str, version: int) -> bool:
    return not since_version(op_type, version - 1)


def goes_down(op_type: str, version: int) -> bool:
    """Whether a row says what models before this version have in the operator's place, or the table why nothing is."""
    row, absent = DOWN.get(op_type), ABSENT.get(op_type)
    if is_first(op_type, version) and absent is not None:
        return bool(absent.reason and absent.fix) and version not in (row.reads if row else ())
    return (row is not None and version in row.reads) or op_type == "Scatter"  # 11: not in ONNX any more


def goes_up(op_type: str, version: int) -> bool:
    """Whether a row says what models of this version have in the operator's place, or that it may stay as it is."""
    has_row, stays = op_type in UP.get(version, {}), version in NOTHING_TO_DO.get(op_type, {})
    types_alone = op_type in DOWN and version in DOWN[op_type].kept
    return has_row != (stays or (types_alone and not has_row))


def test_every_version_of_an_operator_goes_down_by_a_row_or_has_a_reason():
    assert len(VERSIONS) > 400
    assert [(*one,) for one in VERSIONS if one[0] not in RESIZES and not goes_down(*one)] == []


def test_every_version_of_an_operator_goes_up_by_a_row_or_stays_with_a_reason():
    later = [one for one in VERSIONS if not is_first(*one)]
    assert len(later) > 250
    assert [one for one in later if not goes_up(*one)] == []


def test_rows_and_reasons_name_versions_that_exist():
    newest = defs.onnx_opset_version()
    down = {(row.op_type, version) for row in DOWN.values() for version in row.reads if version <= newest}
    up = {(op_type, version) for version, rows in UP.items() for op_type in rows}
    stays = {(op_type, version) for op_type, versions in NOTHING_TO_DO.items() for version in versions}
    renamed = {("Upsample", 10), ("Scatter", 11)}
    assert {one for one in down | up | stays if one[1] <= newest} - renamed <= set(VERSIONS)
    assert set(ABSENT) <= OPERATORS


def test_versions_that_only_took_more_types_have_the_words_of_the_version_before():
    """What a row keeps as it is has the same attributes, inputs and outputs in both schemas."""

    def words(op_type: str, version: int) -> tuple:
        schema = defs.get_schema(op_type, version, "")
        formals = [[(formal.name, formal.option) for formal in found] for found in (schema.inputs, schema.outputs)]
        return sorted(schema.attributes), *formals

    kept = [
        (row.op_type, version) for row in DOWN.values() for version in row.kept if (row.op_type, version) in VERSIONS
    ]
    assert len(kept) > 200
    changed = [one for one in kept if words(*one) != words(one[0], one[1] - 1)]
    assert changed == []


def test_no_two_rows_are_of_one_operator():
    assert sum(len(room.ROWS) for room in ROOMS) == len(DOWN)
