"""The conditions that a target's file states: what each looks at, and the values that it takes.

A condition says True, False, or None where a fact is not known. Each row is a word of the file, of its JSON schema
(`described_schema.py`) and of its page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from onnx import TensorProto

from resizefix.interpolation import CoordinateTransformationMode, NearestMode
from resizefix.shapes.output_size import inference_length
from resizefix.targets.facts import OperandSource, Roi, SiteFacts
from resizefix.targets.foreign.sampling import is_resized, resized
from resizefix.targets.shared_rules import counts_from_the_front, is_fed, is_power_of_two, output_sizes

S = OperandSource

SOURCES: Mapping[str, OperandSource] = {
    "attribute": S.ATTRIBUTE,
    "initializer": S.INITIALIZER,
    "initializer-and-input": S.INITIALIZER_AND_INPUT,
    "constant-node": S.CONSTANT,
    "constant-list": S.CONSTANT_LIST,
    "folded": S.FOLDED,
    "shapes": S.SHAPE,
    "integer-input": S.INTEGER_INPUT,
    "integer-input-computed": S.INTEGER_INPUT_COMPUTED,
    "integer-input-divided": S.INTEGER_INPUT_DIVIDED,
    "other-input": S.OTHER_INPUT,
    "data": S.DATA,
    "none": S.ABSENT,
}
"""Where scales or sizes come from, by the words of a file; a source that is not known has none."""
TYPES: Mapping[str, int] = {
    name: TensorProto.DataType.Value(name.upper())
    for name in (
        *("float", "float16", "bfloat16", "double", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
        *("uint64", "bool", "string", "complex64", "complex128"),
    )
} | {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
"""The types of tensors that Resize and Upsample take, by the words of a file: ONNX's, and two that guides write."""
_OTHERS = 2
"""The axes of the image: the last two."""


class ConditionKind(NamedTuple):
    """The values of a condition: `words` (one, a list of them, or {not = ...}), `flag`, or numbers (one, a list, or
    {min, max}), which are `whole` or not. `choices` are the words."""

    takes: str
    choices: tuple[str, ...] = ()
    flag: bool = False
    whole: bool = False

    def allows(self, value: Any) -> bool:
        """Whether a file may say this."""
        if self.flag:
            return isinstance(value, bool)
        if isinstance(value, dict) and not self.choices:
            ends = [value[end] for end in ("min", "max") if end in value]
            return bool(ends) and len(ends) == len(value) and all(map(self._is_one, ends)) and ends == sorted(ends)
        if isinstance(value, dict):
            value = value["not"] if value.keys() == {"not"} else []
        values = _listed(value)
        return bool(values) and all(map(self._is_one, values))

    def _is_one(self, value: Any) -> bool:
        if self.choices:
            return isinstance(value, str) and value in self.choices
        return isinstance(value, int if self.whole else (int, float)) and not isinstance(value, bool)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _one_of(*choices: str) -> ConditionKind:
    return ConditionKind("one of " + ", ".join(choices) + "; a list of them; or { not = … }", choices)


FLAG = ConditionKind("true or false", flag=True)
WHOLE = ConditionKind("a whole number, a list of them, or { min = …, max = … }", whole=True)
NUMBER = ConditionKind("a number, a list of them, or { min = …, max = … }")


class Condition(NamedTuple):
    """One word of a file. `holds` sees the facts of a node and the value that the file gives."""

    name: str
    kind: ConditionKind
    says: str
    holds: Callable[[SiteFacts, Any], bool | None]


def within(wanted: Any, number: float) -> bool:
    """Whether a number is what a file says: that number, one of a list, or between `min` and `max`."""
    if isinstance(wanted, dict):
        return bool(wanted.get("min", number) <= number <= wanted.get("max", number))
    return number in _listed(wanted)


def among(wanted: Any, word: str) -> bool:
    """Whether a word is what a file says: that word, one of a list, or none of those behind `not`."""
    if isinstance(wanted, dict):
        return word not in _listed(wanted["not"])
    return word in _listed(wanted)


def _word(of: Callable[[SiteFacts], str | None]) -> Callable[[SiteFacts, Any], bool | None]:
    return lambda f, wanted: None if (word := of(f)) is None else among(wanted, word)


def _number(of: Callable[[SiteFacts], float | None]) -> Callable[[SiteFacts, Any], bool | None]:
    return lambda f, wanted: None if (number := of(f)) is None else within(wanted, number)


def _flag(of: Callable[[SiteFacts], bool | None]) -> Callable[[SiteFacts, Any], bool | None]:
    return lambda f, wanted: None if (flag := of(f)) is None else flag is wanted


def _any_word(words: Mapping[str, Callable[[SiteFacts], bool | None]]) -> Callable[[SiteFacts, Any], bool | None]:
    """A condition of words that may hold together: one of those that are listed must, or all that `not` lists fail."""

    def holds(f: SiteFacts, wanted: Any) -> bool | None:
        if isinstance(wanted, dict):
            return not_(any_of(words[word](f) for word in _listed(wanted["not"])))
        return any_of(words[word](f) for word in _listed(wanted))

    return holds


