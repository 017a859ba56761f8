"""Two models site by site: what each site was and what it is, with what is new, changed or gone around it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from onnx import TensorProto

from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.document.scopes import Definition, DefinitionKind
from resizefix.document.text import node_text
from resizefix.document.view import View
from resizefix.interpolation import ExtentKind
from resizefix.operations.diff import Change, diff
from resizefix.origins.classify import OriginKind
from resizefix.reports.surroundings import Mark, MarkOf, Neighbourhood
from resizefix.reports.survey import Survey, Surveyed
from resizefix.reports.wording import is_named, tensor

_MOST_COMPARED = 4096  # elements of a tensor; the list of changes compares the others
_INPUTS = (DefinitionKind.INPUT, DefinitionKind.DEFAULTED_INPUT)


class Fate(str, Enum):
    """What became of a site."""

    CHANGED = "changed"
    REPLACED = "replaced"  # other operators make its output
    REMOVED = "removed"  # nothing makes its output any more
    NEW = "new"
    SIZED = "other sizes"  # the same node, with tensors of other sizes around it
    SAME = "unchanged"


@dataclass(frozen=True, eq=False)
class SitePair:
    """One site of the two models; `before` is None where it is new, `after` where it is no resize any more.

    `after_picture` is what makes the output now, a resize or not.
    """

    fate: Fate
    before: Surveyed | None
    after: Surveyed | None
    after_picture: Neighbourhood | None

    @property
    def is_touched(self) -> bool:
        """Whether the node itself, or what it reads, is not what it was."""
        return self.fate not in (Fate.SAME, Fate.SIZED)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two surveys, all changes, and the sites in pairs: those that differ first."""

    before: Survey
    after: Survey
    changes: tuple[Change, ...]
    pairs: tuple[SitePair, ...]
    meaning_only: bool = False


def compare(
    before: Document, after: Document, changes: Iterable[Change] | None = None, *, meaning_only: bool = False
) -> Comparison:
    """Compare two models, whose differences are `changes` if known: those of their meaning alone with `meaning_only`.
    Sites are matched by the tensor that they make."""
    old = Survey(before, _marker(before, after, Mark.REMOVED))
    new = Survey(after, _marker(after, before, Mark.NEW))
    later = {surveyed.site.key: surveyed for surveyed in new.sites}
    pairs = []
    for surveyed in old.sites:
        match = later.pop(surveyed.site.key, None)
        picture = match.picture if match else new.surroundings.around(surveyed.site.key)
        pairs.append(SitePair(_fate(surveyed, match, picture), surveyed, match, picture))
    pairs.extend(SitePair(Fate.NEW, None, surveyed, surveyed.picture) for surveyed in later.values())
    pairs.sort(key=lambda pair: not pair.is_touched)
    listed = diff(before, after, meaning_only=meaning_only) if changes is None else changes
    return Comparison(old, new, tuple(listed), tuple(pairs), meaning_only)


def sizes_after(pair: SitePair) -> str | None:
    """Type and sizes of the output now, where the file does not say them all: sizes that the scales left alone are
    those of before, and a size that an input decides is called H or W. None: nothing is to be added."""
    if pair.before is None or pair.after is None:
        return None
    old, new = pair.before.site, pair.after.site
    before, after, scales = old.output_dims, new.output_dims, old.extent.values
    if (
        before is None
        or scales is None
        or old.extent.kind is not ExtentKind.SCALES
        or new.origin.kind is not OriginKind.GRAPH_INPUT
    ):
        return None
    dims = after if after is not None else (None,) * len(before)
    if len(dims) != len(before) or len(scales) != len(before):
        return None
    letters = [None] * max(len(before) - 2, 0) + ["H", "W"][-len(before) :]
    sizes = tuple(
        size if is_named(size) else was if scale == 1 else letter
        for size, was, scale, letter in zip(dims, before, scales, letters, strict=True)
    )
    return tensor(sizes, new.elem_type)


def labelled(picture: Neighbourhood | None, output: str, label: str | None) -> Neighbourhood | None:
    """The picture with this label at the edges of the tensor `output`."""
    if picture is None or label is None:
        return picture
    edges = tuple(replace(edge, label=label) if edge.tensor == output else edge for edge in picture.edges)
    return replace(picture, edges=edges)


def _fate(before: Surveyed, after: Surveyed | None, picture: Neighbourhood | None) -> Fate:
    if picture is None:
        return Fate.REMOVED
    if after is None:
        return Fate.REPLACED
    old = before.picture
    if (
        old is None
        or old.boxes != picture.boxes
        or old.is_marked
        or picture.is_marked
        or node_text(before.site.node) != node_text(after.site.node)
    ):
        return Fate.CHANGED
    if old.edges == picture.edges:
        return Fate.SAME
    unlabelled = ([replace(edge, label="") for edge in one.edges] for one in (old, picture))
    return Fate.SIZED if next(unlabelled) == next(unlabelled) else Fate.CHANGED


def _marker(document: Document, other: Document, word: Mark) -> MarkOf:
    """Says how what stands in a document differs from what `other` has under the same name; `word` if it has
    nothing."""
    scopes = View(other.proto).scopes

    def mark_of(definition: Definition) -> Mark | None:
        scope = scopes.by_path.get(definition.scope.path)
        counterpart = (
            scopes.definition(scope, definition.name) if scope is not None and scope.defines(definition.name) else None
        )
        if counterpart is None or (counterpart.kind in _INPUTS) != (definition.kind in _INPUTS):
            return word
        if counterpart.node is not None and definition.node is not None:
            if counterpart.node.op_type != definition.node.op_type:
                return word
            return None if node_text(counterpart.node) == node_text(definition.node) else Mark.CHANGED
        if counterpart.kind is not definition.kind:
            return Mark.CHANGED
        if definition.tensor is None or counterpart.tensor is None:
            return None
        return None if _same(document, definition.tensor, other, counterpart.tensor) else Mark.CHANGED

    return mark_of


def _same(document: Document, tensor: TensorProto, other: Document, match: TensorProto) -> bool:
    if tensor.data_type != match.data_type or tensor.dims != match.dims:
        return False
    if math.prod(tensor.dims) > _MOST_COMPARED:
        return True
    try:
        return bool(np.array_equal(document.array(tensor), other.array(match)))
    except ResizefixError:
        return False
