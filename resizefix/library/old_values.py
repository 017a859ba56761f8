"""What an input that only one of two models has is fed, so that its resizes are what they are in the other."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.document.document import Document
from resizefix.interpolation import ExtentKind
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.origins.origin import OriginKind
from resizefix.runtimes.inputs import model_inputs

Numbers = tuple[float, ...]


def old_values(before: Document, after: Document) -> dict[str, Numbers]:
    """By the name of the input; for those inputs alone that drive a resize whose size the other model fixes.

    They are good for a proposal: an input may be divided or shifted on its way to the node.
    """
    found: dict[str, Numbers] = {}
    for fed, fixed in ((after, before), (before, after)):
        shapes = {entry.name: entry.shape for entry in model_inputs(fed.proto)}
        twins = {site.key: site for site in find_sites(fixed)}
        for site in find_sites(fed):
            name, twin = site.origin.name, twins.get(site.key)
            if site.origin.kind is not OriginKind.GRAPH_INPUT or name is None or twin is None:
                continue
            values = _extent(twin, site.extent.kind)
            fitting = [form for form in _forms(values) if form and (len(form),) == shapes.get(name)]
            if fitting:
                found.setdefault(name, fitting[0])
    return found


def _extent(site: Site, kind: ExtentKind) -> Numbers:
    """The scales or the sizes of a site that is fixed; none where they are not known."""
    if site.extent.kind is kind:
        return tuple(site.extent.values or ())
    sizes = tuple(size for size in site.output_dims or () if isinstance(size, int))
    return sizes if kind is ExtentKind.SIZES and len(sizes) == len(site.output_dims or ()) else ()


def _forms(values: Numbers) -> Sequence[Numbers]:
    """The values as they are, of the scaled axes alone, and the one that these share."""
    scaled = tuple(value for value in values if value != 1)
    return values, scaled, tuple(dict.fromkeys(scaled))
