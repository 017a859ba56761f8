"""The JSON schema of a target's file, made of the rows that read it.

A file to begin a target of one's own with: valid as written, with a comment for each thing that can be stated.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from resizefix.targets.foreign.described import EFFECTS, FOLDER, NAME, PROPERTIES, QUOTED
from resizefix.targets.foreign.described_conditions import CONDITIONS, TYPES, ConditionKind

_TEXT = {"type": "string", "pattern": r"\S"}
_NAME = {"type": "string", "pattern": f"^{NAME.pattern}$"}


def schema() -> dict[str, Any]:
    """The schema, JSON Schema 2020-12."""
    quoted = ", ".join(f"{{{word}}}" for word in QUOTED)
    sentence = {**_TEXT, "description": f"May quote the node: {quoted}."}
    rule = {
        "name": _NAME,
        "effect": {"enum": list(EFFECTS), "description": "Left out: rejected, or different with `computes`."},
        "because": sentence,
        "fix": {**sentence, "description": f"Left out: replace the node. {sentence['description']}"},
        "source": {**_TEXT, "description": "Left out: the source of the file."},
        "where": _one_or_more("#/$defs/conditions"),
        "needs": _one_or_more("#/$defs/conditions"),
        "computes": _one_or_more("#/$defs/computation"),
    }
    limit = {
        "operators": {"type": "array", "items": {"type": "string", "pattern": "^[A-Z]"}, "minItems": 1},
        "types": {"type": "array", "items": {"enum": list(TYPES)}},
        "ranks": {"type": "array", "items": {"type": "integer"}},
        "source": _TEXT,
    }
    wants = {"anyOf": [{"required": [key]} for key in ("where", "needs", "computes")]}
    apart = {"not": {"required": ["needs", "computes"]}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "target.schema.json",
        "title": "A target of one's own, for --target FILE.toml",
        **_object({"name": _NAME, "title": _TEXT, "source": _TEXT}, ("name", "title", "source")),
        "properties": {
            "name": {**_NAME, "description": "What answers call it; no name of a target of this package."},
            "title": {**_TEXT, "description": "Device, compiler and version."},
            "source": {**_TEXT, "description": "Where the rules were read or measured."},
            "rule": {"type": "array", "items": {"$ref": "#/$defs/rule"}, "minItems": 1},
            "limit": {"type": "array", "items": {"$ref": "#/$defs/limit"}, "minItems": 1},
        },
        "$defs": {
            "rule": {**_object(rule, ("name", "because")), "allOf": [wants, apart]},
            "limit": {
                **_object(limit, ("operators",)),
                "description": "Operators that the device does not have, of these types or ranks, or at all.",
            },
            "conditions": {
                **_object({one.name: {**_values(one.kind), "description": one.says} for one in CONDITIONS}),
                "minProperties": 1,
            },
            "computation": {
                **_object(
                    {
                        "where": _one_or_more("#/$defs/conditions"),
                        **{one.name: {**_value(one.kind), "description": one.says} for one in PROPERTIES},
                    }
                ),
                "minProperties": 1,
            },
        },
    }


def _object(properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties), "additionalProperties": False, **needed}


def _one_or_more(reference: str) -> dict[str, Any]:
    each = {"$ref": reference}
    return {"oneOf": [each, {"type": "array", "items": each, "minItems": 1}]}


def _one(kind: ConditionKind) -> dict[str, Any]:
    if kind.choices:
        return {"enum": list(kind.choices)}
    return {"type": "integer" if kind.whole else "number"}


def _value(kind: ConditionKind) -> dict[str, Any]:
    """Of a property of a computation: one value."""
    return {"const": False} if kind.flag else _one(kind)


def _values(kind: ConditionKind) -> dict[str, Any]:
    """Of a condition: one value, several, or a range of numbers or all words but some."""
    if kind.flag:
        return {"type": "boolean"}
    each = _one(kind)
    several = {"type": "array", "items": each, "minItems": 1}
    others = {"not": {"anyOf": [each, several]}} if kind.choices else {"min": each, "max": each}
    return {"anyOf": [each, several, {**_object(others), "minProperties": 1}]}


_WIDTH = 100


def template(name: str) -> str:
    """The text of a new file for a target of that name."""
    quoted = ", ".join(f"{{{word}}}" for word in QUOTED)
    text = [(FOLDER / "new.txt").read_text(encoding="utf-8").replace("@NAME@", name), _comment(quoted)]
    text.append("#\n# What `where` and `needs` may state. What is not known of a node breaks no rule.\n")
    text += [_entry(one.name, one.says, one.kind.takes) for one in CONDITIONS]
    text.append("#\n# What `computes` may state:\n")
    text += [_entry(one.name, one.says, one.kind.takes) for one in PROPERTIES]
    return "".join(text)


def _entry(name: str, says: str, takes: str) -> str:
    return f"#   {name}\n{_comment(f'{says}: {takes}')}"


def _comment(text: str) -> str:
    return (
        textwrap.fill(text, _WIDTH, initial_indent="#     ", subsequent_indent="#     ", break_on_hyphens=False) + "\n"
    )
