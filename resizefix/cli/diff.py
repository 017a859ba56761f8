"""`resizefix diff BEFORE AFTER`."""

from __future__ import annotations

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.options import manner, manner_of


@click.command("diff", epilog="Example: resizefix diff fixtures/srcnn_x3_opset11.onnx srcnn_dynamic.onnx")
@click.argument("before")
@click.argument("after")
@manner
@click.version_option(package_name="resizefix", prog_name="resizefix")
def command(before: str, after: str, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Show what changed between BEFORE and AFTER, node by node; what is not listed is the same.

    Exit code 0: the models are the same; 1: they differ.
    """

    def work() -> Answer:
        from resizefix.document.document import Document
        from resizefix.operations.diff import diff
        from resizefix.reports.json import change_json

        changes = diff(Document.open(before), Document.open(after))

        def show() -> None:
            from resizefix.reports.text import show_changes

            show_changes(changes)

        return Answer({"changes": [change_json(change) for change in changes]}, show, exit_code=1 if changes else 0)

    conduct("diff", before, manner_of(as_json, quiet, verbose), work)
