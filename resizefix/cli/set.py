"""`resizefix set IN OUT KEY=VALUE…`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, answering
from resizefix.cli.option_types import FILE_FEED
from resizefix.cli.options import Subcommand, fed_once, inline_option, opset_option, own_options, writing
from resizefix.cli.piped_model import ModelArgument, shown
from resizefix.cli.report_files import ReportFiles
from resizefix.cli.written import More, calling, why_not_all, writes, written
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError

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
        if not files and not ctx.resilient_parsing:
            raise click.MissingParameter(ctx=ctx, param=next(p for p in self.params if p.name == "model"))
        several = ctx.params["output_dir"] is not None
        ctx.params["model"] = ModelArgument().convert(files[0], None, ctx) if files else None
        ctx.params["out"] = files[1] if len(files) > 1 and not several else None
        ctx.params["more"] = tuple(files[1:] if several else files[2:])
        ctx.params["settings"] = settings
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """What is typed, settings included."""
        return [*super().collect_usage_pieces(ctx), "KEY=VALUE..."]


@writes(
    "set",
    example="resizefix set x3.onnx nearest.onnx mode=nearest coordinates=asymmetric nearest_mode=floor",
    cls=_WithSettings,
    model=click.argument("model", metavar="IN", type=click.Path()),
)
@opset_option
@inline_option
@click.option(
    "--feed",
    type=FILE_FEED,
    multiple=True,
    help="Also measure on a picture or a .npy file; INPUT=V,… feeds numbers (repeatable).",
)
@click.option("--html", metavar="FILE", help="Write a page with pictures: before, after and their difference.")
@writing
@answering
def command(model: str, **options: Any) -> Answer:
    """Change the interpolation of IN's Upsample/Resize nodes on purpose, measure what it changes, and write OUT.

    Keys: mode (nearest, linear, cubic), coordinates, nearest_mode, cubic_coeff_a, antialias, exclude_outside, and
    form (scales, sizes, axes, or other operators: gather, matmul, conv-transpose, …). Values are those of the ONNX
    specification. A change that keeps what a node computes is verified bit for bit, or within a stated bound.
    For any other change, the difference at the node and at the outputs is measured.
    """
    settings, feed = _once(options["settings"]), fed_once(options["feed"])
    page = ReportFiles(options["html"], None, options["force"])
    page.require_free([model])
    out = options["out"] or options["output_option"]
    if page.html is not None and out is not None and os.path.realpath(page.html) == os.path.realpath(out):
        raise UsageError("cli.html-is-out", path=out)
    made: list[Result] = []

    def make() -> Result:
        from resizefix.operations.settings import settings_of

        settings_of(settings)  # a key that is no option of the call is an error before Python complains of it
        made.append(
            calling("set_interpolation", model, **settings, feed=feed, **own_options(options, "opset", "inline"))()
        )
        return made[-1]

    why_not = why_not_all(options, "changed", Diagnostic("cli.nothing-to-set"))
    without_page = More({"html": None}, lambda: None)
    answer = written(model, options, make, why_not, more=lambda *_: without_page)
    if page.html is None or answer.exit_code:
        return answer
    from resizefix.reports.set_page import set_page

    page.write(lambda: set_page(shown(model), answer.output, options["settings"], made[-1]), lambda: "")
    return replace(answer, fields={**answer.fields, "html": page.html}, show=page.beside(answer.show))


def _once(words: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE words as a mapping. Raises UsageError for a key that is given twice."""
    found: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in found:
            raise UsageError("operations.set-twice", key=key)
        found[key] = value
    return found