def _each(numbers: Iterable[float | None] | None, wanted: Any) -> bool | None:
    """Whether all numbers are within; None where one is not known and none of the others fails."""
    return None if numbers is None else all_of(None if n is None else within(wanted, n) for n in numbers)


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """False where one fails, else None where one is not known."""
    answers = tuple(answers)
    return False if False in answers else None if None in answers else True


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """True where one holds, else None where one is not known."""
    return not_(all_of(not_(answer) for answer in answers))


def not_(answer: bool | None) -> bool | None:
    """The opposite; what is not known stays so."""
    return None if answer is None else not answer


# ---- what is looked at ----------------------------------------------------------------------------------------------


def _nearest_mode(f: SiteFacts) -> str | None:
    return f.nearest_mode if f.mode == "nearest" and f.has_coordinates else None


def _source(f: SiteFacts) -> str | None:
    return next((word for word, source in SOURCES.items() if source is f.source), None)


def _is_of(elem_type: int) -> Callable[[SiteFacts], bool | None]:
    return lambda f: None if f.elem_type is None else f.elem_type == elem_type


def _factors(f: SiteFacts) -> tuple[tuple[int, float], ...] | None:
    """Length and factor of each axis that is resized; None where nothing is, or nothing is known."""
    if not f.is_computable and f.output_shape is None and is_fed(f):
        return None
    return tuple((size, scale) for _, size, _, scale in resized(f)) or None


def _on_factors(holds: Callable[[Sequence[tuple[int, float]]], bool]) -> Callable[[SiteFacts], bool | None]:
    return lambda f: None if (factors := _factors(f)) is None else holds(factors)


def _are_parts(factors: Sequence[tuple[int, float]]) -> bool:
    return all((1 / scale).is_integer() and size % round(1 / scale) == 0 for size, scale in factors)


def _are_equal(f: SiteFacts) -> bool | None:
    """One factor for height and width: of an image of four axes or more, one axis alone is not resized equally."""
    factors = _factors(f)
    if factors is None:
        return None
    return len({scale for _, scale in factors}) == 1 and (f.rank is None or f.rank < 4 or len(factors) != 1)


def _resized_axes(f: SiteFacts, wanted: Any) -> bool | None:
    axes = {axis for axis, *_ in resized(f)}
    if not axes:
        return None
    if isinstance(wanted, dict):
        return all(within(wanted, axis) for axis in axes)
    listed = _listed(wanted)
    if any(axis < 0 for axis in listed) and f.rank is None:
        return None
    return axes <= {axis + (f.rank or 0) if axis < 0 else axis for axis in listed}


def _axes_end_with_image(f: SiteFacts) -> bool | None:
    if f.axes is None or not f.rank:
        return True
    return tuple(axis % f.rank for axis in f.axes[-_OTHERS:]) == (f.rank - 2, f.rank - 1)


def _knows_others(f: SiteFacts) -> bool | None:
    """The lengths before the image's, of the axes that have a value, are written in the file."""
    shape, rank = f.input_shape, f.rank or 0
    if not shape:
        return None
    listed = [axis for axis in f.listed_axes if -rank <= axis < rank]
    return all(shape[axis] is not None or axis % rank >= rank - _OTHERS for axis in listed)


def _corner_factors(f: SiteFacts) -> list[float | None]:
    return [(out - 1) / (size - 1) if size > 1 else None for _, size, out, _ in resized(f)]


def _lengths_agree(f: SiteFacts) -> bool:
    return not f.by_scales or all(inference_length(scale, size) == out for _, size, out, scale in resized(f))


_AXES: Mapping[str, Callable[[SiteFacts], bool | None]] = {
    "absent": lambda f: f.axes is None,
    "in-order": lambda f: f.axes_are_trivial,
    "from-the-front": counts_from_the_front,
    "image-last": _axes_end_with_image,
}
_FACTORS: Mapping[str, Callable[[SiteFacts], bool | None]] = {
    "whole": _on_factors(lambda factors: all(float(scale).is_integer() for _, scale in factors)),
    "part": _on_factors(_are_parts),
    "power-of-two": _on_factors(lambda factors: all(is_power_of_two(scale) for _, scale in factors)),
    "equal": _are_equal,
}
_LENGTHS: Mapping[str, Callable[[SiteFacts], bool | None]] = {
    "all": lambda f: None if f.input_shape is None else not f.is_open,
    "image": lambda f: None if f.input_shape is None else None not in f.input_shape[-_OTHERS:],
    "others": _knows_others,
}
_DTYPES: Mapping[str, Callable[[SiteFacts], bool | None]] = {word: _is_of(dtype) for word, dtype in TYPES.items()}

