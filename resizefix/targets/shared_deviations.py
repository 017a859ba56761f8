"""Rules that several runtimes break in the same way, each with the deviation that it is about."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.targets.deviations import by_ratio, with_coefficient, without_antialias, without_exclusion
from resizefix.targets.sampling import Deviation, policy_is_stretch, samples_alike
from resizefix.targets.target import Effect, Rule


def antialias_ignored(source: str, after: Sequence[Deviation] = (), *, since: str = "", until: str = "") -> Rule:
    """`antialias` counts for nothing, which shows where an axis shrinks."""
    return Rule(
        name="antialias-ignored",
        holds=samples_alike(without_antialias, after),
        because="`antialias` is not read, and an axis shrinks",
        source=source,
        fix="replace the node",
        effect=Effect.DIFFERENT,
        since=since,
        until=until,
    )


def exclusion_ignored(source: str, after: Sequence[Deviation] = ()) -> Rule:
    """`exclude_outside` counts for nothing."""
    return Rule(
        name="exclude-outside-ignored",
        holds=samples_alike(without_exclusion, after),
        because="`exclude_outside` is not read",
        source=source,
        fix="replace the node",
        effect=Effect.DIFFERENT,
    )


def coefficient_fixed(source: str, after: Sequence[Deviation] = ()) -> Rule:
    """`cubic_coeff_a` counts for nothing."""
    return Rule(
        name="cubic-coefficient-is-fixed",
        holds=samples_alike(with_coefficient(-0.75), after),
        because="cubic_coeff_a is {f.cubic_coeff_a:g}, and -0.75 is computed",
        source=source,
        fix="replace the node",
        effect=Effect.DIFFERENT,
    )


def policy_ignored(source: str) -> Rule:
    """`keep_aspect_ratio_policy` counts for nothing, which shows where the sizes have another ratio."""
    return Rule(
        name="aspect-policy-ignored",
        holds=policy_is_stretch,
        because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}, which is not read: the output has "
        "the sizes as they are written",
        source=source,
        fix="write the sizes that the policy leads to",
        effect=Effect.DIFFERENT,
    )


def symmetric_is_asymmetric(
    source: str, deviation: Deviation, after: Sequence[Deviation] = (), *, since: str = "", until: str = ""
) -> Rule:
    """half_pixel_symmetric, which came with opset 19, is a mode that is not known."""
    return Rule(
        name="symmetric-is-asymmetric",
        holds=samples_alike(deviation, after),
        because="half_pixel_symmetric is not known, and asymmetric is computed",
        source=source,
        fix="half_pixel is the same where in·scale is whole; else replace the node",
        effect=Effect.DIFFERENT,
        since=since,
        until=until,
    )


def ratio_instead_of_scales(source: str, after: Sequence[Deviation] = (), *, since: str = "", until: str = "") -> Rule:
    """Positions follow the two lengths."""
    return Rule(
        name="ratio-instead-of-scales",
        holds=samples_alike(by_ratio, after),
        because="positions follow the two lengths instead of the scales {f.values}, and these differ",
        source=source,
        fix="replace the node",
        effect=Effect.DIFFERENT,
        since=since,
        until=until,
    )


def old_resize_is_half_pixel(
    source: str, deviation: Deviation, after: Sequence[Deviation] = (), *, since: str = "", until: str = ""
) -> Rule:
    """Resize-10, which has no coordinate attributes, is read with the defaults of Resize-11."""
    return Rule(
        name="resize-10-is-half-pixel",
        holds=samples_alike(deviation, after),
        because="Resize at opset 10 is read with the defaults of opset 11: half_pixel, round_prefer_floor",
        source=source,
        fix="raise the model to opset 11 and write asymmetric, or replace the node",
        effect=Effect.DIFFERENT,
        since=since,
        until=until,
    )
