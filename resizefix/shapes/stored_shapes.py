"""One state of a document with its values and shapes, sizes of resize nodes included.

What is known of every tensor's type and shape, and how it is re-derived after an edit made some sizes dynamic.

Stored shapes that an edit made untrue are the silent killer: onnxruntime believes `value_info` and folds a `Shape`
node to the old size, with wrong numbers and no error. So `rederive` forgets every stored shape that depends on the
edited tensors, wherever it stands (outer and inner scopes, function bodies), and fills in what can be inferred from
seeds that say which sizes are still fixed.

The values that follow from the sizes that the file fixes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from onnx import ModelProto, TensorProto, TensorShapeProto

from resizefix.dialects.dialect import RESIZES
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, Scope, Scopes, bodies
from resizefix.document.values import Array, Dims, dims_in, dims_of, set_shape, stored_values, tensor_of, write_dims
from resizefix.document.view import View
from resizefix.scope_path import MAIN, Key, ScopePath
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.expression import Expression, Number, Size, UntraceableError
from resizefix.shapes.model_types import ModelTypes, Read, stored_array
from resizefix.shapes.value_types import TensorType, ValueType, as_proto, without_negative
from resizefix.shapes.values import SizesOf, ValueOf, Values


class ModelView(View):
    """A document's nodes, names, constants and shapes, worked out when they are first asked for."""

    def __init__(self, document: Document) -> None:
        super().__init__(document.proto)
        self.document = document

    def __reduce__(self) -> tuple[type[ModelView], tuple[Document]]:
        """Between processes the document travels alone; what is known of it is worked out again."""
        return ModelView, (self.document,)

    @cached_property
    def constants(self) -> Values:
        """The values that nothing at run time can change."""
        return Values(self.document.array, self.scopes)

    def values(self, sizes: SizesOf, given: ValueOf | None = None) -> Values:
        """The values that follow from these sizes of tensors, over calls and into branches, too."""
        return Values(
            self.document.array, self.scopes, constants=self.constants, calls=self.calls, sizes=sizes, given=given
        )

    @cached_property
    def resizes(self) -> list[tuple[Scope, int]]:
        """Every Upsample and Resize by its scope and position there, in the order in which a reader of the file meets
        them: that of the sites."""
        places = [
            (scope, index)
            for scope in self.scopes.all
            for index, node in enumerate(scope.body.node)
            if node.op_type in RESIZES and node.domain in DEFAULT_DOMAINS  # for a hundred thousand nodes
        ]
        return sorted(places, key=lambda place: (*place[0].order, place[1]))

    def value(self, scope: Scope, name: str) -> Array | None:
        """The value of a tensor that nothing at run time can change; None for another."""
        return self.constants.array(scope, name)

    def dims(self, scope: Scope, name: str) -> Dims | None:
        """The sizes of what `name`, read in `scope`, refers to, as far as they are known."""
        home = self.scopes.definition(scope, name)
        return None if home is None else self.shapes.dims(home.key)

    def elem_type(self, scope: Scope, name: str) -> int | None:
        """Its element type."""
        home = self.scopes.definition(scope, name)
        return None if home is None else self.shapes.elem_type(home.key)

    @cached_property
    def shapes(self) -> Shapes:
        """Types and shapes, the stored ones and those that inference adds."""
        return Shapes(self.model, self.scopes, self.document.array)


__all__ = ["Dims", "Key", "Shapes", "dims_of", "is_invented", "rederive"]

_INVENTED = re.compile(r"unk__\d+")
OF_INPUT = "unk__of_input"
"""Says in seeds of `rederive`: the size of the node's first input, which is not known."""


class Shapes:
    """Types and shapes of a model's tensors: what is stored, and what inference adds to it; never the size that onnx
    gives the output of a resize and onnxruntime does not."""

    def __init__(self, model: ModelProto, scopes: Scopes | None = None, read: Read = stored_array) -> None:
        scopes = scopes or View(model).scopes
        self._types = ModelTypes(scopes, read).types
        self._initializers = {
            (scope.path, name): tensor for scope in scopes.all for name, tensor in scope.initializers.items()
        }

    def _type(self, key: Key) -> ValueType | None:
        path, name = key
        return self._types.get(path, {}).get(name)

    def dims(self, key: Key) -> Dims | None:
        """Known sizes of a tensor, symbols as text, None where unknown; None altogether if even the rank is unknown."""
        value_type = self._type(key)
        if value_type is None and key in self._initializers:
            return tuple(size if size >= 0 else None for size in self._initializers[key].dims)
        return without_negative(value_type.dims) if isinstance(value_type, TensorType) else None

    def inner_dims(self, key: Key) -> Dims | None:
        """Known sizes of the tensors that a sequence or an optional holds; of a tensor, `dims`."""
        value_type = self._type(key)
        tensor = tensor_of(as_proto(value_type)) if isinstance(value_type, bytes) else None
        return dims_in(tensor.shape) if tensor is not None and tensor.HasField("shape") else self.dims(key)

    def elem_type(self, key: Key) -> int | None:
        """The element type (a TensorProto.DataType), if known."""
        value_type = self._type(key)
        if value_type is None:
            return self._initializers[key].data_type or None if key in self._initializers else None
        return value_type.elem_type or None if isinstance(value_type, TensorType) else None

    @cached_property
    def names_of_rarer_types(self) -> set[str]:
        """The names, in whatever scope, of tensors whose element type is known and not the commonest in the model."""
        by_type: dict[int, list[str]] = {TensorProto.UNDEFINED: []}
        for own in self._types.values():
            for name, value_type in own.items():
                elem_type = value_type.elem_type if isinstance(value_type, TensorType) else TensorProto.UNDEFINED
                by_type.setdefault(elem_type, []).append(name)
        for (_, name), tensor in self._initializers.items():
            by_type.setdefault(tensor.data_type, []).append(name)
        del by_type[TensorProto.UNDEFINED]
        rarer = sorted(by_type.values(), key=len)[:-1]
        return {name for names in rarer for name in names}


