"""How a site's extent is said in the form the user wants for the new input, or why it cannot be.

The few nodes between a new input and the operand it drives: the ones for the axes that stay, joined with the input.

Those of float inputs stand in the outermost scope, which every inner one sees; those that read the shape of the resized
tensor stand next to the node. They use only operators and forms that exist since opset 7 (Constant with `value`,
Concat, Gather, Cast, Shape, Mul, Div).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import NO_NUMBERS, Dialect, dialect_of
from resizefix.document.edits import FreshNames, NodeBuilder
from resizefix.document.text import counted
from resizefix.document.values import Dims
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind
from resizefix.operations.site import ReadSite
from resizefix.promotion import LARGEST_DENOMINATOR, Form, InputBinding, common_denominator, numerator
from resizefix.scope_path import MAIN, ScopePath
from resizefix.shapes.output_size import BATCH_AND_CHANNEL, batch_and_channel, kernel_length, sampled_scale
from resizefix.shapes.stored_shapes import OF_INPUT

_LONGEST = 2**31 - 1  # of an axis; sizes are int64, but runtimes count the elements of a tensor so


class _Kind(NamedTuple):
    """All of a site that decides how an input drives it: models have many sites of few kinds."""

    op_type: str
    since_version: int
    extent: ExtentKind
    values: tuple[float, ...] | tuple[int, ...]
    axes: tuple[int, ...] | None
    crops: bool
    input_dims: Dims | None

    @property
    def dialect(self) -> Dialect:
        """The operator's version."""
        return dialect_of(self.op_type, self.since_version)


def bind_input(site: ReadSite, form: Form, *, replaced: bool = False) -> InputBinding:
    """The site as an input of the given form would drive it. Raises RefusedError where that form cannot say it.

    `replaced`: another value takes the place of the file's, so sizes need not sample as its scales do, and `base` holds
    1 for a size that the file leaves open.
    """
    interpolation = site.interpolation
    crops = interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE
    of_site = site.op_type, site.since_version, site.extent.kind, site.values
    bound = _bound(_Kind(*of_site, interpolation.axes, crops, site.input_dims), form, replaced)
    return InputBinding(site.scope.path, site.input, site.output, site.label, *bound[4:])


@lru_cache(maxsize=256)
def _bound(site: _Kind, form: Form, replaced: bool) -> InputBinding:
    """The binding of any site of this kind, which has no name."""
    kind = ExtentKind.SIZES if form is Form.SIZES else ExtentKind.SCALES
    as_sizes = _replaced_sizes if replaced else _as_sizes
    base = as_sizes(site) if form is Form.SIZES else _as_scales(site)
    axes = _axes(site, len(base))
    replaces = replaced and form is Form.SIZES
    scaled = (_replaced_entries(site, axes) if replaces else ()) or _scaled_entries(site, kind, base, axes)
    if form is Form.FACTOR and len({base[position] for position in scaled}) > 1:
        values = ", ".join(f"{base[position]:g}" for position in scaled)
        raise RefusedError("operations.factors-differ", values=values)
    entries = scaled if form in (Form.SPATIAL, Form.FACTOR) else tuple(range(len(base)))
    output_dims = _fixed_dims(site, form, kind, base, axes, scaled)
    resized_dims = tuple(_static_dim(site, axis) for axis in axes)
    named_axes = None if axes == tuple(range(len(axes))) and site.axes is None else axes
    of_axes = base, entries, scaled, output_dims, site.dialect.min_scale, resized_dims, named_axes
    return InputBinding(MAIN, "", "", "", form, kind, *of_axes)


