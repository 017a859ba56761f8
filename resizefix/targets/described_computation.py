"""What a device computes instead of what ONNX asks for, as a target's file states it.

A `computes` table names the properties that differ; a node breaks the rule where that changes a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from resizefix.interpolation import CoordinateTransformationMode, NearestMode
from resizefix.targets.described_conditions import FLAG, NUMBER, ConditionKind
from resizefix.targets.deviations import BY_LENGTHS, EXACT_ROUNDINGS, by_ratio, symmetric_ties, without_antialias
from resizefix.targets.facts import SiteFacts
from resizefix.targets.sampling import Deviation, Sampling, by, resized, samples_alike

_SYMMETRIC = CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC
_OFF = FLAG._replace(takes="false")


class Property(NamedTuple):
    """One word of a `computes` table, and what it says."""

    name: str
    kind: ConditionKind
    says: str


def _one_of(*choices: str) -> ConditionKind:
    return ConditionKind("one of " + ", ".join(choices), choices)


PROPERTIES: tuple[Property, ...] = (
    Property(
        "coordinate_transformation_mode",
        _one_of(*(mode.value for mode in CoordinateTransformationMode if mode.value != "tf_crop_and_resize")),
        "the device computes in this mode",
    ),
    Property(
        "nearest_mode",
        _one_of(*(mode.value for mode in NearestMode if mode is not NearestMode.SIMPLE)),
        "the device rounds in this way",
    ),
    Property("cubic_coeff_a", NUMBER._replace(takes="a number"), "the device has this coefficient"),
    Property("exclude_outside", _OFF, "false: the device does not read the attribute"),
    Property("antialias", _OFF, "false: the device does not read the attribute"),
    Property(
        "positions",
        _one_of("ratio", "float32"),
        "ratio: positions follow the two lengths, whatever the scales are; float32: so they do, in float32 throughout",
    ),
    Property("ties", _one_of("exact"), "exact: positions next to one half are rounded as they are, and are no ties"),
)


def allows(name: str, value: Any) -> bool:
    """Whether a file may say this of a property."""
    kind = next(one.kind for one in PROPERTIES if one.name == name)
    return value is False if kind is _OFF else not isinstance(value, (list, dict)) and kind.allows(value)


class Computation(NamedTuple):
    """What the device computes of the nodes that `applies` to."""

    applies: Callable[[SiteFacts], bool]
    properties: Mapping[str, Any]

    def changed(self, f: SiteFacts, sampling: Sampling) -> Sampling:
        """The sampling as the device computes it."""
        wanted = self.properties
        mode, rounding = wanted.get("coordinate_transformation_mode"), wanted.get("nearest_mode")
        if mode is not None or (rounding is not None and sampling.mode == "nearest"):
            sampling = by(mode or sampling.form[0].value, rounding)(sampling)
        if "cubic_coeff_a" in wanted and sampling.mode == "cubic":
            sampling = sampling._replace(cubic_coeff_a=float(wanted["cubic_coeff_a"]))
        if "exclude_outside" in wanted and sampling.exclude_outside:
            sampling = sampling._replace(exclude_outside=False)
        if "antialias" in wanted:
            sampling = without_antialias(f, sampling)
        if wanted.get("positions") == "ratio":
            sampling = by_ratio(f, sampling)
        if wanted.get("positions") == "float32":
            sampling = _in_float32(f, sampling)
        return _with_exact_ties(f, sampling) if "ties" in wanted else sampling


def deviation_of(computations: Sequence[Computation]) -> Deviation:
    """The first of them that applies to a node."""

    def deviation(f: SiteFacts, sampling: Sampling) -> Sampling:
        one = next((one for one in computations if one.applies(f)), None)
        return sampling if one is None else one.changed(f, sampling)

    return deviation


def computes_alike(computations: Sequence[Computation], after: Sequence[Deviation]) -> Callable[[SiteFacts], bool]:
    """The condition of a rule: what the device computes is what ONNX asks for, given those `after` which it comes."""
    alike = samples_alike(deviation_of(computations), after)
    drops_antialias = any("antialias" in one.properties for one in computations)

    def holds(f: SiteFacts) -> bool:
        crop = drops_antialias and f.antialias and f.crops  # of which there is no sampling to compare
        return alike(f) and not (crop and any(scale < 1 for *_, scale in resized(f)))

    return holds


def _in_float32(f: SiteFacts, sampling: Sampling) -> Sampling:
    if sampling.form[0] is _SYMMETRIC:
        return symmetric_ties(f, sampling)
    return _with_exact_ties(f, sampling._replace(positions=BY_LENGTHS[sampling.form[0]]))


def _with_exact_ties(f: SiteFacts, sampling: Sampling) -> Sampling:
    rounding = EXACT_ROUNDINGS.get(str(sampling.form[1].value if sampling.form[1] else ""))
    return sampling._replace(rounding=rounding) if sampling.mode == "nearest" and rounding is not None else sampling
