"""Expressions and relations as text: which sizes the size of an output follows."""

from collections.abc import Callable, Sequence

import numpy as np

from resizefix.document.text import listed
from resizefix.shapes.expression import Computed, Expression, Number, Size

_INFIX = {"Add": "+", "Sub": "−", "Mul": "×", "Div": "/", "Mod": "mod"}
_TIGHT = frozenset({"Mul", "Div", "Mod"})
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})


def written(expression: Expression, name: Callable[[Size], str]) -> str:
    """The expression as a formula; `name` gives a size's. Casts are left out, but rounding is shown."""
    if isinstance(expression, Number):
        return figure(expression.value, expression.dtype)
    if isinstance(expression, Size):
        return name(expression)
    assert isinstance(expression, Computed)  # sizes that are followed are not written
    operands = expression.operands
    if expression.operator == "Cast":
        rounds = expression.dtype in _INTEGERS and not _is_whole(operands[0])
        return f"floor({written(operands[0], name)})" if rounds else written(operands[0], name)
    if expression.operator == "Div" and expression.dtype in _INTEGERS:
        return f"floor({_infix(expression, name)})"
    if expression.operator in _INFIX:
        return _infix(expression, name)
    return f"{expression.operator.lower()}({', '.join(written(operand, name) for operand in operands)})"


def _infix(expression: Computed, name: Callable[[Size], str]) -> str:
    sign, operands = _INFIX[expression.operator], list(expression.operands)
    if expression.operator in ("Add", "Mul"):  # 2 × n, n + 1
        operands.sort(key=lambda operand: isinstance(operand, Number) == (expression.operator == "Add"))
    last = operands[-1]
    if expression.operator == "Add" and isinstance(last, Number) and last.value < 0:
        sign, operands[-1] = "−", Number(-last.value, last.dtype)
    parts = []
    for position, operand in enumerate(operands):
        inner = without_casts(operand)
        text = written(operand, name)
        if isinstance(inner, Computed) and inner.operator in _INFIX and not text.startswith("floor("):
            loose = inner.operator not in _TIGHT
            if (expression.operator in _TIGHT and loose) or (position and sign in "−/"):
                text = f"({text})"
        parts.append(text)
    return f" {sign} ".join(parts)


def without_casts(expression: Expression) -> Expression:
    """The expression inside any casts."""
    while isinstance(expression, Computed) and expression.operator == "Cast":
        expression = expression.operands[0]
    return expression


def _is_whole(expression: Expression) -> bool:
    if expression.dtype in _INTEGERS or expression.dtype == "bool":
        return True
    inner = without_casts(expression)
    return inner.dtype in _INTEGERS or (isinstance(inner, Computed) and inner.operator in ("Floor", "Ceil", "Round"))


def figure(value: float, dtype: str = "float32") -> str:
    """A number as people write it: 2, 1.8 (of float32(1.8), too)."""
    if float(value).is_integer():
        return str(int(value))
    return str(np.dtype(dtype).type(value)) if dtype.startswith("float") else str(value)


def axis_names(axes: Sequence[int], rank: int) -> str:
    """Axes as people call them: height and width in NCHW, else by number."""
    if rank == 4 and set(axes) <= {2, 3}:
        return listed(["height" if axis == 2 else "width" for axis in axes])
    word = "axis" if len(axes) == 1 else "axes"
    return f"{word} {listed([str(axis) for axis in axes])}"
