"""E1 to E22: every equivalence resizefix knows, each with its condition, the reason, and whether it is exact; and from
the table to rewrites of a node: one step, and the smallest chain of steps to a form somebody accepts.

"s" is the float32 scale of an axis. Each row is proven in onnxruntime by a test named after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, reduce
from heapq import heappop, heappush
from itertools import count

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences import rules
from resizefix.equivalences.kernel_arithmetic import LONGEST, Form
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.equivalences.rules import forms_of
from resizefix.interpolation import Interpolation


@dataclass(frozen=True)
class Equivalence:
    """A numbered fact: under `condition` two spellings compute the same, `because`. `name` says it in a few words.

    `exact`: bit for bit in onnxruntime. Otherwise `spelling_bound` says how far two spellings lie apart.
    """

    number: int
    name: str
    condition: str
    because: str
    exact: bool = True

    @property
    def label(self) -> str:
        """How messages and documentation call it: "E5"."""
        return f"E{self.number}"


@dataclass(frozen=True)
class AxisEquivalence(Equivalence):
    """`alike(axis, form, interpolation)`: the forms that sample this axis as `form` does; empty where it says nothing.

    A whole node may take another form if every axis may, each by its own equivalence. `longest`: how long an axis may
    be whose length is not known; None: any.
    """

    alike: Callable[[Axis, Form, Interpolation], frozenset[Form]] = field(kw_only=True)
    longest: int | None = None


@dataclass(frozen=True)
class NodeEquivalence(Equivalence):
    """`rewrite(subject)`: what may stand in its place, or why nothing may."""

    rewrite: Callable[[ResizeSpec], tuple[ResizeSpec, ...] | Diagnostic] = field(kw_only=True)


# Of an axis of unknown length they hold up to 2²².
_Bounded = partial(AxisEquivalence, longest=LONGEST)

EQUIVALENCES: tuple[Equivalence, ...] = (
    # One meaning, eight spellings: the canonical form has one word for these already, so there is nothing to rewrite.
    Equivalence(
        1,
        "one linear, one legacy nearest",
        "always",
        "Upsample-1, -7, -9 and Resize-10 run the same kernel; their linear is Resize-11's with asymmetric coordinates",
    ),
    # Legacy nearest where an axis grows.
    AxisEquivalence(
        2,
        "without nearest_mode, axes that grow round down",
        "nearest, asymmetric, s ≥ 1: {simple, floor}",
        "it truncates where the scale is at least 1",
        alike=rules.family(rules.GROWING, lambda axis: axis.scale is not None and axis.scale >= 1),
    ),
    # Legacy nearest where an axis shrinks; so a node that does both has no Resize-11 form by these two alone.
    AxisEquivalence(
        3,
        "without nearest_mode, axes that shrink round up",
        "nearest, asymmetric, s < 1: {simple, ceil}",
        "it is ceil where the scale is below 1",
        alike=rules.family(rules.SHRINKING, lambda axis: axis.scale is not None and axis.scale < 1),
    ),
    # Batch and channel of nearly every node.
    AxisEquivalence(
        4,
        "an unscaled axis is copied",
        "s = 1: every form but tf_half_pixel_for_nn, and that too with floor or round_prefer_floor",
        "each formula gives x itself; onnxruntime skips it",
        alike=rules.unscaled,
    ),
    # Why nearly every 2x nearest upsample can be said in every dialect.
    _Bounded(
        5,
        "each sample is repeated",
        "nearest, s an integer in 2…4096: {half_pixel, pytorch_half_pixel, half_pixel_symmetric} × "
        "{round_prefer_floor, round_prefer_ceil}; asymmetric + {floor, simple}; tf_half_pixel_for_nn + floor",
        "each repeats every sample s times: no coordinate comes within 1/2s of the edge where it would round away",
        alike=rules.family(rules.REPEATS, lambda axis: rules.factor(axis) is not None),
    ),
    # A factor of two puts the odd outputs of asymmetric exactly on a tie.
    _Bounded(
        6,
        "each sample is doubled",
        "nearest, s = 2: those of E5 and asymmetric + round_prefer_floor",
        "x/2 is exact, and its tie goes to the floor",
        alike=rules.family(rules.DOUBLES, lambda axis: rules.factor(axis) == 2),
    ),
    # What tensorflow's half-pixel nearest becomes when round_prefer_floor was written by default.
    _Bounded(
        7,
        "the next sample from the middle on",
        "nearest, s an integer in 2…4096: {half_pixel, pytorch_half_pixel, half_pixel_symmetric} + ceil; "
        "tf_half_pixel_for_nn + round_prefer_floor",
        "round(c) with ties down is ceil(c - 1/2), and here float32 computes every tie exactly",
        alike=rules.family(rules.UPPER_HALVES, lambda axis: rules.factor(axis) is not None),
    ),
    # Taking every k-th sample.
    _Bounded(
        8,
        "every k-th sample is taken",
        "nearest, asymmetric, s = float32(1/k), k an integer in 2…4096: {round_prefer_floor, round_prefer_ceil}; "
        "with {ceil, simple} if float32(1/k)·k ≥ 1, with floor if ≤ 1 (both for a power of two)",
        "the coordinate is k·x up to the error of float32(1/k), which ceil and floor forgive on one side only",
        alike=rules.strides,
    ),
    # Taking the middle one of every k samples.
    _Bounded(
        9,
        "the middle of k samples is taken",
        "nearest, s = float32(1/k), k an odd integer in 3…4095: half_pixel + {round_prefer_floor, round_prefer_ceil}; "
        "tf_half_pixel_for_nn + floor",
        "the coordinate k·x + (k-1)/2 is a whole number, so no rounding is near its edge",
        alike=rules.family(rules.CENTRES, lambda axis: (rules.divisor(axis) or 0) % 2 == 1),
    ),
    # pytorch_half_pixel is an exception for outputs one sample long.
    AxisEquivalence(
        10,
        "pytorch_half_pixel is half_pixel",
        "the output is longer than 1, or s ≥ 2, or s ≥ 1 and the mode is nearest or linear without antialias",
        "the formulas differ for an output of length 1 alone; one grown from length 1 has a single sample to read",
        alike=rules.not_one_long,
    ),
    # half_pixel_symmetric corrects for a fraction of a pixel cut off the output; an integer scale cuts nothing off.
    _Bounded(
        11,
        "half_pixel_symmetric is half_pixel for powers of two",
        "s = 2, 4, … 4096",
        "nothing is cut off, so the correction is 0, and division by a power of two is exact in float32 and float64",
        alike=rules.symmetric(lambda axis: rules.is_power_of_two(rules.factor(axis))),
    ),
    # The exact part of E21.
    _Bounded(
        12,
        "tf_half_pixel_for_nn is half_pixel for powers of two",
        "nearest, s = 1/2, 1/4, … 1/4096: tf_half_pixel_for_nn + floor is half_pixel + round_prefer_ceil, "
        "tf_half_pixel_for_nn + round_prefer_floor is half_pixel + ceil",
        "floor(c) is round(c - 1/2) with ties up, and all coordinates are exact",
        alike=rules.for_nn(lambda axis: rules.is_power_of_two(rules.divisor(axis))),
    ),
    # Everything else that can be proven by computing it: align_corners, lengths of 1, mixed scales.
    AxisEquivalence(
        13,
        "the same samples are taken",
        "the input's length is known: all forms whose samples, computed as onnxruntime does, are equal",
        "the rest of the kernel is shared; nearest must agree under the tie rules of older and newer versions",
        alike=rules.same_samples,
    ),
    # Resize-18's axes say nothing new.
    NodeEquivalence(
        14,
        "an axis left out has scale 1",
        "the rank is known (for sizes: the length of the axes left out), no aspect policy, no roi",
        "the order of the list is free",
        rewrite=rules.list_all_axes,
    ),
    # The way back, for targets that want few axes and for inputs with a dynamic batch.
    NodeEquivalence(
        15,
        "an axis of scale 1 may be left out",
        "an axis has scale 1 and another has not, no aspect policy, no roi",
        "as E14",
        rewrite=rules.list_resized_axes,
    ),
    # Sizes pin what a scale leaves to the runtime's output-size rule.
    NodeEquivalence(
        16,
        "scales give these sizes",
        "the input's lengths are known, and float32(out)/float32(in) is the scale or reads the same samples with it "
        "(as align_corners without antialias always does); no roi",
        "sizes are sampled by float32(out)/float32(in)",
        rewrite=rules.scales_to_sizes,
    ),
    # The way to the dialects and targets without sizes.
    NodeEquivalence(
        17,
        "sizes give these scales",
        "the input's lengths are known. A float32 scale within 8 ulp of out/in has the right length under every "
        "output-size rule and reads the same samples; no aspect policy, no roi",
        "sizes are sampled by float32(out)/float32(in)",
        rewrite=rules.sizes_to_scales,
    ),
    # TensorRT refuses the policy.
    NodeEquivalence(
        18,
        "the aspect policy gives these lengths",
        "the input's lengths are known, no axis counts from the end, no roi. The one scale of the policy gives its "
        "lengths under every rule (then scales), or is sampled as they are (then sizes)",
        "the policy replaces every scale by the smallest or largest of them and rounds the lengths",
        rewrite=rules.drop_aspect_policy,
    ),
    # Exporters write antialias=1 whatever the scale; TensorRT refuses it.
    NodeEquivalence(
        19,
        "antialias changes only axes that shrink",
        "every s is 1 or makes its axis longer (s ≥ 2 always does); a floating-point tensor; not tf_half_pixel_for_nn",
        "the filter is stretched where an axis shrinks; here it is the plain one, its weights normalised once more",
        exact=False,
        rewrite=rules.drop_antialias,
    ),
    # half_pixel_symmetric computes in float64 what half_pixel computes in float32.
    _Bounded(
        20,
        "half_pixel_symmetric is half_pixel for integers",
        "s an integer in 2…4096",
        "nothing is cut off, so the correction is 0; coordinates differ by their float32 rounding",
        exact=False,
        alike=rules.symmetric(lambda axis: rules.factor(axis) is not None),
    ),
    # The mend for TensorRT, which takes tf_half_pixel_for_nn with one rounding only.
    AxisEquivalence(
        21,
        "tf_half_pixel_for_nn is half_pixel",
        "nearest: tf_half_pixel_for_nn + floor is half_pixel + round_prefer_ceil, tf_half_pixel_for_nn + "
        "round_prefer_floor is half_pixel + ceil",
        "floor(c) is round(c - 1/2) with ties up. Where c should be a whole number and float32 falls just short of it, "
        "newer onnxruntime counts it as a tie on one side only: a neighbouring sample is read",
        exact=False,
        alike=rules.for_nn(lambda axis: True),
    ),
    # Where E17 finds no scale: half of all linear and cubic sizes.
    NodeEquivalence(
        22,
        "sizes give these scales within one ulp",
        "linear or cubic, a floating-point tensor, the input's lengths are known; no aspect policy, no roi",
        "float32(out)/float32(in) may be one pixel short in some runtime; one ulp more is not, and moves "
        "coordinates by one too",
        exact=False,
        rewrite=rules.sizes_to_near_scales,
    ),
)


_ROWS = tuple(row for row in EQUIVALENCES if isinstance(row, AxisEquivalence))
_EXACT_ROWS = tuple(row for row in _ROWS if row.exact)


@dataclass(frozen=True)
class AxisStep:
    """One rewrite: the equivalences it rests on (several where axes take it for different reasons) and its result."""

    equivalences: tuple[Equivalence, ...]
    subject: ResizeSpec

    @property
    def exact(self) -> bool:
        """Whether every equivalence is exact."""
        return all(equivalence.exact for equivalence in self.equivalences)

    @property
    def label(self) -> str:
        """ "E5" or "E4, E5"."""
        return ", ".join(equivalence.label for equivalence in self.equivalences)


def rewrites(subject: ResizeSpec, *, allow_inexact: bool = False) -> Iterator[AxisStep]:
    """Everything one step away from `subject`: first the other forms, then the whole-node rewrites, in table order."""
    yield from _other_forms(subject, allow_inexact)
    for equivalence in EQUIVALENCES:
        if isinstance(equivalence, NodeEquivalence) and (equivalence.exact or allow_inexact):
            rewritten = equivalence.rewrite(subject)
            if not isinstance(rewritten, Diagnostic):
                yield from (AxisStep((equivalence,), other) for other in rewritten)


def reasons(subject: ResizeSpec) -> tuple[tuple[Equivalence, Diagnostic], ...]:
    """Why each whole-node equivalence that does not hold for `subject` does not."""
    rewritten = ((row, row.rewrite(subject)) for row in EQUIVALENCES if isinstance(row, NodeEquivalence))
    return tuple((row, reason) for row, reason in rewritten if isinstance(reason, Diagnostic))


def smallest_chain(
    subject: ResizeSpec, accepts: Callable[[ResizeSpec], bool], *, allow_inexact: bool = False
) -> tuple[AxisStep, ...] | None:
    """The shortest chain of rewrites to a subject that `accepts` takes; () if it takes `subject` itself, None if none.

    With `allow_inexact` a chain with fewer inexact steps comes before a shorter one, so an exact chain wins.
    """
    order = count()
    queue: list[tuple[int, int, int, tuple[AxisStep, ...]]] = [(0, 0, next(order), ())]
    nearest = {subject: (0, 0)}  # by what is queued: its inexact steps and its length
    while queue:
        inexact, length, _, chain = heappop(queue)
        here = chain[-1].subject if chain else subject
        if nearest[here] < (inexact, length):
            continue
        if accepts(here):
            return chain
        for step in _steps(here, allow_inexact):
            cost = inexact + (not step.exact), length + 1
            if step.subject not in nearest or cost < nearest[step.subject]:
                nearest[step.subject] = cost
                heappush(queue, (*cost, next(order), (*chain, step)))
    return None


@lru_cache(maxsize=1024)  # a model has few kinds of sites, and many of each
def _steps(subject: ResizeSpec, allow_inexact: bool) -> tuple[AxisStep, ...]:
    return tuple(rewrites(subject, allow_inexact=allow_inexact))


def _other_forms(subject: ResizeSpec, allow_inexact: bool) -> Iterator[AxisStep]:
    """The forms that every axis may take, each axis by its own chain of axis equivalences."""
    reachable = [_reachable(axis, subject.form, subject.interpolation, allow_inexact) for axis in subject.listed]
    for form in forms_of(subject.interpolation.mode):
        if form != subject.form and all(form in forms for forms in reachable):
            used = reduce(frozenset.union, (forms[form] for forms in reachable))
            coordinates, rounding = form
            interpolation = replace(
                subject.interpolation, coordinate_transformation_mode=coordinates, nearest_mode=rounding
            )
            reasons_in_order = tuple(sorted(used, key=lambda equivalence: equivalence.number))
            yield AxisStep(reasons_in_order, replace(subject, interpolation=interpolation))


@lru_cache(maxsize=1024)
def _reachable(
    axis: Axis, start: Form, interpolation: Interpolation, allow_inexact: bool
) -> dict[Form, frozenset[AxisEquivalence]]:
    """Every form this axis may take, with the equivalences that lead there: the exact ones first."""
    reached: dict[Form, frozenset[AxisEquivalence]] = {start: frozenset()}
    for usable in (_EXACT_ROWS, _ROWS if allow_inexact else ()):
        frontier = list(reached)
        while frontier:
            form = frontier.pop(0)
            for row in usable:
                others = row.alike(axis, form, interpolation)
                if not others <= reached.keys():
                    for other in sorted(others - reached.keys()):
                        reached[other] = reached[form] | {row}
                        frontier.append(other)
    return reached
