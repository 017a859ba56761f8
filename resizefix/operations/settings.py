"""What `set` is asked for: the keys, their values in the words of the specification, and the aliases that are taken."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from resizefix.diagnostics import UsageError
from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode
from resizefix.lowerings.table import BY_NAME
from resizefix.words import nearest, proposal

SCALES, SIZES, AXES = "scales", "sizes", "axes"
RESIZE = "resize"
"""The form of nodes that other operators stand for (operations/as_resize.py)."""
PARTNER = "partner"
"""The sizes of the tensor that the result meets, at run time."""
_EXTENTS = ("scale", SCALES, SIZES)
_LARGEST = 2**31 - 1

_MODES = {
    **{member.value: member for member in Mode},
    "nn": Mode.NEAREST,
    "nearest_neighbor": Mode.NEAREST,
    "bilinear": Mode.LINEAR,
    "trilinear": Mode.LINEAR,
    "bicubic": Mode.CUBIC,
}
_COORDINATES = {member.value: member for member in CoordinateTransformationMode}
_NEAREST_MODES = {member.value: member for member in NearestMode if member is not NearestMode.SIMPLE}
_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_FORMS = {name: name for name in (SCALES, SIZES, AXES, RESIZE, *BY_NAME)}


@dataclass(frozen=True)
class Settings:
    """What is to be set, and to what; None: left as each node has it.

    `form` is scales, sizes, axes, or the name of a lowering. `scale` is one factor for every axis that is scaled,
    `scales` and `sizes` hold a number for each axis, or for each that is scaled; `sizes` may be PARTNER.
    """

    mode: Mode | None = None
    coordinates: CoordinateTransformationMode | None = None
    nearest_mode: NearestMode | None = None
    cubic_coeff_a: float | None = None
    extrapolation_value: float | None = None
    antialias: bool | None = None
    exclude_outside: bool | None = None
    form: str | None = None
    scale: float | None = None
    scales: tuple[float, ...] | None = None
    sizes: tuple[int, ...] | str | None = None

    def __post_init__(self) -> None:
        given_keys = [key for key, value in vars(self).items() if value is not None]
        if not given_keys:
            raise UsageError("operations.set-nothing", known=", ".join(READERS))
        if self.is_extent and len(given_keys) > 1:
            raise UsageError("operations.set-extent-alone", key=next(key for key in _EXTENTS if key in given_keys))
        for key, decider, wanted in (
            ("nearest_mode", "mode", Mode.NEAREST),
            ("cubic_coeff_a", "mode", Mode.CUBIC),
            ("extrapolation_value", "coordinates", CoordinateTransformationMode.TF_CROP_AND_RESIZE),
        ):
            value = getattr(self, decider)
            if getattr(self, key) is not None and value not in (None, wanted):
                raise _contradiction(key, decider, wanted.value, value.value)
        given = self.mode
        if given is None:
            return
        if self.antialias and given is Mode.NEAREST:
            raise _contradiction("antialias", "mode", "linear or cubic", "nearest")
        if self.exclude_outside and (given is Mode.NEAREST or (given is Mode.LINEAR and self.antialias is False)):
            raise UsageError("operations.set-exclude-outside", given=given.value)

    @property
    def is_extent(self) -> bool:
        """Whether how large the output is shall change, and not how it is sampled."""
        return any(getattr(self, key) is not None for key in _EXTENTS)


def _contradiction(key: str, decider: str, wanted: str, given: str) -> UsageError:
    return UsageError("operations.set-contradiction", key=key, decider=decider, wanted=wanted, given=given)


def settings_of(given: Mapping[str, object]) -> Settings:
    """The settings that keys and values say. Raises UsageError for a key or a value that there is not.

    `coordinate_transformation_mode` is another name of `coordinates`.
    """
    settings: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        name = ALIASES.get(key, key)
        if name in settings:
            raise UsageError("operations.set-twice", key=name)
        settings[name] = read(key, value)
    return Settings(**settings)


def read(key: str, value: object) -> object:
    """The value of a key. Raises UsageError, which lists what there is."""
    name = ALIASES.get(key, key)
    if name not in READERS:
        near = nearest(key, [*READERS, *ALIASES])
        raise UsageError("operations.set-no-such-key", key=key, proposal=proposal([near]), known=", ".join(READERS))
    reader, values, words = READERS[name]
    setting = reader(value)
    if setting is None:
        near = nearest(value, words)
        meant = "give" if near is None else f"did you mean {near}? Give"
        raise UsageError("operations.set-no-such-value", key=key, value=value, proposal=meant, known=values)
    return setting


def _word(value: object) -> str:
    text = value.value if isinstance(value, Enum) else value
    return text.strip().lower().replace("-", "_") if isinstance(text, str) else ""


class _SettingReader(NamedTuple):
    """`read` gives the value, None for one that there is not; `takes` says what there is, `words` are the nearest."""

    read: Callable[[object], object]
    takes: str
    words: tuple[str, ...] = ()


def _among(table: Mapping[str, object], shown: Iterable[str]) -> _SettingReader:
    """One of the words of the table, of which the error lists those to be `shown`."""
    values_by_word = {_word(name): value for name, value in table.items()}
    return _SettingReader(lambda value: values_by_word.get(_word(value)), ", ".join(shown), tuple(table))


def _switch(value: object) -> object:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, numbers.Integral) and value in (0, 1)):
        return bool(value)
    return _SWITCHES.get(_word(value))


def _coefficient(value: object) -> object:
    """A float32, as the attribute holds it."""
    if isinstance(value, bool) or not isinstance(value, (str, numbers.Real)):
        return None
    try:
        with np.errstate(over="ignore"):
            coefficient = float(np.float32(float(value)))
    except (ValueError, OverflowError):
        return None
    return coefficient if math.isfinite(coefficient) else None


def _numbers(value: object) -> list[float] | None:
    """What `1,1,2,2` or a sequence of numbers holds, each above 0."""
    words: object = value.split(",") if isinstance(value, str) else value
    if isinstance(words, numbers.Real) and not isinstance(words, bool):
        words = [words]
    try:
        floats = [float(word) for word in words if not isinstance(word, (bool, np.bool_))]  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        return None
    return floats if floats and all(math.isfinite(number) and number > 0 for number in floats) else None


def _factors(value: object) -> object:
    """Scales, which are float32."""
    with np.errstate(over="ignore", under="ignore"):
        factors = tuple(float(np.float32(number)) for number in _numbers(value) or ())
    return factors if factors and all(math.isfinite(number) and number > 0 for number in factors) else None


def _factor(value: object) -> object:
    factors = _factors(value)
    return factors[0] if isinstance(factors, tuple) and len(factors) == 1 else None


def _lengths(value: object) -> object:
    """Sizes, or the word for those of the partner."""
    if _word(value) == PARTNER:
        return PARTNER
    lengths = _numbers(value) or ()
    return tuple(map(int, lengths)) if lengths and all(n.is_integer() and n <= _LARGEST for n in lengths) else None


ALIASES = {"coordinate_transformation_mode": "coordinates"}
READERS: dict[str, _SettingReader] = {
    "mode": _among(_MODES, [mode.value for mode in Mode]),
    "coordinates": _among(_COORDINATES, _COORDINATES),
    "nearest_mode": _among(_NEAREST_MODES, _NEAREST_MODES),
    "cubic_coeff_a": _SettingReader(_coefficient, "a number, as -0.75 or -0.5"),
    "extrapolation_value": _SettingReader(_coefficient, "a number, as 0 or 0.5"),
    "antialias": _SettingReader(_switch, "0 or 1", tuple(_SWITCHES)),
    "exclude_outside": _SettingReader(_switch, "0 or 1", tuple(_SWITCHES)),
    "form": _among(_FORMS, _FORMS),
    "scale": _SettingReader(_factor, "a factor above 0, as 2 or 1.5"),
    SCALES: _SettingReader(_factors, "a factor above 0 for each axis, as 1,1,2,2, or for each that is scaled, as 2,2"),
    SIZES: _SettingReader(
        _lengths,
        "a size above 0 for each axis, as 1,3,720,1280, or for each that is scaled, as 720,1280; or partner",
        (PARTNER,),
    ),
}
"""What reads the value of each key."""
