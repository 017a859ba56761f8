"""Constant nodes: the words for a value that are not a dense tensor. Constant-1 takes floats alone (constants.py)."""

from onnx import numpy_helper

from resizefix.opsets.site import Row, Site
from resizefix.opsets.verdict import Blocked
from resizefix.shapes.constant_node import spelled_value


def as_tensor(site: Site) -> None:
    """value_float, value_ints and others came with 12."""
    attribute = site.node.attribute[0] if len(site.node.attribute) == 1 else None
    if attribute is not None and attribute.name in ("value", "sparse_value"):
        site.copy_node()
        return
    value = None if attribute is None or attribute.ref_attr_name else spelled_value(attribute)
    if attribute is None or value is None:
        raise Blocked("opsets.constant-without-value", "opsets.fix-constant-value")
    site.copy_node(without=[attribute.name], value=numpy_helper.from_array(value))


def as_dense(site: Site) -> None:
    """sparse_value came with 11. The value is known, as of any constant that is not large."""
    if site.attribute("sparse_value") is None:
        site.copy_node()
        return
    value = site.constant(site.output())
    if value is None:
        raise Blocked("opsets.constant-without-value", "opsets.fix-constant-value")
    site.copy_node(without=["sparse_value"], value=numpy_helper.from_array(value))


# Sources: docs/Changelog.md. Others: more types.
ROWS: tuple[Row, ...] = (Row("Constant", {11: as_dense, 12: as_tensor}, (9, 13, 19, 21, 23, 24, 25)),)
