"""`resizefix.inspect`."""

from __future__ import annotations

from resizefix.interop import Model, opened
from resizefix.operations.sites import Site, find_sites


def inspect(model: Model) -> list[Site]:
    """Every Upsample/Resize of the model: what it computes, where its scales come from, whether they can be
    promoted."""
    return find_sites(opened(model))