def bind_integer_input(site: ReadSite, form: Form | None, denominator: int | None) -> InputBinding:
    """The site as an input would drive it that TensorRT takes: whole numbers, multiplied with the tensor's own shape.

    TensorRT refuses float inputs that decide a shape ("must have type Int32 or Int64"). So the factor is a numerator
    over
    `denominator`: by default 1, or 1000 where a scale is fractional. The form is one factor where all scaled axes share
    it, else one for each. Without an input for sizes (before opset 11) the whole number is cast and fed as scales.
    """
    if form is Form.SCALES:
        raise RefusedError("operations.no-float-input")
    if form is Form.SIZES:
        return bind_input(site, form)
    floats = bind_input(site, Form.SPATIAL if form is None else form)
    scales = [floats.base[position] for position in floats.scaled]
    if form is None and len(set(scales)) == 1:
        floats = bind_input(site, Form.FACTOR)
    chosen = denominator or (1 if all(float(scale).is_integer() for scale in scales) else 1000)
    by_shape = site.dialect.sizes_input is not None
    if not by_shape and not all(float(scale).is_integer() and chosen == 1 for scale in scales):
        raise RefusedError("operations.no-sizes-input", name=site.dialect.name)
    if site.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE:
        raise RefusedError("operations.crop-reads-sizes")
    if not all(numerator(scale, chosen) for scale in scales):
        from resizefix.origins.axis_relation import figure

        scale = figure(next(scale for scale in scales if numerator(scale, chosen) is None))
        never = common_denominator(scales) is None
        code = "operations.factor-never-rational" if never else "operations.factor-not-rational"
        raise RefusedError(code, scale=scale, chosen=chosen, largest=f"{LARGEST_DENOMINATOR:,}")
    driven = floats._replace(denominator=chosen, by_shape=by_shape)
    if by_shape:
        _refuse_other_samples(driven)
    return driven


def retry_args(site: ReadSite, form: Form | None, denominator: int | None, *, integers: bool) -> tuple[str, ...]:
    """The options with which the site can be driven after all, found out by trying; empty where there are none."""
    forms = tuple(other for other in (Form.FACTOR, Form.SPATIAL, Form.SCALES, Form.SIZES) if other is not form)
    plain = [((), form), *((("--form", other.value), other) for other in forms)]
    tries: list[tuple[tuple[str, ...], Callable[[], InputBinding]]] = []
    if integers:
        needed = common_denominator([scale for scale in site.values if scale != 1])
        if needed is not None and needed != denominator:
            tries.append((("--denominator", str(needed)), partial(bind_integer_input, site, form, needed)))
        tries += [(words, partial(bind_integer_input, site, other, denominator)) for words, other in plain[1:]]
        plain = [(("--for", "onnxruntime", *words), other) for words, other in plain]
    tries += [(words, partial(bind_input, site, other or Form.SCALES)) for words, other in plain if words]
    for words, attempt in tries:
        try:
            attempt()
        except RefusedError:
            continue
        return words
    return ()


def _refuse_other_samples(driven: InputBinding) -> None:
    """Raises RefusedError where the sizes that the graph will make are known not to mean the old scales.

    Fed sizes, a runtime samples by their quotient: a scale that is another number samples other points.
    """
    assert driven.denominator is not None
    for scale, size in zip(driven.base, driven.resized_dims, strict=True):
        if size is None or float(scale).is_integer():
            continue
        length = size * round(scale * driven.denominator) // driven.denominator
        if length != kernel_length(scale, size) or sampled_scale(size, length) != np.float32(scale):
            raise RefusedError(
                "operations.other-scale-in-tensorrt",
                scale=scale,
                size=size,
                output_size=kernel_length(scale, size),
                made=length,
            )


def _axes(site: _Kind, count: int) -> tuple[int, ...]:
    """The axis of the input that each entry of the operand is for, counted from 0."""
    axes = site.axes
    if axes is None:
        if site.input_dims is not None and len(site.input_dims) != count:
            raise RefusedError(
                "operations.length-for-rank", numbers=_numbers(site, count), input_dims=len(site.input_dims)
            )
        return tuple(range(count))
    if len(axes) != count:
        raise RefusedError(
            "origins.length-of-extent", numbers=_numbers(site, count), axes=counted(len(axes), "axis", "axes")
        )
    if min(axes) >= 0:
        return axes
    if site.input_dims is None:
        raise RefusedError("operations.axes-from-the-end")
    return tuple(axis % len(site.input_dims) for axis in axes)


def _numbers(site: _Kind, count: int) -> str:
    """`1 scale`, `4 sizes`."""
    return counted(count, site.extent.value.removesuffix("s"))


def _static_dim(site: _Kind, axis: int) -> int | None:
    size = None if site.input_dims is None else site.input_dims[axis]
    return size if isinstance(size, int) else None


def _as_scales(site: _Kind) -> tuple[float, ...]:
    values = site.values
    if site.extent is ExtentKind.SCALES:
        _axes(site, len(values))
        return values
    sizes = _static_sizes(site, Diagnostic("operations.sizes-have-no-scales"))
    scales = [sampled_scale(size, int(out)) for out, size in zip(values, sizes, strict=True)]
    for scale, out, size in zip(scales, values, sizes, strict=True):
        if kernel_length(scale, size) != out:
            raise RefusedError("operations.no-scale-for-size", out=out, size=size)
    return tuple(scales)


