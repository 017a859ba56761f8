"""`resizefix inspect MODEL`."""

from __future__ import annotations

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.options import manner, manner_of


@click.command("inspect", epilog="Example: resizefix inspect fixtures/srcnn_x3_opset11.onnx")
@click.argument("model")
@manner
@click.version_option(package_name="resizefix", prog_name="resizefix")
def command(model: str, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Show every Upsample/Resize of MODEL: what it computes, where its scales come from, what can be done with it."""

    def work() -> Answer:
        from resizefix.document.document import Document
        from resizefix.document.scopes import Scopes
        from resizefix.operations.sites import find_sites
        from resizefix.reports.json import site_json

        document = Document.open(model)
        sites = find_sites(document)

        def show() -> None:
            from resizefix.reports.text import show_sites

            show_sites(sites, verbose=verbose)

        fields = {
            "opset": Scopes(document.proto).main.opset,
            "ir_version": document.proto.ir_version,
            "sites": [site_json(site) for site in sites],
        }
        return Answer(fields, show)

    conduct("inspect", model, manner_of(as_json, quiet, verbose), work)
