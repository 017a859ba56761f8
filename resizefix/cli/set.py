"""`resizefix set IN [OUT] KEY=VALUE…`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer
from resizefix.cli.files import ReportFiles, default_out
from resizefix.cli.options import Subcommand
from resizefix.cli.streams import ModelArgument, shown
from resizefix.cli.write_result import why_not_changed, write_result, writing_command
from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.outcome import ModelOutcome

if TYPE_CHECKING:
    from resizefix.library.result import Result

_SETTING = re.compile(r"\w+=")


class _WithSettings(Subcommand):
    """Words KEY=VALUE may stand among the files; a file of such a name is written ./KEY=VALUE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tells settings from files."""
        rest = super().parse_args(ctx, args)
        words = [ctx.params["model"], ctx.params["out"], *ctx.params["more"]]
        given = [word for word in words if word is not None]
        settings = tuple(word for word in given if _SETTING.match(word))
        files = [word for word in given if not _SETTING.match(word)]
        if settings and not ctx.resilient_parsing:
            _require_settings(settings, ctx)
        if not files and not ctx.resilient_parsing:
            raise click.MissingParameter(ctx=ctx, param=next(p for p in self.params if p.name == "model"))
        if not settings and not ctx.resilient_parsing:
            _require_settings((), ctx)
        several = ctx.params["output_dir"] is not None
        ctx.params["model"] = ModelArgument().convert(files[0], None, ctx) if files else None
        ctx.params["out"] = files[1] if len(files) > 1 and not several else None
        ctx.params["more"] = tuple(files[1:] if several else files[2:])
        ctx.params["settings"] = settings
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """What is typed, settings included."""
        return [*super().collect_usage_pieces(ctx), "KEY=VALUE..."]


@writing_command(
    "set",
    example="resizefix set x3.onnx nearest.onnx mode=nearest coordinates=asymmetric nearest_mode=floor",
    cls=_WithSettings,
    model=click.Argument(["model"], metavar="IN", type=click.Path()),
)
def command(model: str, **options: Any) -> Answer:
    """Change the interpolation of IN's Upsample/Resize nodes on purpose, measure what it changes, and write OUT.

    Keys: mode (nearest, linear, cubic), coordinates, nearest_mode, cubic_coeff_a, extrapolation_value, antialias,
    exclude_outside, and form (scales, sizes, axes, or other operators: gather, matmul, conv-transpose, …). In a call
    of their own: scale=2, scales=1,1,2,2, sizes=1,3,720,1280, or sizes=partner, the size of the tensor that the result
    meets at run time.
    A change that keeps what a node computes is verified; of any other, the difference is measured.
    """
    page = ReportFiles(options["html"], None, options["force"])
    page.require_free([model])
    out = options["out"] or options["output_option"] or default_out("set", model, options)
    if page.html is not None and os.path.realpath(page.html) == os.path.realpath(out):
        raise UsageError("cli.html-is-out", path=out)
    settings = _once(options["settings"])
    results: list[Result] = []

    def extra(result: Result, path: str | None, is_changed: bool) -> Answer:
        results.append(result)
        return Answer({"html": None})

    why_not = why_not_changed(options, "changed", Diagnostic("cli.nothing-to-set"))
    answer = write_result(model, {**options, "settings": settings}, why_not, extra=extra)
    if page.html is None or answer.outcome is not ModelOutcome.CHANGED:
        return answer
    from resizefix.reports.html import set_page

    page.write(lambda: set_page(shown(model), answer.output, options["settings"], results[-1]), lambda: "")
    return replace(answer, fields={**answer.fields, "html": page.html}, show=page.announcing(answer.show))


def _require_settings(words: Sequence[str], ctx: click.Context) -> None:
    """Raises click's UsageError where nothing is set, and for a key or a value that there is not: before anything is
    said of files, and before Python complains of a keyword that the call does not have."""
    from resizefix.operations.settings import READERS, settings_of

    try:
        if not words:
            raise UsageError("operations.set-nothing", known=", ".join(READERS))
        settings_of(_once(words))
    except UsageError as error:
        raise click.UsageError(str(error), ctx) from error


def _once(words: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE words as a mapping. Raises UsageError for a key that is given twice."""
    settings: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in settings:
            raise UsageError("operations.set-twice", key=key)
        settings[key] = value
    return settings
