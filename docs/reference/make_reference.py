"""Writes the pages of this folder out of the code: `python docs/reference/make_reference.py` from the root.

tests/docs/test_reference.py fails where a page is not what this script makes.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
from onnx import TensorProto

import resizefix
from resizefix.cli import group
from resizefix.equivalences.kernel_arithmetic import GROWS, spelling_bound
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.equivalences.table import EQUIVALENCES, rewrites
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode
from resizefix.library.result import RULES
from resizefix.targets.foreign.described import PROPERTIES, QUOTED
from resizefix.targets.foreign.described_conditions import CONDITIONS
from resizefix.targets.foreign.described_schema import schema as file_schema

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import message_tables  # noqa: E402
import target_tables  # noqa: E402

NOTE = "<!-- Made by docs/reference/make_reference.py out of the code; edit that. -->\n"
CALLS = (
    "inspect",
    "promote_scales",
    "freeze_scales",
    "trt_legacy",
    "legalize",
    "repair",
    "set_interpolation",
    "input_size",
    "opset",
    "check",
    "verify",
    "diff",
    "explain",
)
TYPES = ("Result", "Site", "Verdict", "Document")
ERRORS = (
    "ResizefixError",
    "UsageError",
    "UnreadableModelError",
    "CannotWriteError",
    "RefusedError",
    "VerificationFailedError",
)

# The rooms from the top down: a file imports from its own room and those below.
ROOMS = (
    ".",
    "cli",
    "reports",
    "library",
    "interop",
    "input_sizes",
    "verification",
    "operations",
    "faults",
    "origins",
    "lowerings",
    "targets",
    "equivalences",
    "opsets",
    "runtimes",
    "shapes",
    "dialects",
    "document",
    "messages",
)
# The tables of options that commands share.
ALL, WRITING, SEVERAL = "Options of every command", "Options of commands that write", "Options of several commands"
FILES = ("<!-- files: made by docs/reference/make_reference.py -->", "<!-- end of files -->")

LENGTHS = (65, 1025, 8193)
# By the number of the equivalence: a node that it rewrites, and what is said of that node.
_SYMMETRIC = CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC
BOUNDED = {
    19: ("linear ×3, asymmetric", Interpolation(Mode.LINEAR, CoordinateTransformationMode.ASYMMETRIC, antialias=True)),
    20: ("cubic ×3", Interpolation(Mode.CUBIC, _SYMMETRIC, cubic_coeff_a=-0.75)),
    22: ("linear, *n* to 2*n* + 11", Interpolation(Mode.LINEAR, CoordinateTransformationMode.HALF_PIXEL)),
}


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    return {
        "cli.md": _cli(),
        "api.md": _api(),
        "targets.md": f"{NOTE}\n{target_tables.page()}",
        "../zh/reference/targets.md": f"{NOTE}\n{target_tables.chinese_page()}",
        "equivalences.md": _equivalences(),
        "json.md": _json(),
        "messages.md": f"{NOTE}\n{message_tables.page()}",
        "../zh/reference/messages.md": f"{NOTE}\n{message_tables.page(chinese=True)}",
        "../layout.md": _layout(),
        "target-files.md": _target_files(),
        "../../resizefix/targets/foreign/devices/target.schema.json": _schema(),
    }


def _schema() -> str:
    return f"{json.dumps(file_schema(), indent=2, ensure_ascii=False)}\n"


def _target_files() -> str:
    text = [NOTE, "# What a target's file may say\n"]
    text.append(
        "A file that `--target FILE.toml` takes. [How to write one](../targets-of-your-own.md). Its JSON schema is\n"
        "`resizefix/targets/foreign/devices/target.schema.json`, which is installed with the package.\n\n"
        "## Conditions\n\n"
        "What `where` and `needs` may state. What is not known of a node breaks no rule.\n"
    )
    text.append("| condition | what it looks at | what it takes |\n|---|---|---|")
    text += [f"| `{one.name}` | {_cell(one.says)} | {_cell(one.kind.takes)} |" for one in CONDITIONS]
    text.append("\n## What is computed instead\n\nWhat `computes` may state; `where` narrows it as it does a rule.\n")
    text.append("| property | what it says | what it takes |\n|---|---|---|")
    text += [f"| `{one.name}` | {_cell(one.says)} | {_cell(one.kind.takes)} |" for one in PROPERTIES]
    words = ", ".join(f"`{{{word}}}`" for word in QUOTED)
    text.append(f"\n## What sentences quote\n\n`because` and `fix` may quote the node: {words}.")
    return "\n".join(text).rstrip() + "\n"


def _cli() -> str:
    text = [NOTE, "# The command line\n"]
    text.append(
        "Exit codes: 0 the model is changed, or is so already (or: yes); 1 it is refused, or a check failed (or: no);\n"
        "2 unusable arguments or input. [Which outcome when](#outcomes). With\n"
        "`--json` stdout is one JSON document, as [the schemas](../schema/definitions.json) say.\n\n"
        "`-` in place of a model reads it from stdin, and `-` as OUT writes it to stdout; then the report goes to\n"
        "stderr. With `--json`, OUT must be a file.\n\n"
        "`resizefix … | head -1` writes files whole, and keeps the exit code. Where the answer cannot be printed (a\n"
        "full disk, a closed stdout), the exit code is 2, or 0 if OUT is written.\n"
    )
    context = click.Context(group, info_name="resizefix", **group.context_settings)
    groups = _shared_options(context)
    shared = [row for rows in groups.values() for row in rows]
    for heading, rows in groups.items():
        text.append(f"## {heading}\n\n| option | what it does |\n|---|---|")
        text.extend(f"| `{_cell(names)}` | {_cell(what)} |" for names, what in rows)
        text.append("")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        text.append(f"## {name}\n")
        usage = re.sub(r"\n(?!\s+resizefix)\s*", " ", command.get_usage(inner))  # one line for each way to call it
        text.append(f"```text\n{usage}\n```\n")
        text.append(f"{inspect.cleandoc(command.help or '')}\n")
        options = [param for param in command.get_params(inner) if isinstance(param, click.Option)]
        rows = [record for option in options if (record := option.get_help_record(inner))]
        own = [row for row in rows if row not in shared]
        if own:
            text.append("| option | what it does |\n|---|---|")
            text.extend(f"| `{_cell(names)}` | {_cell(what)} |" for names, what in own)
        text.append(f"\n{_shared_options_of(rows, groups)}")
        if command.epilog:
            text.append(f"\n{command.epilog.replace('Example: ', 'Example: `', 1)}`\n")
    return "\n".join([*text, *_outcomes()]).rstrip() + "\n"


def _outcomes() -> list[str]:
    """The rules that say what became of a model."""
    return [
        "## Outcomes\n",
        "What became of a model is one word, alike in every command, the `outcome` of `--json`, for each of several\n"
        "models and in `result.outcome` of the library. The first line that holds decides:\n",
        "| where | outcome |\n|---|---|",
        *(f"| {rule.says} | `{rule.outcome.value}` |" for rule in RULES),
        "\n`changed` writes OUT and is exit code 0. `already` is 0, too: `--copy-unchanged` writes a copy of IN to\n"
        "OUT, and `--strict` makes it a 1. `refused` and `failed` write nothing and are a 1. So a model without a\n"
        "resize is `already` right for `legalize`, `trt-legacy` and `repair`; `promote-scales`, `freeze-scales` and\n"
        "`set` refuse it.\n",
        "Of commands that change no model, `already` means yes. No is `refused` in `check` and `explain`, and\n"
        "`failed` in `verify` and `diff`. Unusable arguments or input have no outcome (`null`), and are counted as\n"
        "`unusable`. Of several models, one whose process ended is `failed`, too, with exit code 1.\n",
    ]


def _shared_options(context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """By heading: the options that all commands, all that write, and at least three have with the same words."""
    by_command: dict[str, set[tuple[str, str]]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        options = [param for param in command.get_params(inner) if isinstance(param, click.Option)]
        records = [record for option in options if (record := option.get_help_record(inner))]
        by_command[name] = set(records)
        counts.update(records)
    of_all = set.intersection(*by_command.values())
    writing = [
        records
        for records in by_command.values()
        if any(_long_name(names) == "--copy-unchanged" for names, _ in records)
    ]
    of_writing = set.intersection(*writing) - of_all
    several = [record for record, count in counts.items() if count >= 3]
    return {
        ALL: [record for record in several if record in of_all],
        WRITING: [record for record in several if record in of_writing],
        SEVERAL: [record for record in several if record not in of_all | of_writing],
    }


def _shared_options_of(rows: list[tuple[str, str]], groups: dict[str, list[tuple[str, str]]]) -> str:
    """Which shared options a command has: of a group that it has whole, the heading; of the others each name."""
    writes = set(groups[WRITING]) <= set(rows)
    others = [row for row in rows if row in groups[SEVERAL] or (row in groups[WRITING] and not writes)]
    heads = [ALL, WRITING] if writes else [ALL]
    parts = [f"[{head[0].lower()}{head[1:]}](#{head.lower().replace(' ', '-')})" for head in heads]
    return f"Also: {', '.join([*parts, *(f'`{_long_name(names)}`' for names, _ in others)])}."


def _long_name(names: str) -> str:
    """ "--json" of "--json", "--node" of "-n, --node PATTERN"."""
    return next(word.rstrip(",") for word in names.split() if word.startswith("--"))


def _api() -> str:
    text = [NOTE, "# The library\n"]
    text.append(
        "`model` is a path, an `onnx.ModelProto`, an `onnx_graphsurgeon.Graph`, an `onnx_ir.Model` or torch's\n"
        "`ONNXProgram`; `result.model` is of the same kind, and the argument is never changed.\n"
    )
    for name in CALLS:
        call = getattr(resizefix, name)
        signature = str(inspect.signature(call))
        lines = [
            "(",
            *(f"    {part}," for part in _parameters(call)),
            f") -> {signature.rpartition(' -> ')[2].strip(chr(39))}",
        ]
        text.append(f"## resizefix.{name}\n\n```text\nresizefix.{name}{chr(10).join(lines)}\n```\n")
        text.append(f"{inspect.getdoc(call)}\n")
    for title, names in (("What comes back", TYPES), ("Errors", ERRORS)):
        text.append(f"## {title}\n")
        for name in names:
            text.append(f"### resizefix.{name}\n\n{inspect.getdoc(getattr(resizefix, name))}\n")
    return "\n".join(text).rstrip() + "\n"


def _parameters(call: object) -> list[str]:
    parameters = list(inspect.signature(call).parameters.values())  # type: ignore[arg-type]
    found = [re.sub(r": '([^']*)'", r": \1", str(parameter)) for parameter in parameters]
    first = next((at for at, one in enumerate(parameters) if one.kind is one.KEYWORD_ONLY), len(found))
    return [*found[:first], "*", *found[first:]] if first < len(found) else found


def _equivalences() -> str:
    text = [NOTE, "# Equivalences\n"]
    text.append(
        "Which rewrites keep the meaning. *s* is the float32 scale of an axis. Each is proven in onnxruntime by\n"
        "a test named after it.\n"
    )
    text.append("| number | name | condition | because | exact |\n|---|---|---|---|---|")
    for row in EQUIVALENCES:
        exact = "bit for bit" if row.exact else "within a bound (below)" if row.number in BOUNDED else "no bound"
        cells = (row.label, row.name, row.condition, row.because, exact)
        text.append(f"| {' | '.join(map(_cell, cells))} |")
    text.append(
        "\nA bound is the largest difference for an input whose largest value is 1; multiply it by the largest value\n"
        "of others. It is computed for the sizes, the mode and the type of each node, and stands in the outcome\n"
        "(`bound`). It grows with the axis, since float32 coordinates have fewer digits behind the point there. For\n"
        f"an axis whose size the file leaves open it holds {GROWS}.\n"
        "In float16 add one step, 9.8e-4. Nearest and integer tensors have no bound. Examples, float32:\n"
    )
    text.append(
        f"| equivalence | {' | '.join(f'{length:,} samples' for length in LENGTHS)} | open |\n|---|---|---|---|---|"
    )
    for number, (what, interpolation) in BOUNDED.items():
        cells = [_bound(number, interpolation, length) for length in (*LENGTHS, None)]
        text.append(f"| E{number} ({what}) | {' | '.join(cells)} |")
    return "\n".join(text).rstrip() + "\n"


def _bound(number: int, interpolation: Interpolation, length: int | None) -> str:
    by_sizes = number == 22
    if by_sizes and length is None:
        return "needs the size"
    value = 2 * (length or 0) + 11 if by_sizes else 3.0
    subject = ResizeSpec(
        interpolation, ExtentKind.SIZES if by_sizes else ExtentKind.SCALES, (value,), (length,), TensorProto.FLOAT
    )
    steps = rewrites(subject, allow_inexact=True)
    other = next(step.subject for step in steps if number in [row.number for row in step.equivalences])
    near = spelling_bound(subject, other)
    assert near is not None
    return f"{near.bound:.1e}"


def _json() -> str:
    text = [NOTE, "# The JSON answers\n"]
    text.append(
        "With `--json` stdout is exactly one JSON document; what is for a person goes to stderr. Fields are added,\n"
        "never renamed. The schemas (JSON Schema 2020-12) are held to real answers by a test; all build on\n"
        "[definitions.json](../schema/definitions.json).\n"
    )
    text.append("| command | schema | besides the common fields |\n|---|---|---|")
    schemas = {path.stem: json.loads(path.read_text()) for path in sorted((HERE.parent / "schema").glob("*.json"))}
    definitions = schemas.pop("definitions")["$defs"]
    common = definitions["common"]["properties"]
    for name, schema in schemas.items():
        own = next((part["properties"] for part in schema.get("allOf", ()) if "properties" in part), None)
        fields = [field for field in own or schema["properties"] if field not in common]
        said = "several models at once" if name == "many" else f"`{name}`"
        text.append(
            f"| {said} | [{name}.json](../schema/{name}.json) | {', '.join(f'`{field}`' for field in fields)} |"
        )
    text.append(f"\nThe common fields are {', '.join(f'`{field}`' for field in common)}.\n")
    for name, schema in definitions.items():
        if name not in ("common", "numbers", "dims"):
            text.append(f"## {name}\n")
            if "description" in schema:
                text.append(f"{schema['description']}\n")
            text.append("| field | what it holds |\n|---|---|")
            text.extend(f"| `{field}` | {_cell(_kind(kind))} |" for field, kind in schema["properties"].items())
            text.append("")
    return "\n".join(text).rstrip() + "\n"


def _layout() -> str:
    """The page with a row for every room of the package: the first sentence of its docstring."""
    page = (HERE.parent / "layout.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(FILES[0])
    package = Path(resizefix.__file__).parent
    rooms = {path.relative_to(package).parent.as_posix() for path in package.rglob("*.py")}
    text = ["| room | what it is for |\n|---|---|"]
    for room in sorted(rooms, key=lambda name: ([*ROOMS, name].index(name.split("/")[0]), name)):
        head = "resizefix/" if room == "." else f"resizefix/{room}/"
        text.append(f"| `{head}` | {_cell(_first_sentence(package / room / '__init__.py'))} |")
    text[-1] += "\n"
    return f"{before}{FILES[0]}\n{chr(10).join(text)}{FILES[1]}{rest.partition(FILES[1])[2]}"


def _first_sentence(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=[.?])\s+(?=[A-Z`])", " ".join(said.split("\n\n")[0].split()))[0]


def _kind(schema: dict[str, Any]) -> str:
    """A schema in words."""
    if "oneOf" in schema:
        words = " or ".join(map(_kind, schema["oneOf"]))
    elif "enum" in schema:
        words = ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    elif "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        words = {"numbers": "array of numbers", "dims": "array of integers"}.get(name, f"[{name}](#{name})")
    elif "items" in schema:
        words = f"array of {_kind(schema['items'])}" + (" or null" if "null" in schema["type"] else "")
    else:
        words = schema["type"] if isinstance(schema["type"], str) else " or ".join(schema["type"])
    return f"{words}. {schema['description']}" if "description" in schema else words


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("{f.", "{")


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
