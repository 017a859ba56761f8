"""`resizefix promote-scales IN OUT`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.options import NumbersOption, manner, manner_of, running, writing
from resizefix.cli.target_file import target_file
from resizefix.errors import VerificationFailedError

if TYPE_CHECKING:
    from resizefix.library import Result


@click.command(
    "promote-scales", epilog="Example: resizefix promote-scales fixtures/srcnn_x3_opset11.onnx srcnn_dynamic.onnx"
)
@click.argument("model", metavar="IN")
@click.argument("out", required=False)
@click.option(
    "--form",
    type=click.Choice(["scales", "spatial", "factor", "sizes"]),
    default="scales",
    show_default=True,
    help="What the input holds: all scales, those of the scaled axes, one factor, or the output sizes.",
)
@click.option("--input-name", metavar="NAME", help="The new input's name.  [default: the node's name + _scales]")
@click.option("--shared", is_flag=True, help="One input drives all selected nodes.")
@click.option("--keep-default", is_flag=True, help="The old value stays as the input's default.")
@click.option("--at", type=NumbersOption(), multiple=True, help="Also verify at this scale (repeatable).")
@click.option("--allow-coupled", is_flag=True, help="Promote nodes whose scale cannot move alone, too.")
@writing
@running
@manner
@click.version_option(package_name="resizefix", prog_name="resizefix")
def command(model: str, as_json: bool, quiet: bool, verbose: bool, **options: Any) -> None:
    """Turn the constant scales of IN's Upsample/Resize nodes into graph inputs, prove it, and write OUT.

    Without -n, every node whose scale can move while the model still runs is promoted.
    """
    conduct("promote-scales", model, manner_of(as_json, quiet, verbose), lambda: _work(model, options, verbose=verbose))


def _work(model: str, options: dict[str, Any], *, verbose: bool) -> Answer:
    target = target_file(
        model,
        options["out"],
        options["output_option"],
        force=options["force"],
        in_place=options["in_place"],
        dry_run=options["dry_run"],
    )
    from resizefix.library import promote_scales
    from resizefix.reports.json import input_json, outcome_json, verification_json

    try:
        result = promote_scales(
            model,
            form=options["form"],
            input_name=options["input_name"],
            shared=options["shared"],
            keep_default=options["keep_default"],
            node=options["node"],
            allow_coupled=options["allow_coupled"],
            verify=not options["no_verify"],
            shape=dict(options["shape"]),
            at=options["at"],
            seed=options["seed"],
            custom_op_library=options["custom_op_library"],
        )
        failure = None
    except VerificationFailedError as error:
        result, failure = error.result, str(error)
    error_text = failure or _why_nothing(result, named=bool(options["node"]))

    def show() -> None:
        from resizefix.reports.text import show_promotion

        show_promotion(result.outcomes, result.inputs, result.verification, texts=verbose or options["dry_run"])

    fields = {
        "outcomes": [outcome_json(outcome) for outcome in result.outcomes],
        "inputs": [input_json(source) for source in result.inputs],
        "verification": verification_json(result.verification),
    }
    if error_text is None and target.path is not None:
        result.model.save(target.path, overwrite=target.overwrite, as_external_data=options["save_as_external_data"])
    output = target.path if error_text is None else None
    return Answer(fields, show, output, error_text, 0 if error_text is None else 1)


def _why_nothing(result: Result, *, named: bool) -> str | None:
    from resizefix.outcome import Status

    if not result.outcomes:
        return "there is no Upsample or Resize node in this model, so there is nothing to promote"
    if not result.changed:
        if all(outcome.status is Status.UNCHANGED for outcome in result.outcomes):
            return "there is nothing to do: the scales of every selected node are graph inputs already"
        return "no node was promoted; nothing was written. " + _first_reason(result)
    missed = [outcome.node for outcome in result.outcomes if outcome.status is not Status.CHANGED]
    if named and missed:
        return f"{', '.join(missed)} could not be promoted, though named with -n; nothing was written"
    return None


def _first_reason(result: Result) -> str:
    first = next(outcome for outcome in result.outcomes if outcome.reason is not None)
    return f"{first.node}: {first.reason}"
