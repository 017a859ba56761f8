"""`resizefix target new NAME`: a file to begin a target of one's own with."""

from __future__ import annotations

import re
from pathlib import Path

import click

from resizefix.cli.envelope import Answer
from resizefix.cli.files import require_free
from resizefix.cli.options import subcommand
from resizefix.diagnostics import UsageError


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
    from resizefix.targets.foreign.described import NAME
    from resizefix.targets.foreign.described_schema import template

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
