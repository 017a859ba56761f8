"""`verify --expect`: a model against outputs that were computed elsewhere, for inputs that are given with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.faults.framework import DIFFERS
from resizefix.faults.table import faults_of, resize_nodes
from resizefix.interop.feed_file import Fed, StoredArrays, assigned, read_arrays, read_feeds
from resizefix.library.live import places_of
from resizefix.operations.sites import find_sites
from resizefix.outcome import ErrorBound
from resizefix.runtimes.inputs import TensorInput, model_inputs
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.expected import Expected, verify_expected
from resizefix.verification.feeds import as_feed
from resizefix.verification.signatures import Feeding
from resizefix.verification.verification import Conditions, Verification

_GIVEN = Diagnostic("library.expected-arrays")
_MOST_NAMED = 8


def verify_against(
    document: Document,
    expect: str | Mapping[str, object],
    feed: Mapping[str, object] | None,
    conditions: Conditions,
    allowed: ErrorBound,
) -> Verification:
    """The model run once on `feed` and compared with `expect`: the path of an .npz or .npy file or of a folder of
    ONNX's tests, or arrays by name of an output or of a tensor of the main graph.

    Without `feed` the inputs come out of `expect`, too. Raises UsageError where an input has no value, an array does
    not fit, or no tensor of the model can be compared.
    """
    entries = model_inputs(document.proto)
    stored = _given(expect) if not isinstance(expect, str) else read_arrays(expect, "output")
    fed = read_feeds(feed, entries) if feed else _fed_with(expect, stored, entries)
    missing = [entry for entry in entries if not (entry.name in fed.values or entry.has_default)]
    if missing := [entry for entry in missing if not entry.kind.is_optional]:
        named = ", ".join(f"'{entry.name}' ({entry.type_text})" for entry in missing)
        raise UsageError("library.expect-without-feed", names=named)
    inputs = {entry.name: entry for entry in entries}
    for name in fed.values:
        if name not in inputs:
            raise UsageError("interop.feed-no-such-input", name=name, known=", ".join(inputs) or "none")
    feeds = {name: as_feed(inputs[name], value) for name, value in fed.values.items()}
    expected = _expected(document, stored, [entry.name for entry in entries], fed.notes)
    feeding = Feeding(fed.values, fed.paths)
    places = places_of(find_sites(document))
    return _with_advice(document, verify_expected(document, expected, places, feeds, conditions, allowed, feeding))


def _with_advice(document: Document, verification: Verification) -> Verification:
    """The verification, with what to do about the first resize that differs where that is known of exports of
    PyTorch."""
    first = next((site.output for site in verification.sites if site.first), None)
    if first is None:
        return verification
    nodes = (node for node in resize_nodes(ModelView(document)) if node.output == first and not node.scope.path.steps)
    if not any(fault.name == DIFFERS and fault.retry_args for node in nodes for fault in faults_of(node)):
        return verification
    reason = Diagnostic("library.expected-of-pytorch", why=verification.reason)
    return replace(verification, reason=reason)


def _expected(document: Document, stored: StoredArrays, inputs: list[str], notes: list[str]) -> Expected:
    """The arrays of which the model has an output or a tensor of its main graph, and what is to be said of the rest."""
    graph = document.proto.graph
    outputs = [value.name for value in graph.output]
    computed = {name for node in graph.node for name in node.output if name}
    arrays, unknown, note = assigned(stored, outputs, "output", computed)
    source = stored.file
    if not any(array.size for array in arrays.values()):
        raise UsageError("library.expect-empty", source=source)
    said = [*notes, *filter(None, [note])]
    unknown = tuple(name for name in unknown if name not in inputs)
    if unknown:
        names = ", ".join(unknown[:_MOST_NAMED]) + (", …" if len(unknown) > _MOST_NAMED else "")
        said.append(Diagnostic("verification.names-not-in-model", names=names))
    return Expected(arrays, source, said)


def _given(expect: Mapping[str, object]) -> StoredArrays:
    arrays: dict[str, Any] = {}
    for name, value in expect.items():
        try:
            arrays[name] = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise UsageError("library.expect-no-array", name=name, error=error) from error
    if not arrays:
        raise UsageError("library.expect-nothing")
    names = [f"arr_{at}" for at in range(len(arrays))]
    has_places = set(names) == set(arrays)
    return StoredArrays(_GIVEN, arrays, {at: arrays[name] for at, name in enumerate(names)} if has_places else {})


def _fed_with(expect: str | Mapping[str, object], stored: StoredArrays, entries: tuple[TensorInput, ...]) -> Fed:
    """The inputs that come with the expected outputs: in one folder or in one .npz file, or in one mapping."""
    if isinstance(expect, str) and Path(expect).is_dir():
        return read_feeds({"": expect}, entries)
    names = {entry.name for entry in entries}
    return read_feeds({name: array for name, array in stored.by_name.items() if name in names}, entries)