def _as_sizes(site: _Kind) -> tuple[int, ...]:
    values = site.values
    if site.extent is ExtentKind.SIZES:
        return tuple(int(value) for value in values)
    site.dialect.slot(ExtentKind.SIZES)
    dims = _static_sizes(site, Diagnostic("operations.scales-have-no-size"))
    sizes = []
    for scale, size in zip(values, dims, strict=True):
        out = kernel_length(scale, size)
        if out > _LONGEST:
            raise RefusedError("operations.output-too-large", scale=scale, size=size)
        if sampled_scale(size, out) != np.float32(scale):
            raise RefusedError("operations.other-scale-by-size", scale=scale, size=size, out=out)
        sizes.append(out)
    return tuple(sizes)


def _replaced_sizes(site: _Kind) -> tuple[int, ...]:
    """What the scales make of the sizes that the file fixes, and 1 for a length that it leaves open.

    A constant size would hold an open batch or channels, too: that is refused.
    """
    if site.extent is ExtentKind.SIZES or site.crops:
        return _as_sizes(site)
    site.dialect.slot(ExtentKind.SIZES)
    axes = _axes(site, len(site.values))
    rank = max(axes, default=0) + 1 if site.input_dims is None else len(site.input_dims)
    stays = batch_and_channel(rank, {axis for axis, scale in zip(axes, site.values, strict=True) if scale != 1})
    sizes = []
    for axis, scale in zip(axes, site.values, strict=True):
        size = _static_dim(site, axis)
        if size is None and axis in stays:
            what = "batch" if axis == 0 else "channels"
            raise RefusedError("operations.set-size-of-open", axis=axis, what=what)
        sizes.append(1 if size is None else kernel_length(scale, size))
    return tuple(sizes)


def _static_sizes(site: _Kind, otherwise: str) -> tuple[int, ...]:
    """The input's size at each entry of the operand, where the file fixes it and the two extents mean the same."""
    if site.crops:
        raise RefusedError("operations.crop-reads-sizes-so", otherwise=otherwise)
    sizes = [_static_dim(site, axis) for axis in _axes(site, len(site.values))]
    fixed = tuple(size for size in sizes if size)
    if len(fixed) != len(sizes):
        raise RefusedError("operations.size-not-fixed", otherwise=otherwise)
    return fixed


def _scaled_entries(
    site: _Kind, kind: ExtentKind, base: tuple[float, ...] | tuple[int, ...], axes: tuple[int, ...]
) -> tuple[int, ...]:
    """The entries that scale their axis; if none does, those of the spatial axes. A size of an axis whose length is not
    known may scale it or not: it counts on spatial axes only."""
    stays = [1 if kind is ExtentKind.SCALES else _static_dim(site, axis) for axis in axes]
    spatial = tuple(position for position, axis in enumerate(axes) if axis >= BATCH_AND_CHANNEL)
    may_scale = spatial or tuple(range(len(axes)))
    differing = [position for position, value in enumerate(base) if value != stays[position]]
    scaled = tuple(position for position in differing if stays[position] is not None or position in may_scale)
    return scaled or may_scale


