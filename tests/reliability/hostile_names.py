"""Texts that mean to do something to whoever prints them, as every name of a model; and whether one was printed."""

import unicodedata
from collections.abc import Iterator

from hostile_models import Fill, file_of, model, resize, scales, value
from onnx import ModelProto, TensorProto, helper

NAMES = {
    "newline": "a\nresizefix: all is well",
    "return": "a\rgone",
    "escape": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "clear": "\x1b[2J\x1b[H",
    "c1-control": "\x9b31m",
    "delete": "\x7f\x08",
    "right-to-left": "\u202egnp.exe",
    "separator": "a\u2028b",
    "zero-width": "a\u200bb",
    "nul": "a\0b",
    "markup": "[bold red]x[/bold red]",
    "closing-markup": "[/x]",
    "link-markup": "[link=https://example.org]x[/link]",
    "emoji": ":smile:",
    "quotes": "'\"\\{}%s%n$(touch acted)`touch acted`",
    "long": "x" * 50_000,
    "path": "../../x",
}


HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}


def raw_characters(text: str) -> list[str]:
    """What a terminal or a reader would act on instead of showing it."""
    return sorted({hex(ord(c)) for c in set(text) if c not in "\n\t" and unicodedata.category(c) in HIDDEN})


def names() -> Iterator[tuple[str, Fill]]:
    """Every name of a model and every text in it says the same hostile thing."""
    for name, text in NAMES.items():
        yield f"name-{name}", file_of(named(text))
        yield f"unknown-{name}", file_of(named(text, operator=text))


def named(text: str, operator: str = "Resize") -> ModelProto:
    t = text
    branch = helper.make_graph(
        [helper.make_node(operator, [t, "", f"{t}s"], [f"{t}b"], name=f"{t}inner", mode="linear")],
        t,
        [],
        [value(f"{t}b", [t])],
    )
    nodes = [
        helper.make_node("Shape", [t], [f"{t}shape"], name=f"{t}shape"),
        helper.make_node(operator, [t, "", f"{t}s"], [f"{t}y"], name=t, mode="nearest", doc_string=t),
        helper.make_node("If", [f"{t}c"], [f"{t}z"], name=f"{t}if", then_branch=branch, else_branch=branch),
        helper.make_node(operator, [f"{t}y", "", f"{t}made"], [f"{t}w"], name=f"{t}2", mode=t),
        helper.make_node(t, [f"{t}y"], [f"{t}v"], name=f"{t}3", domain=t),
        helper.make_node("Cast", [f"{t}s"], [f"{t}made"], name=f"{t}cast", to=1),
    ]
    inputs = [value(t, [1, 1, t, f"{t}h"]), value(f"{t}c", [], TensorProto.BOOL)]
    function = helper.make_function(
        t, t, ["a"], ["b"], [resize("a", "b", operands=("", t))], [helper.make_opsetid("", 13)]
    )
    made = model(
        nodes, [scales(1, 1, 2, 2, name=f"{t}s")], inputs=inputs, outputs=[value(f"{t}z", None), value(f"{t}v", [t])],
        functions=[function], producer_name=t, doc_string=t,
    )  # fmt: skip
    helper.set_model_props(made, {t: t})
    return made
