"""What two models have in common at their borders: inputs that take one value, outputs that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto

from resizefix.diagnostics import Diagnostic, ResizefixError, UsageError
from resizefix.document.document import Document
from resizefix.runtimes.inputs import Dimension, TensorInput, model_inputs

# Values for inputs, by name: worked out where they are wanted.
Examples = Callable[[], Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class Feeding:
    """What two models are fed: `values` by input, and the paths of those that come out of `files`. `examples` is asked
    what to propose for a value that is missing. There are `runs` feeds; None: as many as the model needs."""

    values: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    examples: Examples = dict
    runs: int | None = 1

    @property
    def shown(self) -> tuple[str, ...]:
        """The inputs whose values reports show: numbers that were given."""
        return tuple(name for name in self.values if name not in self.files)


_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
_OPEN = "1,…"  # for an input that takes an unknown count of numbers, or too many to type


class NotComparableError(ResizefixError):
    """The two models do not take the same inputs or do not give the same outputs, whatever they compute."""


def common_inputs(before: Document, after: Document, feeding: Feeding) -> tuple[list[TensorInput], dict[str, object]]:
    """The inputs to feed, and the values that are given: those of `feeding`, and a default that only one side has.

    Raises NotComparableError where inputs of one name differ in type, UsageError for a value of an input that neither
    model has and for an input of one side that has neither a value nor a default.
    """
    feeds = feeding.values
    sides = [{entry.name: entry for entry in model_inputs(document.proto)} for document in (before, after)]
    by_name = {**sides[1], **sides[0]}
    for name in feeds:
        if name not in by_name:
            raise UsageError("verification.input-in-neither", name=name, known=", ".join(by_name) or "none")
    inputs: list[TensorInput] = []
    values = dict(feeds)
    missing: dict[str, list[TensorInput]] = {"BEFORE": [], "AFTER": []}
    for name, entry in by_name.items():
        owners = [side for side in sides if name in side]
        if len(owners) == 2:
            inputs.append(_merged(sides[0][name], sides[1][name]))
            if sides[0][name].has_default != sides[1][name].has_default:
                default = _default(before if sides[0][name].has_default else after, name)
                values.setdefault(name, default)
            continue
        if name in feeds or not (entry.has_default or entry.kind.is_optional):
            inputs.append(entry)
        if name not in feeds and not entry.has_default and not entry.kind.is_optional:
            missing["BEFORE" if owners[0] is sides[0] else "AFTER"].append(entry)
    if any(missing.values()):
        raise _not_fed(missing, feeding.examples())
    return inputs, values


def output_names(before: Document, after: Document) -> dict[str, str]:
    """For each output of `after` the name of the one of `before` to compare it with.

    By name; where not one name is common and there are as many, by position. Raises NotComparableError otherwise.
    """
    old = [value.name for value in before.proto.graph.output]
    new = [value.name for value in after.proto.graph.output]
    if set(old) == set(new):
        return {name: name for name in new}
    if len(old) == len(new) and not set(old) & set(new):
        return dict(zip(new, old, strict=True))
    lost = ", ".join(f"'{name}'" for name in old if name not in new) or "none"
    added = ", ".join(f"'{name}'" for name in new if name not in old) or "none"
    raise NotComparableError("verification.outputs-differ", lost=lost, added=added)


def require_types(before: Mapping[str, str], after: Mapping[str, str], renamed: Mapping[str, str]) -> None:
    """Raise NotComparableError where an input or output of both has another type, its containers included. `before` and
    `after` are the types by name, `renamed` the outputs that are compared."""
    for name, declared in after.items():
        old = before.get(renamed.get(name, name), declared)
        if old != declared:
            raise NotComparableError("verification.types-differ", name=name, type_text=old, type_text_2=declared)


def _merged(before: TensorInput, after: TensorInput) -> TensorInput:
    """An input that satisfies both: a size that one file fixes holds for the other."""
    if (before.kind, before.elem_type) != (after.kind, after.elem_type):
        raise _other_type(before, after)
    has_default = before.has_default and after.has_default
    if before.shape is None or after.shape is None:
        shape = after.shape if before.shape is None else before.shape
        return before._replace(shape=shape, has_default=has_default)
    if len(before.shape) != len(after.shape):
        raise _other_type(before, after)
    dims: list[Dimension] = []
    for b, a in zip(before.shape, after.shape, strict=True):
        if isinstance(b, int) and isinstance(a, int) and a != b:
            raise _other_type(before, after)
        dims.append(a if isinstance(a, int) or b is None else b)
    return before._replace(shape=tuple(dims), has_default=has_default)


def _other_type(before: TensorInput, after: TensorInput) -> NotComparableError:
    return NotComparableError(
        "verification.input-types-differ", name=before.name, type_text=before.type_text, type_text_2=after.type_text
    )


def _default(document: Document, name: str) -> object:
    for tensor in document.proto.graph.initializer:
        if tensor.name == name:
            return document.array(tensor)
    raise NotComparableError("verification.sparse-default", name=name)


def _not_fed(missing: Mapping[str, Sequence[TensorInput]], examples: Mapping[str, Sequence[float]]) -> UsageError:
    """What is missing on which side, and the options that give it: to be typed as they are if all are short vectors."""
    only = [
        Diagnostic(
            "verification.only-side-has-inputs" if len(entries) > 1 else "verification.only-side-has-input",
            side=side,
            inputs=", ".join(f"'{entry.name}' ({entry.type_text})" for entry in entries),
        )
        for side, entries in missing.items()
        if entries
    ]
    every = [entry for entries in missing.values() for entry in entries]
    feeds = [
        word for entry in every for word in ("--feed", f"{entry.name}={_example(entry, examples.get(entry.name, ()))}")
    ]
    what = "it" if len(every) == 1 else "them"
    return UsageError(
        "verification.not-fed",
        only=". ".join(only),
        what=what,
        feeds=" ".join(feeds),
        retry_args=() if any(_OPEN in word for word in feeds) else tuple(feeds),
    )


def _example(entry: TensorInput, example: Sequence[float]) -> str:
    """`example`, if the input can hold it; else as many numbers as it takes."""
    shape = entry.shape or (1,)
    length = shape[0]
    if len(shape) > 1 or not isinstance(length, int):
        return _OPEN
    said = [str(int(value)) if value == int(value) else str(np.float32(value)) for value in example]
    if len(said) != length or not (entry.elem_type in _FLOATS or all(word.isdecimal() for word in said)):
        said = ["1"] * (length - 2) + ["3"] * min(length, 2)
    return ",".join(said)
