"""`resizefix target new NAME`: a file to begin a target of one's own with.

Where a command writes: OUT, -o OUT, --in-place or nowhere (--dry-run), checked before any work is done.

A model that is given is replaced only where `--in-place` was typed, whatever path leads to it; its data files never.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from resizefix.cli.envelope import Answer
from resizefix.cli.options import subcommand
from resizefix.cli.streams import DASH, PipedModel, is_stream, shown
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UnreadableModelError, UsageError
from resizefix.library.options import OUT_ENDINGS


@subcommand(
    "target",
    click.Argument(["action"], metavar="new"),
    click.Argument(["name"]),
    example="resizefix target new my-npu",
)
def command(action: str, name: str, output: str | None, force: bool, **_: object) -> Answer:
    """Write NAME.toml, a target of your own: commented, valid as it is, and yours to change.

    `check` and `legalize` take it as --target NAME.toml.
    """
    from resizefix.document.atomic_write import AtomicWrite
    from resizefix.targets.catalogue import FILE, row_named
    from resizefix.targets.described import NAME
    from resizefix.targets.described_schema import template

    if action != "new":
        raise UsageError("cli.no-target-action", action=action)
    if NAME.fullmatch(name) is None:
        such = re.sub(r"[^a-z0-9]+", "-", name.lower().removesuffix(FILE)).strip("-")
        raise UsageError("cli.no-target-name", name=name, such=such if NAME.fullmatch(such) else "my-npu")
    if row_named(name) is not None:
        raise UsageError("cli.target-name-taken", name=name)
    path = output or f"{name}{FILE}"
    require_free(path, (), force=force)
    with AtomicWrite() as files:
        files.stage(Path(path), [template(name).encode()], overwrite=force)
        files.commit()

    def show() -> None:
        from resizefix.reports.text import show_new_target

        show_new_target(path)

    return Answer({"target": name}, show, output=path)


class TargetFile(NamedTuple):
    """`path` is None for a dry run, `-` for stdout; `overwrite` if an existing file may be replaced."""

    path: str | None
    overwrite: bool


def default_out(command: str, model: str, options: Mapping[str, Any]) -> str:
    """OUT where none is given: IN's name with the ending of the command, or stdout for a model on stdin."""
    if isinstance(model, PipedModel):
        return DASH
    return os.path.splitext(model)[0] + OUT_ENDINGS[command].format_map(options)


def target_file_of(model: str, options: Mapping[str, Any], *, default: str) -> TargetFile:
    """What the options of commands that write say; `default` is OUT where none is given.

    Raises UsageError for contradicting options, for an OUT that is the model or exists without --force, and
    for --in-place where the file has hard links: they would go on leading to the old model.
    """
    out, option, in_place = options["out"], options["output_option"], options["in_place"]
    if out is not None and option is not None and out != option:
        raise UsageError("cli.out-twice", out=out, option=option)
    path = out if out is not None else option
    if in_place and path is not None:
        raise UsageError("cli.in-place-and-out", model=shown(model), path=path)
    if options["dry_run"]:
        return TargetFile(None, overwrite=False)
    if in_place and isinstance(model, PipedModel):
        raise UsageError("cli.stdin-in-place")
    if in_place:
        links = os.stat(model).st_nlink - 1 if os.path.isfile(model) else 0
        if links:
            raise UsageError("cli.in-place-of-links", model=model, names=f"{links} other name{'s' * (links > 1)}")
        return TargetFile(model, overwrite=True)
    path = path if path is not None else default
    if path == DASH:
        return TargetFile(DASH, overwrite=False)
    if os.path.lexists(path) and not isinstance(model, PipedModel) and not os.path.lexists(model):
        raise UsageError("cli.no-in-but-out", path=model, out=path)  # they may have been swapped
    instead = Diagnostic("cli.name-another-out")
    require_free(path, (model,), force=options["force"], instead=instead)
    return TargetFile(path, overwrite=options["force"])


def require_free(path: str, models: Sequence[str], *, force: bool, instead: str | None = None) -> None:
    """Raises UsageError for a folder, for one of the models or a file with their data, and for a file that exists
    unless `force`; `instead` is what to do where it is one of the models."""
    if os.path.isdir(path):
        raise UsageError("cli.out-is-folder", path=path)
    require_apart((path,), models, instead=instead or Diagnostic("cli.name-another-file"))
    if os.path.lexists(path) and not force:
        raise UsageError("cli.out-exists", path=path, retry_args=("--force",))


def require_apart(paths: Sequence[str], models: Sequence[str], *, instead: str, data: bool = True) -> None:
    """Raises UsageError where writing one of `paths` would replace one of the models, or (`data`) a file with their
    data.

    Files are compared, not names: a link, another path to the folder or another case may lead to the same file.
    """
    existing = _identities(paths)
    if not existing:
        return
    if any(isinstance(model, PipedModel) for model in models):
        for path in existing.values():
            if is_stream(sys.stdin, path):
                raise UsageError("cli.stdin-is-out", path=path)
    files = _identities(model for model in models if os.path.isfile(model))
    for identity, model in files.items():
        if identity in existing:
            path = existing[identity]
            named = "" if path == model else f" ({model})"
            raise UsageError("cli.out-is-in", path=path, named=named, instead=instead)
    if not data:
        return
    from resizefix.document.document import Document

    for model in files.values():
        with suppress(UnreadableModelError):  # which the command itself reports
            document = Document.open(model)
            for path in existing.values() if document.data_files() else ():
                document.require_apart(path)


def _identities(paths: Iterable[str]) -> dict[tuple[int, int], str]:
    """The files among the paths, each once, by what tells one file from another on this system."""
    files: dict[tuple[int, int], str] = {}
    for path in paths:
        with suppress(OSError, ValueError):
            status = os.stat(path)
            files.setdefault((status.st_dev, status.st_ino), path)
    return files
