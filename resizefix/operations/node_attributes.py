"""The attributes of one node edited to another meaning; what is not asked for stays as the file has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from onnx import AttributeProto, NodeProto, helper

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import DIALECTS, Dialect
from resizefix.dialects.read import read
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.operations.settings import AXES, SIZES, Settings
from resizefix.operations.site import ReadSite

_CROP = CoordinateTransformationMode.TF_CROP_AND_RESIZE
_FILL = "extrapolation_value"  # read by that coordinate mode alone


class AttributeKey(NamedTuple):
    """A key of `set` that is an attribute of the node. `lacks`: whether a dialect has no word for a value; with the
    site, where one is looked at. `readers`: which modes read it, in the words of an error, where not every mode does.
    `decider`: the key whose value decides whether it is read.
    """

    key: str
    attribute: str
    lacks: Callable[[Any, Dialect, ReadSite | None], bool]
    readers: Callable[[Mode], str] | None = None
    decider: str = "mode"


def _lacks(attribute: str) -> Callable[[Any, Dialect, ReadSite | None], bool]:
    """Of an attribute that a version has or has not; where it has not, 0 is what it does."""
    return lambda value, dialect, site: value is not False and dialect.attribute(attribute) is None


def _lacks_rounding(value: NearestMode, dialect: Dialect, site: ReadSite | None) -> bool:
    return value not in (dialect.nearest_modes if site is None else _roundings(site, dialect))


ATTRIBUTE_KEYS = (
    AttributeKey("mode", "mode", lambda value, dialect, site: value not in dialect.modes),
    AttributeKey(
        "coordinates",
        "coordinate_transformation_mode",
        lambda value, dialect, site: value not in dialect.coordinate_transformation_modes,
    ),
    AttributeKey("nearest_mode", "nearest_mode", _lacks_rounding, lambda mode: "mode=nearest"),
    AttributeKey("cubic_coeff_a", "cubic_coeff_a", _lacks("cubic_coeff_a"), lambda mode: "mode=cubic"),
    AttributeKey(_FILL, _FILL, _lacks(_FILL), lambda mode: "coordinates=tf_crop_and_resize", decider="coordinates"),
    AttributeKey("antialias", "antialias", _lacks("antialias"), lambda mode: "mode=linear or mode=cubic"),
    AttributeKey(
        "exclude_outside",
        "exclude_outside",
        _lacks("exclude_outside"),
        lambda mode: "mode=cubic" if mode is Mode.NEAREST else "mode=cubic or antialias=1",
    ),
)
"""In the order in which they are written, and named where they changed."""
_OLDEST_FIRST = sorted(
    ATTRIBUTE_KEYS, key=lambda row: min(one.since_version for one in DIALECTS if one.attribute(row.attribute))
)


# No node becomes a crop, so that none is told to.
_NOT_READ = {"mode": "operations.set-not-read", "coordinates": "operations.set-not-crop"}


@dataclass(frozen=True)
class Edited:
    """The attributes that the node gets, what it means with them, and what changed in words.

    `wanted` is the meaning as asked for; where the dialect has no `nearest_mode`, `meaning` says `simple` for it.
    """

    attributes: tuple[AttributeProto, ...]
    meaning: Interpolation
    wanted: Interpolation
    description: str


def edited(site: ReadSite, settings: Settings, why_not_raised: Callable[[int], str | None]) -> Edited:
    """The node's attributes with the settings. Raises RefusedError for what its opset cannot say (`why_not_raised`
    tells why the model cannot be raised to an opset), and for a setting that its mode does not read."""
    old = site.interpolation
    _require_said(site, settings, why_not_raised)
    if settings.coordinates is _CROP and old.coordinate_transformation_mode is not _CROP:
        raise RefusedError("operations.set-crop")
    attributes = {attribute.name: attribute for attribute in site.node.attribute}
    for name, value in _written(settings, site.dialect):
        if _value(attributes, site.dialect, name) != value:
            attributes[name] = helper.make_attribute(name, value, attr_type=_type(site.dialect, name))
    meaning = _meaning(site, attributes)
    _require_read(settings, meaning)
    read_by_some = [row.attribute for row in _OLDEST_FIRST if row.readers is not None]
    dropped = [name for name in read_by_some if getattr(old, name) and not getattr(meaning, name)]
    dropped += [_FILL] * (old.extrapolation_value == 0 and meaning.extrapolation_value is None)
    gone = [name for name in dropped if name in attributes and getattr(settings, name, None) is None]
    for name in gone:
        del attributes[name]
    assert repr(_meaning(site, attributes)) == repr(meaning)  # a number that is none is not equal to itself
    wanted = meaning
    if meaning.nearest_mode is NearestMode.SIMPLE and settings.nearest_mode is not None:
        wanted = replace(meaning, nearest_mode=settings.nearest_mode)
    return Edited(tuple(attributes.values()), meaning, wanted, _description(old, wanted, gone))


def with_attributes(node: NodeProto, attributes: Iterable[AttributeProto]) -> NodeProto:
    """A copy of the node with these attributes in place of its own."""
    changed = NodeProto()
    changed.CopyFrom(node)
    del changed.attribute[:]
    changed.attribute.extend(attributes)
    return changed


def _meaning(site: ReadSite, attributes: Mapping[str, AttributeProto]) -> Interpolation:
    return read(with_attributes(site.node, attributes.values()), site.dialect).interpolation


def _written(settings: Settings, dialect: Dialect) -> Iterator[tuple[str, Any]]:
    """Each attribute that is to be set, with its value as the dialect spells it."""
    for key, name, *_ in ATTRIBUTE_KEYS:
        value = getattr(settings, key)
        if value is None or dialect.attribute(name) is None:
            continue
        if isinstance(value, Mode):
            yield name, next(spelling for spelling, mode in dialect.mode_spellings if mode is value)
        else:
            yield name, getattr(value, "value", int(value) if isinstance(value, bool) else value)


def _value(attributes: Mapping[str, AttributeProto], dialect: Dialect, name: str) -> Any:
    """The value that the attribute has, written or by default."""
    if name in attributes:
        value = helper.get_attribute_value(attributes[name])
        return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    row = dialect.attribute(name)
    return None if row is None else row.default


def _type(dialect: Dialect, name: str) -> int:
    row = dialect.attribute(name)
    assert row is not None
    return row.type


def _require_read(settings: Settings, meaning: Interpolation) -> None:
    """Raises RefusedError for a setting that the resulting mode does not read."""
    for row in ATTRIBUTE_KEYS:
        pairs = (settings, row.key), (meaning, row.attribute)
        given, is_read = (getattr(of, name) is not None and getattr(of, name) is not False for of, name in pairs)
        if row.readers is not None and given and not is_read:
            decider = next(one for one in ATTRIBUTE_KEYS if one.key == row.decider)
            deciding = f"{decider.key}={getattr(meaning, decider.attribute).value}"
            wanted = row.readers(meaning.mode)
            raise RefusedError(_NOT_READ[decider.key], key=row.key, given=deciding, wanted=wanted)


def _require_said(site: ReadSite, settings: Settings, why_not_raised: Callable[[int], str | None]) -> None:
    missing = _missing(site.dialect, settings, site)
    if missing is None:
        return
    opset = site.scope.opset
    later = (row for row in DIALECTS if row.op_type == "Resize" and row.since_version > opset)
    needed = next(row.since_version for row in later if _missing(row, settings, None) is None)
    needs: dict[str, Any] = {"opset": opset, "what": missing, "needed": needed}
    if site.scope.in_function:
        raise RefusedError("operations.set-opset-of-function", **needs)
    why = why_not_raised(needed)
    if why is not None:
        raise RefusedError("operations.set-opset-stays", **needs, why=why)
    raise RefusedError("operations.set-opset", **needs, retry_args=("--opset", str(needed)))


def _missing(dialect: Dialect, settings: Settings, site: ReadSite | None) -> str | None:
    """The first setting that the dialect has no words for; None: it can say them all. With `site`, the rounding that
    the dialect leaves unsaid is known by the scales."""
    asked = [(row, getattr(settings, row.key)) for row in _OLDEST_FIRST]
    lacking = [row.key for row, value in asked if value is not None and row.lacks(value, dialect, site)]
    without_sizes = settings.form == SIZES and dialect.sizes_input is None
    if without_sizes or (settings.form == AXES and dialect.attribute("axes") is None):
        lacking.append("form")
    if not lacking:
        return None
    key = lacking[0]
    value = getattr(settings, key)
    return f"{key}={int(value) if isinstance(value, bool) else getattr(value, 'value', value)}"


def _roundings(site: ReadSite, dialect: Dialect) -> frozenset[NearestMode]:
    """How the dialect rounds at the site's scales: `simple` is floor where no axis shrinks, ceil where none grows."""
    modes = set(dialect.nearest_modes)
    scales = site.extent.values
    if NearestMode.SIMPLE in modes and dialect.min_scale >= 1:
        modes.add(NearestMode.FLOOR)
    elif NearestMode.SIMPLE in modes and scales is not None:
        modes |= {NearestMode.FLOOR} if min(scales) >= 1 else set()
        modes |= {NearestMode.CEIL} if max(scales) <= 1 else set()
    return frozenset(modes)


def _description(old: Interpolation, new: Interpolation, gone: list[str]) -> str:
    """What changed, in the keys of `set`."""
    parts = []
    for key, name, *_ in ATTRIBUTE_KEYS:
        before, after = getattr(old, name), getattr(new, name)
        if before == after or (after in (None, False) and name in gone) or after is NearestMode.SIMPLE:
            continue  # the specification has no name for `simple`
        if before is None:
            parts.append(f"{key} {_text(after)}")
        elif after is not None:
            parts.append(f"{key} {_text(before)} → {_text(after)}")
    if gone:
        parts.append(Diagnostic("operations.set-dropped", names=", ".join(gone), mode=new.mode.value))
    return ", ".join(parts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:g}" if isinstance(value, float) else str(value.value)