def rederive(model: ModelProto, seeds: Mapping[Key, Dims | None], *, names_hold: bool = False) -> None:
    """Make every stored shape that depends on the seeded tensors true again; all others stay as they are.

    `seeds` gives, for each edited tensor, the sizes that are still fixed (None: no longer; no sizes at all: not even
    the rank is known). OF_INPUT, or a name that inference invented, is there the size of the node's first input.
    Dynamic sizes that nothing names get fresh symbolic names. With `names_hold` they keep the names that are stored:
    the edit fixed sizes alone, so that what the file called equal still is. Tensors that had no stored shape get none.
    Where inference knows nothing, the rank is all that stays. No name that inference invents is stored.
    """
    shaped = [
        ((path, value.name), tensor)
        for path, body in bodies(model)
        for value in stored_values(body)
        if (tensor := tensor_of(value.type)) is not None and tensor.HasField("shape")
    ]
    fed = {(MAIN, value.name) for value in model.graph.input} - seeds.keys()
    if all(key in fed for key, _ in shaped):  # and what is fed depends on nothing
        return
    scopes = View(model).scopes
    dependents = Dependents(scopes)
    dependents.add(seeds)
    stored = [(key, tensor, _copied(tensor.shape)) for key, tensor in shaped if key in dependents.resized]
    if not stored:
        return
    # who only looks at a model derives nothing again
    from resizefix.shapes.kept_names import KeptNames

    own_symbols = _symbols(model)
    symbols = FreshNames(own_symbols)
    for _, tensor, _ in stored:
        tensor.ClearField("shape")
    derived = _derive_from(model, seeds)
    renamed: dict[str, str] = {}
    seeded = {size for dims in seeds.values() for size in dims or () if isinstance(size, str)} - {OF_INPUT}
    known_symbols = _symbols(model) | {name for name in seeded if name in own_symbols or not is_invented(name)}
    names = {name for name in own_symbols | seeded if not is_invented(name)}
    stated = {key: dims_in(old) for key, _, old in stored}
    followed = KeptNames(scopes, derived.dims, stated, seeds, dependents, names).followed()
    known_symbols |= {size for sizes in followed.values() for size in sizes if isinstance(size, str) and size in names}
    for key, tensor, old in stored:
        inner = derived.inner_dims(key)
        dims: Sequence[int | str | None] = followed.get(key, (None,) * len(old.dim) if inner is None else inner)
        held = dims_in(old) if names_hold and len(dims) == len(old.dim) else ()
        named: list[int | str | None] = []
        for axis, size in enumerate(dims):
            was = held[axis] if held else None
            if isinstance(was, str) and not isinstance(size if inner is None else inner[axis], int):
                size = was
            elif size is None:
                size = symbols.fresh(f"{key[1]}_dim_{axis}")
            elif isinstance(size, str) and size not in known_symbols:
                if size not in renamed:
                    renamed[size] = symbols.fresh(f"{key[1]}_dim_{axis}")
                size = renamed[size]
            named.append(size)
        tensor.shape.CopyFrom(old)
        write_dims(tensor.shape, named)


def _copied(shape: TensorShapeProto) -> TensorShapeProto:
    copy = TensorShapeProto()
    copy.CopyFrom(shape)
    return copy


def _derive_from(model: ModelProto, seeds: Mapping[Key, Dims | None]) -> Shapes:
    copy = ModelProto()
    copy.CopyFrom(model)
    fixed: dict[ScopePath, dict[str, Dims]] = {}
    for (path, name), dims in seeds.items():
        if dims is not None:
            fixed.setdefault(path, {})[name] = tuple(None if size == OF_INPUT else size for size in dims)
    for path, body in bodies(copy):
        wanted = fixed.get(path, {})
        present = [value for value in stored_values(body) if value.name in wanted] if wanted else []
        there = {value.name for value in present}
        for name in (name for name in wanted if name not in there):
            present.append(body.value_info.add())
            present[-1].name = name
        for value in present:
            set_shape(value, wanted[value.name])
    return Shapes(copy)


def is_invented(symbol: str) -> bool:
    """Whether onnx.shape_inference made the symbol up, for a size that it knows nothing of."""
    return _INVENTED.fullmatch(symbol) is not None


def _symbols(model: ModelProto) -> set[str]:
    return {
        dim.dim_param
        for _, body in bodies(model)
        for value in stored_values(body)
        for dim in value.type.tensor_type.shape.dim
        if dim.dim_param
    }


def fixed_values(view: ModelView, supposed: Mapping[str, int] | None = None) -> Values:
    """What holds at the sizes that the file fixes. `supposed`: the sizes that symbols are taken to have."""
    at = {} if supposed is None else supposed

    def sizes(definition: Definition) -> Sequence[Expression]:
        dims = view.shapes.dims(definition.key)
        if dims is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        numbers = [at.get(size) if isinstance(size, str) else size for size in dims]
        return [
            Size(definition.key, axis) if size is None else Number(size, "int64") for axis, size in enumerate(numbers)
        ]

    return view.values(sizes)
