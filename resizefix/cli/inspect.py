"""`resizefix inspect MODEL`."""

from __future__ import annotations

from typing import Any

from resizefix.cli.envelope import Answer, output_mode
from resizefix.cli.files import pages, report_files_of
from resizefix.cli.options import model_argument, more_models, subcommand
from resizefix.cli.streams import shown


@subcommand("inspect", model_argument(), more_models(), example="resizefix inspect x3.onnx --html x3.html")
def command(model: str, **options: Any) -> Answer:
    """Show every Upsample/Resize of MODEL: what it computes, where its scales come from, what can be done with it."""
    reports = report_files_of(options, model)
    from resizefix.document.document import Document
    from resizefix.reports.json import fault_json, resolution_json, site_json, written_json
    from resizefix.reports.survey import Survey

    survey = Survey(Document.open(model))

    def show() -> None:
        from resizefix.reports.terminal import show_survey

        show_survey(shown(model), survey, verbose=output_mode().verbose)

    written = reports.write(*pages("html.inspect_page", "markdown.inspect_markdown", lambda: (shown(model), survey)))
    fields = {
        "opset": survey.opset,
        "ir_version": survey.ir_version,
        "resolution": resolution_json(survey.resolution),
        "faults": [{"name": one.name, **fault_json(one.fault)} for one in survey.reused_names],
        "sites": [site_json(surveyed.site, surveyed.faults) for surveyed in survey.sites],
        "written": [written_json(place, survey.other_indices.get(place.key)) for place in survey.written],
        **written,
    }
    return Answer(fields, reports.announcing(show))
