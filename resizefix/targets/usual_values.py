"""What is computed from sizes that the file leaves open, where those are usual ones."""

from resizefix.document.scopes import Scope
from resizefix.document.values import Dims
from resizefix.shapes.fixed_sizes import fixed_values
from resizefix.shapes.model_view import ModelView

_USUAL_SIZES = (7, 10, 16, 25)


def usual_values(
    view: ModelView, dims: Dims, scope: Scope, name: str
) -> tuple[tuple[tuple[int, ...], tuple[float, ...]], ...]:
    """What `name` is where the open ones of `dims` are usual sizes, each with all of these; nothing where an open size
    has no symbol, or other sizes decide, too."""
    if None in dims or all(isinstance(size, int) for size in dims):
        return ()
    found = []
    for batch, usual in enumerate(_USUAL_SIZES, 1):
        supposed = {size: usual + axis if axis else batch for axis, size in enumerate(dims) if isinstance(size, str)}
        value = fixed_values(view, supposed).array(scope, name)
        if value is None or value.dtype.kind not in "fiu":
            return ()
        sizes = tuple(size if isinstance(size, int) else supposed[size] for size in dims if size is not None)
        found.append((sizes, tuple(map(float, value.ravel()))))
    return tuple(found)
