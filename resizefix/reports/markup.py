"""HTML and SVG whose text cannot be taken for markup: whatever is not `Markup` already is escaped as it goes in."""

from __future__ import annotations

import html

from resizefix.printable import printable

_VOID = frozenset({"br", "img", "input", "link", "meta", "wbr"})


class Markup(str):
    """Text that is markup already; made by `element`, `join` and `escaped` alone, or from constants of this package."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """Any text as text: nothing in it is markup, acts on the reader, or reverses the line."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(printable(str(text)), quote=True))


def join(*children: object) -> Markup:
    """The children one after the other; None is nothing."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """`<tag attributes>children</tag>`.

    An attribute's underscores are hyphens and a trailing one is dropped (`class_`, `aria_label`); None leaves it out,
    True makes it a bare word.
    """
    written = "".join(
        f" {name}" if value is True else f' {name}="{escaped(value)}"'
        for name, value in ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{join(*children)}</{tag}>")
