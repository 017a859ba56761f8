"""`resizefix inspect MODEL`."""

from __future__ import annotations

from typing import Any

from resizefix.cli.envelope import Answer, answering, output_mode
from resizefix.cli.many import many_read
from resizefix.cli.options import bounds, subcommand
from resizefix.cli.piped_model import model_argument, shown
from resizefix.cli.report_files import pages, report_files_of, reporting


@subcommand("inspect", example="resizefix inspect x3.onnx --html x3.html")
@model_argument()
@many_read
@reporting
@bounds
@answering
def command(model: str, **options: Any) -> Answer:
    """Show every Upsample/Resize of MODEL: what it computes, where its scales come from, what can be done with it."""
    reports = report_files_of(options, model)
    from resizefix.document.document import Document
    from resizefix.reports.json import resolution_json, site_json
    from resizefix.reports.survey import Survey

    found = Survey(Document.open(model))

    def show() -> None:
        from resizefix.reports.terminal import show_survey

        show_survey(shown(model), found, verbose=output_mode().verbose)

    written = reports.write(*pages("html.inspect_page", "markdown.inspect_markdown", lambda: (shown(model), found)))
    fields = {
        "opset": found.opset,
        "ir_version": found.ir_version,
        "resolution": resolution_json(found.resolution),
        "sites": [site_json(surveyed.site, surveyed.faults) for surveyed in found.sites],
        **written,
    }
    return Answer(fields, reports.beside(show))