def _replaced_entries(site: _Kind, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The entries of scales that get other sizes: those that scale, and those of lengths that the file leaves open."""
    if site.extent is ExtentKind.SIZES:
        return ()
    return tuple(
        position
        for position, (axis, scale) in enumerate(zip(axes, site.values, strict=True))
        if scale != 1 or (site.input_dims is not None and _static_dim(site, axis) is None)
    )


def _fixed_dims(
    site: _Kind,
    form: Form,
    kind: ExtentKind,
    base: tuple[float, ...] | tuple[int, ...],
    axes: tuple[int, ...],
    scaled: tuple[int, ...],
) -> tuple[int | str | None, ...] | None:
    """The output's sizes that stay whatever the input is fed, within what it is for.

    An input that holds a number for every axis could scale batch and channels too. That is never meant, so those that
    the file does not scale keep their sizes; OF_INPUT where these are not known.
    """
    if site.input_dims is not None:
        rank = len(site.input_dims)
    elif axes == tuple(range(len(base))):
        rank = len(base)
    else:
        return None
    moving = {axes[position] for position in scaled}
    if form in (Form.SCALES, Form.SIZES):
        moving |= {axis for axis in axes if axis not in batch_and_channel(rank, moving)}
    dims = list(site.input_dims or (None,) * rank)
    for axis, value in zip(axes, base, strict=True) if kind is ExtentKind.SIZES else ():
        dims[axis] = int(value)
    return tuple(None if axis in moving else OF_INPUT if size is None else size for axis, size in enumerate(dims))


SubgraphPlace = tuple[ScopePath, int]  # before which node new ones must stand: the scope, and the position in it


class InputSubgraph:
    """Collects nodes by the place where they must stand; equal ones are made once."""

    def __init__(self, names: FreshNames) -> None:
        self._names = names
        self._made: dict[tuple[object, ...], str] = {}
        self._builders: dict[SubgraphPlace, NodeBuilder] = {}

    @property
    def nodes(self) -> dict[SubgraphPlace, list[NodeProto]]:
        """The new nodes of each place, in order."""
        return {place: builder.nodes for place, builder in self._builders.items()}

    def operand(self, source: str, driven: InputBinding, place: SubgraphPlace) -> str:
        """The tensor that the site reads when the input `source` is fed: `source` itself where it holds every entry."""
        everything = driven.entries == tuple(range(len(driven.base)))
        direct = everything and (driven.form is not Form.FACTOR or len(driven.base) == 1)
        if direct and driven.denominator is None:
            return source
        key = (source, driven.form, driven.entries, len(driven.base), place[0])
        if key not in self._made:
            if driven.denominator is not None:  # whole numbers, fed as the scales of a node without sizes
                source = self._at(place).add("Cast", source, wanted=f"{source}_float", to=TensorProto.FLOAT)
            self._made[key] = source if direct else self._join(source, driven, place, np.ones(1, np.float32))
        return self._made[key]

    def sizes(self, source: str, driven: InputBinding, here: SubgraphPlace) -> str:
        """The sizes that are the resized tensor's shape times what `source` is fed, over the denominator.

        TensorRT wants it so: Shape × numerator ÷ denominator in int64 is accepted and built, float quotients are not.
        """
        denominator, builder = np.full(1, driven.denominator, np.int64), self._at(here)
        shape = builder.add("Shape", driven.input, wanted=f"{source}_shape")
        if driven.axes is not None:
            axes = builder.constant_node(np.array(driven.axes, np.int64), f"{source}_axes")
            shape = builder.add("Gather", shape, axes, wanted=f"{source}_lengths", axis=0)
        everything = driven.form is Form.SPATIAL and driven.entries == tuple(range(len(driven.base)))
        factors = source if everything else self._join(source, driven, here, denominator)
        sizes = builder.add("Mul", shape, factors, wanted=f"{source}_sizes")
        if driven.denominator == 1:
            return sizes
        divisor = builder.constant_node(denominator, f"{source}_denominator")
        return builder.add("Div", sizes, divisor, wanted=f"{source}_quotient")

    def empty_scales(self, place: SubgraphPlace) -> str:
        """The empty tensor that Resize-11 wants as `scales` where `sizes` are given."""
        key = ("no scales", place[0])
        if key not in self._made:
            self._made[key] = self._at(place).constant_node(NO_NUMBERS, "no_scales")
        return self._made[key]

    def _join(self, source: str, driven: InputBinding, place: SubgraphPlace, one: npt.NDArray[np.generic]) -> str:
        builder, entries = self._at(place), driven.entries
        if driven.form is Form.SPATIAL and entries != tuple(range(entries[0], entries[-1] + 1)):
            stay = builder.constant_node(one, f"{source}_one")
            choices = builder.add("Concat", stay, source, wanted=f"{source}_choices", axis=0)
            index = [entries.index(k) + 1 if k in entries else 0 for k in range(len(driven.base))]
            indices = builder.constant_node(np.array(index, np.int64), f"{source}_indices")
            return builder.add("Gather", choices, indices, wanted=f"{source}_vector", axis=0)
        parts: list[str] = []
        position = 0
        while position < len(driven.base):
            if position not in entries:
                count = next((k for k in entries if k > position), len(driven.base)) - position
                parts.append(builder.constant_node(one.repeat(count), f"{source}_ones"))
                position += count
            else:
                parts.append(source)
                position += 1 if driven.form is Form.FACTOR else len(entries)
        return builder.add("Concat", *parts, wanted=f"{source}_vector", axis=0)

    def _at(self, place: SubgraphPlace) -> NodeBuilder:
        fresh = self._names.fresh
        return self._builders.setdefault(
            place, NodeBuilder(fresh, 7, "", lambda op_type, output: fresh(f"{output}_{op_type}"))
        )
