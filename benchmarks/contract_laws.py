"""What the command line promises whatever the model: exit codes, streams and files, checked on one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from command_runs import Ended
from google.protobuf.message import DecodeError

IN, OUT = "IN", "OUT"
COMMANDS: dict[str, tuple[str, ...]] = {
    "inspect": (IN,),
    "promote-scales": (IN, OUT),
    "freeze-scales": (IN, OUT),
    "trt-legacy": (IN, OUT),
    "legalize": (IN, OUT, "--target", "tensorrt-10"),
    "check": (IN, "--target", "tensorrt-10"),
    "verify": (IN, IN),  # a model equals itself
    "diff": (IN, IN),
}
COMMON_FIELDS = ("resizefix", "command", "model", "output", "exit_code", "error")


def one_document(text: str) -> Any:
    """The JSON document that `text` is. Raises ValueError; NaN and Infinity are not JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@dataclass(frozen=True)
class Observed:
    """One run and all it left: `document` is stdout as JSON, or the ValueError that says why it is none."""

    command: str
    model: Path
    out: Path
    ended: Ended
    document: Any
    written: list[str]
    input_unchanged: bool


def broken_laws(seen: Observed) -> Iterator[str]:
    """Every promise that this run did not keep, in words."""
    code, stderr = seen.ended.exit_code, seen.ended.stderr.strip()
    if not seen.input_unchanged:
        yield "the input was changed"
    if seen.written and code != 0:
        yield f"wrote {', '.join(seen.written)} without exit code 0"
    if code is None:
        yield "past the time limit"
        return
    if code < 0:
        yield f"killed by signal {-code}"
    elif code not in (0, 1, 2):
        yield f"exit code {code}"
    if "Traceback (most recent call last)" in stderr:
        yield f"traceback: {stderr.splitlines()[-1]}"
    if code == 2 and not stderr:
        yield "exit code 2 and nothing on stderr"
    if isinstance(seen.document, ValueError):
        yield f"stdout is not one JSON document: {seen.document}"
    elif not isinstance(seen.document, dict):
        yield "the JSON document is not an object"
    else:
        yield from broken_fields(seen.document, code, seen.command, seen.model)
    if code == 0 and OUT in COMMANDS[seen.command]:
        yield from broken_output(seen.model, seen.out)


def broken_fields(document: dict[str, Any], code: int, command: str, model: Path) -> Iterator[str]:
    """The promises about the common fields."""
    missing = [name for name in COMMON_FIELDS if name not in document]
    if missing:
        yield f"JSON without {', '.join(missing)}"
        return
    if document["exit_code"] != code:
        yield f"JSON says exit_code {document['exit_code']}, the process {code}"
    if document["command"] != command:
        yield f"JSON says command {document['command']!r}"
    if document["model"] is None or Path(document["model"]) != model:
        yield f"JSON says model {document['model']!r}"
    if code == 0 and document["error"] is not None:
        yield f"exit code 0 with an error: {document['error']}"
    if code != 0 and not reasons_of(document):
        yield f"exit code {code} without a reason"


def broken_output(model: Path, out: Path) -> Iterator[str]:
    """The promises about OUT: it is there, it is a model, and valid if the input was."""
    if not out.exists():
        yield "exit code 0, but OUT is not there"
        return
    try:
        onnx.load(out, load_external_data=False)
    except DecodeError as error:
        yield f"OUT is no model: {error}"
        return
    refused = checker_refuses(out)
    if refused and not checker_refuses(model):
        yield f"OUT is refused by onnx.checker: {refused}"


def checker_refuses(path: Path) -> str | None:
    """The checker's complaint on one line, or None."""
    try:
        onnx.checker.check_model(str(path))
    except onnx.checker.ValidationError as error:
        return " ".join(str(error).split())
    return None


def reasons_of(document: Any) -> list[str]:
    """Why the answer is what it is: what outcomes, verification and verdicts say; else the error."""
    if not isinstance(document, dict):
        return []
    found = [f"{row['status']}: {row['reason']}" for row in document.get("outcomes") or [] if row.get("reason")]
    verification = document.get("verification") or {}
    if verification.get("status") == "failed" and verification.get("reason"):
        found.append(f"verification failed: {verification['reason']}")
    for target, verdict in (document.get("targets") or {}).items():
        found += [f"{target}: {violation['rule']}" for violation in verdict["violations"]]
    found += [f"changed {change['what']}" for change in document.get("changes") or []]
    return found or ([str(document["error"])] if document.get("error") else [])
