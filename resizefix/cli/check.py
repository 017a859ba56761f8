"""`resizefix check MODEL --target TARGET`."""

from __future__ import annotations

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.options import list_targets, manner, manner_of


@click.command("check", epilog="Example: resizefix check fixtures/srcnn_x3_opset11.onnx --target tensorrt-8.0")
@click.argument("model", required=False, default="")
@click.option(
    "--target",
    "targets",
    multiple=True,
    required=True,
    metavar="TARGET",
    help="Whose rules to judge by (repeatable); `list` prints them all.",
)
@manner
@click.version_option(package_name="resizefix", prog_name="resizefix")
def command(model: str, targets: tuple[str, ...], as_json: bool, quiet: bool, verbose: bool) -> None:
    """Say whether TARGET takes the Upsample/Resize nodes of MODEL, rule by rule.

    Exit code 0: every target accepts them; 1: one does not.
    """
    list_targets(targets)

    def work() -> Answer:
        from resizefix.document.document import Document
        from resizefix.errors import UsageError
        from resizefix.library.check import check
        from resizefix.reports.json import verdict_json

        if not model:
            raise UsageError("which model? Give MODEL, or --target list")
        document = Document.open(model)
        verdicts = [check(document, target=name) for name in dict.fromkeys(targets)]

        def show() -> None:
            from resizefix.reports.text import show_verdicts

            show_verdicts(verdicts, chosen=None)

        fields = {"targets": {verdict.target.name: verdict_json(verdict) for verdict in verdicts}}
        return Answer(fields, show, exit_code=0 if all(verdict.accepted for verdict in verdicts) else 1)

    conduct("check", model, manner_of(as_json, quiet, verbose), work)
