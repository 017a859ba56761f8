"""Where a command writes: OUT, -o OUT, --in-place or nowhere (--dry-run), checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from resizefix.errors import UsageError


@dataclass(frozen=True)
class TargetFile:
    """`path` is None for a dry run; `overwrite` if an existing file may be replaced."""

    path: str | None
    overwrite: bool


def target_file_of(model: str, options: Mapping[str, Any], *, default: str | None = None) -> TargetFile:
    """What the options of `cli.options.writing` say; `default` is OUT where none is given."""
    return target_file(
        model,
        options["out"],
        options["output_option"],
        force=options["force"],
        in_place=options["in_place"],
        dry_run=options["dry_run"],
        default=default,
    )


def target_file(
    model: str,
    out: str | None,
    output_option: str | None,
    *,
    force: bool,
    in_place: bool,
    dry_run: bool,
    default: str | None = None,
) -> TargetFile:
    """Where to write. Raises UsageError for contradicting or missing answers, and where OUT exists without --force."""
    if out is not None and output_option is not None and out != output_option:
        raise UsageError(f"OUT is given twice, as {out} and as -o {output_option}")
    path = out if out is not None else output_option
    if in_place and path is not None:
        raise UsageError(f"--in-place replaces {model}, so OUT ({path}) cannot be given with it")
    if dry_run:
        return TargetFile(None, overwrite=False)
    if in_place:
        return TargetFile(model, overwrite=True)
    path = path if path is not None else default
    if path is None:
        raise UsageError("where to write? Give OUT, or --in-place, or --dry-run", again=("--dry-run",))
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder; name the file to write in it")
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path} exists; --force replaces it", again=("--force",))
    return TargetFile(path, overwrite=force)
