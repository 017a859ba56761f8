"""What a row of the table is: one operator, the versions it is read in, the version it becomes, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from resizefix.error_bound import ErrorBound
from resizefix.opsets.site import Site
from resizefix.opsets.verdict import BITWISE

Rewrite = Callable[[Site], None]


@dataclass(frozen=True)
class Row:
    """One operator of the ai.onnx domain.

    `reads` lists every version the rewrite was written and tested for: a newer one is refused until somebody has read
    its changes. `writes` is the version the target opset knows, 0 where the operator did not exist. `rewrite` adds the
    nodes that take the node's place; types are checked afterwards, against the target's schema.
    """

    op_type: str
    reads: tuple[int, ...]
    writes: int
    rewrite: Rewrite
    error: ErrorBound = BITWISE


def keep(site: Site) -> None:
    """The older version says the same in the same words; at most it takes fewer types."""
    site.copy_node()
