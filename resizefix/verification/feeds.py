"""Sensible values for every input of a model: several sets, the most sensible first.

Nothing in a file says which sizes its symbols may take, or that an int64[4] is a target size. So the caller tries the
candidates in order and keeps the first that the ORIGINAL model runs with (`fitting.fit_feeds`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from onnx import TensorProto, helper

from resizefix.diagnostics import Diagnostic, RefusedError, ResizefixError, UsageError
from resizefix.document.text import amount
from resizefix.document.values import Array
from resizefix.process import free_memory
from resizefix.runtimes.inputs import InputKind, TensorInput, Value, shapes_of
from resizefix.verification.sizing import (
    FACTORS,
    OTHER_SIZES,
    RARER_FACTORS,
    SIZINGS,
    Names,
    Role,
    Shape,
    Sizing,
    image_of,
    is_small_vector,
    resized_by,
    roles_of,
    sized,
    vector_value,
)

_DRAWN_WIDTH = 8  # bytes: values are drawn as doubles, whatever the type of the input
MOST_AXES = 64 if int(np.__version__.split(".")[0]) >= 2 else 32  # of a numpy array
_LEAST_AXES = 3  # of a picture
_MOST_SHOWN = 16  # numbers of an array in a message
MOST_ELEMENTS = 2**24  # of one tensor whose size is chosen here; what the file or the user fixes may be larger


class TooLargeError(ResizefixError):
    """An input of the sizes that the file or the user fixes would take more memory than may be used."""


class Feeder:
    """Makes feeds for `inputs`. An input with a default is left to it unless hinted.

    `shapes` fixes the shapes of inputs, and through their symbols what they share with others (`--shape`); `hints` are
    values to feed as they are. Every input draws from a generator of its own, seeded
    with `seed` and its name: an input more or less does not change the values of the others.

    `most_bytes` is what one input may take.

    Raises UsageError for a name, rank or size that the model does not have, RefusedError for an input that no values
    are made for (maps, sparse tensors, more axes than numpy has). `candidates` raises TooLargeError.
    """

    def __init__(
        self,
        inputs: Sequence[TensorInput],
        shapes: Mapping[str, Shape] | None = None,
        seed: int = 0,
        hints: Mapping[str, object] | None = None,
        most_bytes: int | None = None,
    ) -> None:
        self._seed = seed
        self._chosen: tuple[float | None, float | None] = (None, None)  # of the last candidate
        self.names = Names.EQUAL  # what equal names were taken to say for it
        self._most_bytes = free_memory() // 2 if most_bytes is None else most_bytes
        self._hints = {name: as_feed(_named(inputs, name), value) for name, value in (hints or {}).items()}
        self._fixed = {name: shape.shape for name, shape in self._hints.items() if isinstance(shape, np.ndarray)}
        for name, shape in (shapes or {}).items():
            _check_shape(_named(inputs, name), tuple(shape))
            self._fixed.setdefault(name, tuple(shape))
        self._inputs = [entry for entry in inputs if not entry.has_default or entry.name in self._hints]
        self._defaulted = [entry for entry in inputs if entry.has_default and entry.name not in self._hints]
        for entry in self._inputs:
            if entry.kind in (InputKind.MAP, InputKind.SPARSE_TENSOR) and entry.name not in self._hints:
                raise RefusedError("verification.no-values-for-input", name=entry.name, value=entry.kind.value)
            if entry.shape is not None and len(entry.shape) > MOST_AXES:
                raise RefusedError(
                    "verification.too-many-axes", name=entry.name, shape=len(entry.shape), most_axes=MOST_AXES
                )

    @property
    def seed(self) -> int:
        """What values are drawn with."""
        return self._seed

    @property
    def drawn(self) -> list[TensorInput]:
        """The inputs whose values are chosen here: all that are fed and that nobody fixes."""
        return [entry for entry in self._inputs if entry.name not in self._hints]

    @property
    def defaulted(self) -> list[TensorInput]:
        """The inputs that are left to their default."""
        return self._defaulted

    @property
    def sizes_are_fixed(self) -> bool:
        """Whether the file or `hints` fix the size of every input, so that no shape could be given instead."""
        return all(entry.is_static or entry.name in self._hints for entry in self._inputs)

    @property
    def chosen_sizes(self) -> list[str]:
        """The inputs with a size that neither the file nor the user fixes: `candidates` choose it."""
        return [entry.name for entry in self._inputs if not entry.is_static and entry.name not in self._fixed]

    def open_axes(self, shapes: Mapping[str, Shape]) -> list[tuple[tuple[str, int], ...]]:
        """The axes whose size neither the file nor the user fixes, each by its inputs and positions; one name is one
        axis."""
        axes: dict[object, list[tuple[str, int]]] = {}
        for entry in self._inputs:
            if entry.name not in self.chosen_sizes or entry.name not in shapes or entry.kind.is_list:
                continue
            dims = entry.shape if entry.shape is not None else (None,) * len(shapes[entry.name])
            for at, dim in enumerate(dims):
                if not isinstance(dim, int):
                    axes.setdefault(dim if dim is not None else (entry.name, at), []).append((entry.name, at))
        return [tuple(places) for places in axes.values()]

    @property
    def must_be_equal(self) -> tuple[str, ...]:
        """The inputs whose open sizes the last candidate took to be equal, where they were not in the first."""
        if self.names is not Names.EQUAL:
            return ()
        named = {
            entry.name: {dim for dim in entry.shape or () if isinstance(dim, str)}
            for entry in self._inputs
            if entry.name in self.chosen_sizes and len(entry.shape or ()) > 1
        }
        return tuple(
            name for name, dims in named.items() if any(dims & other for one, other in named.items() if one != name)
        )

    def candidates(self, sizings: Sequence[Sizing] = SIZINGS) -> Iterator[dict[str, Value]]:
        """Feeds, the most sensible first, no two alike; empty only if every choice of sizes is too large."""
        seen: set[object] = set()
        left_open = self.chosen_sizes
        # By diagonals: neither other sizes nor other readings of small vectors wait until all of the first were tried.
        usual = sorted(product(range(len(sizings)), range(len(FACTORS))), key=sum)
        attempts = [(sizings[size_row], FACTORS[factor_row], None) for size_row, factor_row in usual]
        rarer = ((sizing, *factors) for sizing, factors in product(sizings, RARER_FACTORS))
        for sizing, factor, last in (*attempts, *rarer):
            shapes = sized(self._inputs, sizing, self._fixed)
            if any(math.prod(shapes[name]) > MOST_ELEMENTS for name in left_open):
                continue
            vectors = self._vectors(shapes, factor, last)
            identity = (tuple(shapes.items()), tuple((name, value.tobytes()) for name, value in vectors.items()))
            if identity not in seen:
                seen.add(identity)
                self._chosen = factor, last
                self.names = sizing.names
                yield {entry.name: self._value(entry, shapes[entry.name], vectors) for entry in self._inputs}

    def others(self, first: Mapping[str, Value]) -> list[dict[str, Value]]:
        """Feeds beside those of the last candidate, `first`: values as images hold them, and where the file leaves
        sizes open other ones: two images or more, taller than wide; where scales or sizes are fed, one that stretches.
        The most telling first; the last of the same sizes."""
        shapes = shapes_of(first)
        left_open = [entry for entry in self._inputs if entry.name in self.chosen_sizes and entry.name in shapes]
        other_shapes: list[dict[str, Shape]] = []
        for way in OTHER_SIZES if left_open else ():
            moved = {**shapes, **{entry.name: resized_by(entry, shapes[entry.name], way) for entry in left_open}}
            if moved != shapes and moved not in other_shapes:
                other_shapes.append(moved)
        *others, pictures = (self._pictures(first, sizes) for sizes in (*other_shapes, shapes))
        factor, last = self._chosen
        stretched: list[dict[str, Value]] = []  # height and width by factors of their own
        if len(shapes) == len(first) and factor is not None:
            for feeds in (one for one in (*others[:1], first) if one is not None):
                if vectors := self._vectors(shapes_of(feeds), factor, 1.5 * (last or factor)):
                    stretched.append({**feeds, **vectors})
        return [feeds for feeds in (*stretched[:-1], *others, *stretched[-1:], pictures) if feeds is not None]

    def of_shapes(self, first: Mapping[str, Value], shapes: Mapping[str, Shape]) -> dict[str, Value] | None:
        """Feeds as `first`, in other shapes; None where these are too large."""
        return self._pictures(first, shapes)

    def _pictures(self, first: Mapping[str, Value], shapes: Mapping[str, Shape]) -> dict[str, Value] | None:
        feeds = dict(first)
        vectors = self._vectors(shapes, *self._chosen) if len(shapes) == len(first) else {}
        for entry in self._inputs:
            value, shape = first[entry.name], shapes.get(entry.name)
            if entry.name in self._hints or not isinstance(value, np.ndarray) or shape is None:
                continue
            if entry.name in vectors:
                feeds[entry.name] = vectors[entry.name] if shapes != shapes_of(first) else value
            elif math.prod(shape) * _DRAWN_WIDTH > self._most_bytes:
                return None
            else:
                feeds[entry.name] = picture(generator_of(self._seed + 1, entry.name), value.dtype, shape)
        return feeds

    def _vectors(self, shapes: Mapping[str, Shape], factor: float | None, last: float | None) -> dict[str, Array]:
        """The inputs that may say how to resize, filled as `factor` says, `last` on the last axis; None: as any data.

        With `last` an image without spatial axes is resized on all of them.
        """
        image = image_of(self._inputs)
        about: tuple[Shape, tuple[Role, ...]] = ((), ())
        if image is not None and image.shape is not None:
            roles = roles_of(image.shape)
            if last is not None and Role.SPATIAL not in roles:
                roles = (Role.SPATIAL,) * len(roles)
            about = shapes[image.name], roles
        vectors: dict[str, Array] = {}
        for entry in self._inputs:
            if entry.kind.is_list or entry.name in self._hints:
                continue
            dtype, shape = _dtype(entry), shapes[entry.name]
            if not is_small_vector(shape, dtype.kind):
                continue
            if factor is None:
                vector = None
            elif dtype.kind == "b":  # a condition: consecutive seeds take both branches
                vector = np.full(shape, (factor != 1.0) == (self._seed % 2 == 0))
            else:
                vector = vector_value(shape, dtype.kind, *about, factor, last)
            vectors[entry.name] = self._random(entry, shape) if vector is None else vector.astype(dtype)
        return vectors

    def _value(self, entry: TensorInput, shape: Shape, vectors: Mapping[str, Array]) -> Value:
        if entry.name in self._hints:
            return self._hints[entry.name]
        if entry.kind.is_list:
            both = self._random(entry, (2, *shape))
            return [both[0], both[1]]
        return vectors[entry.name] if entry.name in vectors else self._random(entry, shape)

    def _random(self, entry: TensorInput, shape: Shape) -> Array:
        if math.prod(shape) * _DRAWN_WIDTH > self._most_bytes:
            elements = amount(math.prod(shape))
            raise TooLargeError(
                "verification.input-too-large", name=entry.name, type_text=entry.type_text, elements=elements
            )
        return _draw(generator_of(self._seed, entry.name), _dtype(entry), shape)


def generator_of(seed: int, name: str, *more: int) -> np.random.Generator:
    """What the values of an input are drawn from."""
    return np.random.default_rng([seed, _number(name), *more])


@lru_cache(maxsize=1024)
def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def as_feed(entry: TensorInput, value: object) -> Value:
    """`value` (numbers, a nested list, an array) as the input wants it; a flat list is laid out as a static shape.

    A list of such values for a sequence; None for an optional that is to be absent. Raises UsageError where it does not
    fit.
    """
    if value is None and entry.kind.is_optional:
        return None
    if entry.kind.is_list and isinstance(value, (list, tuple)):
        return [_as_array(entry, item) for item in value]
    if entry.kind in (InputKind.TENSOR, InputKind.OPTIONAL):
        return _as_array(entry, value)
    raise UsageError("verification.values-not-fed", name=entry.name, type_text=entry.type_text)


def _as_array(entry: TensorInput, value: object) -> Array:
    dtype = _dtype(entry)
    try:
        given = np.asarray(value)
        loses_parts = given.dtype.kind == "c" and dtype.kind != "c"
        with np.errstate(over="ignore", invalid="ignore"):
            array = (given.real if loses_parts else given).astype(dtype)
    except (ValueError, TypeError) as error:
        raise UsageError(
            "verification.value-not-fed-because",
            name=entry.name,
            type_text=entry.type_text,
            value=_short(value),
            error=error,
        ) from error
    changed = bool(np.any(array != given)) if dtype.kind in "iub" else _overflows(array, given)
    if loses_parts or changed:
        raise UsageError("verification.value-not-fed", name=entry.name, type_text=entry.type_text, value=_short(value))
    if entry.is_static and entry.shape is not None and array.ndim != len(entry.shape):
        static = tuple(dim for dim in entry.shape if isinstance(dim, int))
        plain = [size for size in array.shape if size != 1] == [size for size in static if size != 1]
        if array.size == math.prod(static) and (plain or array.ndim <= 1):  # else its axes have another order
            array = array.reshape(static)
    _check_shape(entry, array.shape)
    return array


def _short(value: object) -> object:
    """Numbers as messages show them: a large array by its type, its shape and its range."""
    if not isinstance(value, np.ndarray) or value.size <= _MOST_SHOWN:
        return value
    kind = f"{value.dtype.name}[{','.join(map(str, value.shape))}]"
    if value.dtype.kind not in "iuf":
        return kind
    return Diagnostic("verification.range", kind=kind, least=value.min(), most=value.max())


def _overflows(array: Array, given: Array) -> bool:
    """Whether finite numbers became infinite."""
    both_real = array.dtype.kind == "f" and given.dtype.kind in "iuf"
    return both_real and bool(np.any(np.isinf(array) & np.isfinite(given)))


def _named(inputs: Sequence[TensorInput], name: str) -> TensorInput:
    for entry in inputs:
        if entry.name == name:
            return entry
    names = ", ".join(f"{entry.name} ({entry.type_text})" for entry in inputs) or "none"
    raise UsageError("verification.no-such-input", name=name, known=names)


def _check_shape(entry: TensorInput, shape: Shape) -> None:
    if not entry.takes(shape) or any(size < 0 for size in shape):
        given = ",".join(map(str, shape))
        raise UsageError("verification.shape-does-not-fit", given=given, name=entry.name, type_text=entry.type_text)


def _dtype(entry: TensorInput) -> np.dtype[np.generic]:
    if entry.elem_type == TensorProto.STRING:
        return np.dtype(object)
    if entry.elem_type not in helper.get_all_tensor_dtypes():
        raise RefusedError("verification.no-values-of-no-type", name=entry.name)
    return np.dtype(helper.tensor_dtype_to_np_dtype(entry.elem_type))


def _draw(generator: np.random.Generator, dtype: np.dtype[np.generic], shape: Shape) -> Array:
    """Numbers as such a tensor usually holds: unit-normal floats, any byte, pixels, 0 and 1 for likely indices."""
    drawn: object
    if dtype.kind == "O":
        drawn = np.full(shape, "a", dtype=object)
    elif dtype.kind == "b":
        drawn = generator.integers(0, 2, shape)
    elif dtype.kind in "iu" and dtype.itemsize == 1:
        lowest = 0 if dtype.kind == "u" else -128
        drawn = generator.integers(lowest, lowest + 256, shape)
    elif dtype.kind in "iu":
        drawn = generator.integers(0, 256 if len(shape) >= 3 else 2, shape)
    elif dtype.kind == "c":
        drawn = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    else:
        drawn = generator.standard_normal(shape)
    return np.asarray(drawn).astype(dtype)


def picture(generator: np.random.Generator, dtype: np.dtype[np.generic], shape: Shape) -> Array:
    """Numbers as an image holds them, from 0 to 1, or whole up to 255: slopes, an edge each way, a little noise; along
    the last two axes. Other tensors as they are drawn otherwise."""
    if len(shape) < _LEAST_AXES or dtype.kind not in "fiuV" or (dtype.kind == "V" and dtype.name != "bfloat16"):
        return _draw(generator, dtype, shape)
    lead = (*shape[:-2], 1, 1)
    rows, columns = np.ogrid[: shape[-2], : shape[-1]]
    down, across = rows / max(shape[-2], 1), columns / max(shape[-1], 1)
    waves, shifts = generator.uniform(0.3, 2.0, (2, *lead)), generator.uniform(0, 2 * np.pi, (2, *lead))
    slopes = np.sin(2 * np.pi * waves[0] * down + shifts[0]) * np.cos(2 * np.pi * waves[1] * across + shifts[1])
    edges = (down > generator.uniform(0.2, 0.8, lead)) ^ (across > generator.uniform(0.2, 0.8, lead))
    values = 0.45 + 0.3 * slopes + 0.15 * edges + generator.normal(0, 0.02, shape)
    drawn = np.clip(values, 0, 1)
    return np.asarray(np.rint(drawn * (127 if dtype == np.int8 else 255)) if dtype.kind in "iu" else drawn).astype(
        dtype
    )


def pictures_like(feeds: Mapping[str, Value], seed: int) -> dict[str, Value]:
    """Other pictures in the place of all feeds that may be some; small tensors stay."""
    return {
        name: picture(generator_of(seed, name), value.dtype, value.shape)
        if isinstance(value, np.ndarray) and value.ndim >= _LEAST_AXES
        else value
        for name, value in feeds.items()
    }
