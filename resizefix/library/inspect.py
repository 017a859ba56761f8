"""`resizefix.inspect`: the sites of a model, each with what can be done with it."""

from __future__ import annotations

from resizefix.interop import Model, opened
from resizefix.library.bounded import checked
from resizefix.library.coupling import sites_with_coupling
from resizefix.operations.site import Site
from resizefix.printable import InNotebook
from resizefix.shapes.stored_shapes import ModelView


class Sites(InNotebook, list[Site]):
    """A list of sites, which notebooks show as a table."""


@checked
def inspect(model: Model) -> Sites:
    """Every Upsample/Resize of the model: what it computes, where its scales come from, whether they can be promoted,
    and whether they can change alone (`coupling`)."""
    return Sites(sites_with_coupling(ModelView(opened(model))))