CONDITIONS: tuple[Condition, ...] = (
    Condition("operator", _one_of("Resize", "Upsample"), "the operator", _word(lambda f: f.op_type)),
    Condition("opset", WHOLE, "the opset that the model imports", _number(lambda f: f.opset)),
    Condition(
        "mode", _one_of("nearest", "linear", "bilinear", "cubic"), "the attribute `mode`", _word(lambda f: f.mode)
    ),
    Condition(
        "coordinate_transformation_mode",
        _one_of(*(mode.value for mode in CoordinateTransformationMode)),
        "the attribute; not known of Upsample and of Resize before opset 11, which have none",
        _word(lambda f: f.coordinates),
    ),
    Condition(
        "nearest_mode",
        _one_of(*(mode.value for mode in NearestMode if mode is not NearestMode.SIMPLE)),
        "the attribute, of nodes with mode nearest; not known where there is none",
        _word(_nearest_mode),
    ),
    Condition(
        "align_corners",
        FLAG,
        "the coordinate transformation mode is align_corners",
        _flag(lambda f: None if f.coordinates is None else f.coordinates == "align_corners"),
    ),
    Condition(
        "cubic_coeff_a",
        NUMBER,
        "the attribute, of nodes with mode cubic",
        _number(lambda f: round(f.cubic_coeff_a, 6) if f.mode == "cubic" else None),
    ),
    Condition("exclude_outside", FLAG, "the attribute is 1", _flag(lambda f: f.exclude_outside)),
    Condition("antialias", FLAG, "the attribute is 1", _flag(lambda f: f.antialias)),
    Condition(
        "keep_aspect_ratio_policy",
        _one_of("stretch", "not_larger", "not_smaller"),
        "the attribute",
        _word(lambda f: f.keep_aspect_ratio_policy),
    ),
    Condition("roi", FLAG, "the input `roi` is a tensor with elements", _flag(lambda f: f.roi is Roi.TENSOR)),
    Condition(
        "by",
        _one_of("scales", "sizes"),
        "which of the two the node has",
        _word(lambda f: None if f.extent is None else f.extent.value),
    ),
    Condition(
        "constant", FLAG, "the numbers of scales or sizes stand in the file", _flag(lambda f: f.values is not None)
    ),
    Condition(
        "fed",
        FLAG,
        "scales or sizes are decided while the model runs, whatever the sizes of its inputs are",
        _flag(is_fed),
    ),
    Condition("source", _one_of(*SOURCES), "where scales or sizes come from", _word(_source)),
    Condition("dtype", _one_of(*TYPES), "the element type of the tensor to resize", _any_word(_DTYPES)),
    Condition("rank", WHOLE, "the number of its axes", _number(lambda f: f.rank)),
    Condition(
        "batch", WHOLE, "the length of its first axis", _number(lambda f: f.input_shape[0] if f.input_shape else None)
    ),
    Condition(
        "input_length",
        WHOLE,
        "height and width of the input, each",
        lambda f, wanted: _each(f.input_shape and f.input_shape[-_OTHERS:], wanted),
    ),
    Condition(
        "output_length",
        WHOLE,
        "height and width of the output, each",
        lambda f, wanted: _each((sizes := output_sizes(f)) and sizes[-_OTHERS:], wanted),
    ),
    Condition(
        "static_lengths",
        _one_of(*_LENGTHS),
        "which lengths of the input stand in the file: all; image: the last two; others: those before with a value",
        _any_word(_LENGTHS),
    ),
    Condition(
        "axes",
        _one_of(*_AXES),
        "the attribute `axes`: absent; in-order: absent, or 0, 1, …; from-the-front: none is negative; image-last: "
        "absent, or height and width last",
        _any_word(_AXES),
    ),
    Condition(
        "one_value_per_axis",
        FLAG,
        "there is a scale or size for every axis of the input",
        _flag(lambda f: None if f.length is None else f.length == f.rank),
    ),
    Condition("resized", FLAG, "some length changes, as far as is known", _flag(is_resized)),
    Condition(
        "resized_axes",
        WHOLE,
        "the axes that are resized are among these; negative ones count from the end",
        _resized_axes,
    ),
    Condition(
        "factor",
        NUMBER,
        "by how much each axis is resized: output length through input length, or the scale",
        lambda f, wanted: None if (found := _factors(f)) is None else _each([scale for _, scale in found], wanted),
    ),
    Condition(
        "corner_factor",
        NUMBER,
        "by how much the distance between the first and the last sample of each resized axis grows",
        lambda f, wanted: None if _factors(f) is None else _each(_corner_factors(f), wanted),
    ),
    Condition(
        "factors",
        _one_of(*_FACTORS),
        "all factors are whole; part: one through a whole number that divides the length; power-of-two; equal: height "
        "and width by the same",
        _any_word(_FACTORS),
    ),
    Condition(
        "inferred_length",
        FLAG,
        "the output lengths by ONNX's shape inference are those of onnxruntime's kernel",
        _flag(_lengths_agree),
    ),
    Condition("inside_body", FLAG, "the node stands in a body or a function", _flag(lambda f: bool(f.enclosing))),
)
"""In the order of the page."""
