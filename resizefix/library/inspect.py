"""`resizefix.inspect`: the sites of a model, each with what can be done with it."""

from __future__ import annotations

import numpy as np

from resizefix.interop import Model, opened
from resizefix.library.coupling import sites_with_coupling
from resizefix.operations.site import Site
from resizefix.shapes.model_view import ModelView


@np.errstate(all="ignore")  # as `bounded`
def inspect(model: Model) -> list[Site]:
    """Every Upsample/Resize of the model: what it computes, where its scales come from, whether they can be promoted,
    and whether they can change alone (`coupling`)."""
    return sites_with_coupling(ModelView(opened(model)))
