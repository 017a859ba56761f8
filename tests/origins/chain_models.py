"""Models whose resize gets its operand from a chain, and what is recovered from them."""

import onnx_text

from resizefix.document.document import Document
from resizefix.interpolation import ExtentKind
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.origins.recover import Recoverer, Recovery
from resizefix.shapes.stored_shapes import ModelView

# Sizes as TorchScript writes them: each spatial size of x by itself, batch and channels sliced off its shape.
SIZES = """
  shape = Shape (x)
  h0 = Gather <axis = 0> (shape, two)
  w0 = Gather <axis = 0> (shape, three)
  {steps}
  h2 = Unsqueeze <axes = [0]> (h1)
  w2 = Unsqueeze <axes = [0]> (w1)
  nc = Slice (shape, i0, i2, i0)
  k = Concat <axis = 0> (nc, h2, w2)
"""
NEAREST = 'mode = "nearest"'
INDICES = "int64 two = {2}, int64 three = {3}, int64[1] i0 = {0}, int64[1] i2 = {2}, int64[1] i4 = {4}"


def document(
    nodes: str, inputs: str = "float[n,3,h,w] x", extra: str = "", *, opset: int = 11, ir: int = 8
) -> Document:
    graph = f"({inputs}) => (float[?,?,?,?] y) <{INDICES}{', ' * bool(extra)}{extra}> {{ {nodes} }}"
    return onnx_text.document(graph, opset, ir=ir)


def sized(steps: str, inputs: str = "float[n,3,h,w] x", extra: str = "", attributes: str = NEAREST) -> Document:
    """A Resize-11 by sizes, made from h0 and w0 (int64 scalars) by `steps`, which define h1 and w1."""
    nodes = SIZES.format(steps=steps) + f"y = Resize <{attributes}> (x, e, e, k)"
    return document(nodes, inputs, "float[0] e = {}" + (", " + extra if extra else ""))


def both(steps: str) -> str:
    """The same steps for height and width: `#0` is the size read, `#1` the size made, `#a`, `#b`, … what is between."""
    return " ".join(steps.replace("#", axis) for axis in "hw")


def only_site(doc: Document) -> Site:
    (site,) = find_sites(doc)
    return site


def recovered(doc: Document, operand: str = "k", kind: ExtentKind = ExtentKind.SIZES) -> Recovery | str:
    site = only_site(doc)
    view = ModelView(doc)
    return Recoverer(view).recover(view.scopes.by_path[site.scope.path], site.input, operand, kind, site.interpolation)
