"""Options that several commands share."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from resizefix.cli.envelope import Answer, Call, OutputMode, run_command
from resizefix.cli.option_types import MEMORY, PYTHON, SHAPE, SIZE, NodeType, TargetType
from resizefix.cli.progress import progress_line
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError
from resizefix.process import DEFAULT_TIMEOUT
from resizefix.version import __version__

F = TypeVar("F", bound=Callable[..., Any])


# Options that few calls need: `--help` names them, `--help-all` explains them.
_RARELY_NEEDED = frozenset({
    "output_dir", "jobs", "opset", "denominator", "min_shapes", "opt_shapes", "max_shapes", "copy_unchanged",
    "save_as_external_data", "timeout", "memory_limit", "shape", "seed", "custom_op_library", "runtime_python",
})  # fmt: skip
_EXPLAIN_ALL = "resizefix.explain_all_options"


class Subcommand(click.Command):
    """A command that takes no empty words (they come of a variable that is not set), and whose help fits a screen."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for one model, and one for several if their results go to a folder."""
        pieces = [piece for piece in self.collect_usage_pieces(ctx) if piece]
        formatter.write_usage(ctx.command_path, " ".join(pieces))
        if any(param.name == "output_dir" for param in self.params):
            several = {"IN": "IN...", "[OUT]": "--output-dir DIR"}
            words = " ".join(several.get(piece, piece) for piece in pieces)
            formatter.write_usage(ctx.command_path, words, prefix=" " * len("Usage: "))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options that most calls need with their texts, the others by name."""
        if ctx.meta.get(_EXPLAIN_ALL):
            super().format_options(ctx, formatter)
            return
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        often = [param for param in params if param.name not in _RARELY_NEEDED]
        with formatter.section("Options"):
            formatter.write_dl([row for row in (param.get_help_record(ctx) for param in often) if row], col_max=24)
        names = [param.opts[0] for param in params if param.name in _RARELY_NEEDED]
        if names:
            others = f"Also, explained by --help-all: {', '.join(names)}"
            formatter.write(f"\n{textwrap.fill(others, formatter.width, break_on_hyphens=False)}\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises BadParameter for an empty value, whatever its type would make of it."""
        rest = super().parse_args(ctx, args)
        for param in self.params:
            value = ctx.params.get(str(param.name))
            if "" in (value if isinstance(value, tuple) else (value,)):
                why = Diagnostic("cli.empty-argument" if param.required else "cli.empty-option")
                raise click.BadParameter(why, ctx=ctx, param=param)
        return rest


def subcommand(
    name: str, *, example: str, cls: type[Subcommand] = Subcommand
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command of the program, with what every command has: --json, --quiet, --verbose, --version, an example."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        made = click.command(name, cls=cls, epilog=f"Example: {example}")(function)
        explained = any(param.name in _RARELY_NEEDED for param in made.params)
        for add in (*_OUTPUT_MODE, *([_HELP_ALL] if explained else [])):
            add(made)
        return click.version_option(__version__, prog_name="resizefix")(made)

    return decorate


def _explain_all(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        context.meta[_EXPLAIN_ALL] = True
        click.echo(context.get_help())
        context.exit()


_HELP_ALL = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_explain_all,
    help="Explain every option and exit.",
)
_OUTPUT_MODE = (
    click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document to stdout."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
    click.option("-v", "--verbose", is_flag=True, help="Print details."),
)


def together(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator; in the help they stand in this order."""

    def decorate(function: F) -> F:
        for one in reversed(decorators):
            function = one(function)
        return function

    return decorate


def number_option(name: str, kind: Any, default: float, text: str, unit: str = "NUMBER") -> Callable[[F], F]:
    """An option for one number; the help shows the default."""
    return click.option(name, type=kind, default=default, show_default=True, metavar=unit, help=text)


bounds = together(
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Stop after this time; nothing is written.  [default: {DEFAULT_TIMEOUT:g}]",
    ),
    click.option(
        "--memory-limit",
        type=MEMORY,
        help="Memory that the tensors of a run may take, such as 4G.  [default: half of the free memory]",
    ),
)
"""What a command may take; `process.bound` holds it to that."""

running = together(
    bounds,
    click.option(
        "--shape",
        type=SHAPE,
        multiple=True,
        help="Run the model with an input of this shape, NAME:1,3,224,224 (repeatable).",
    ),
    number_option("--seed", int, 0, "Seed of the random values that inputs are fed."),
    click.option(
        "--custom-op-library",
        multiple=True,
        metavar="PATH",
        help="Load this library of custom operators into onnxruntime (repeatable).",
    ),
)
"""How verification runs the model."""

writing = together(
    click.option("-o", "--output", "output_option", metavar="OUT", help="Another way to name OUT."),
    click.option("--force", is_flag=True, help="Replace OUT if it exists."),
    click.option("--in-place", is_flag=True, help="Replace the input file."),
    click.option("--dry-run", is_flag=True, help="Show each node before and after; write nothing."),
    click.option(
        "-n", "--node", multiple=True, type=NodeType(), help="Only these nodes: a glob on the name, or #K (repeatable)."
    ),
    click.option("--no-verify", is_flag=True, help="Write the result without running the models."),
    click.option("--copy-unchanged", is_flag=True, help="If nothing needs to change, copy IN to OUT."),
    click.option("--save-as-external-data", is_flag=True, help="Put large tensors into a file OUT.data beside OUT."),
    running,
)
"""Where the result goes, which nodes are meant, and how it is verified."""

rewriting = together(
    click.option(
        "--allow-inexact", is_flag=True, help="Allow approximate rewrites; the measured difference is reported."
    ),
    click.option(
        "--lower/--no-lower", default=True, show_default=True, help="Replace a node by other operators where needed."
    ),
)
"""What a rewrite may do."""

opset_option = click.option(
    "--opset", type=int, metavar="N", help="Raise the model to opset N first, operator by operator."
)
inline_option = click.option("--inline", is_flag=True, help="First inline the local functions, which is verified.")
size_option = click.option(
    "--size",
    type=SIZE,
    metavar="HxW",
    help="First set the open height and width of the image inputs to HxW, such as 720x1280.",
)
runtime_python = click.option(
    "--runtime-python",
    type=PYTHON,
    multiple=True,
    help="The Python that has a runtime, such as opencv-4=/path/to/bin/python (repeatable).",
)


def run_options(options: dict[str, Any]) -> dict[str, Any]:
    """What `running` added, as the library calls name it."""
    names = ("seed", "custom_op_library", "timeout", "memory_limit")
    return {"shape": dict(options["shape"]), **{name: options[name] for name in names}, "progress": progress_line()}


def shared_options(options: dict[str, Any]) -> dict[str, Any]:
    """What `writing` added, as the library calls name it."""
    return {"node": options["node"], "verify": not options["no_verify"], **run_options(options)}


def own_options(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Options that a command shares with the library's call, and what `writing` added."""
    return {**{name: options[name] for name in names}, **shared_options(options)}


def fed_once(feeds: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Values by input. Raises UsageError for an input that is fed twice."""
    found: dict[str, Any] = {}
    for name, value in feeds:
        if name in found:
            raise UsageError("interop.feed-twice", name=name or value)
        found[name] = value
    return found


def target_option(*names: str, help: str, only: Sequence[str] = (), **more: Any) -> Callable[[F], F]:
    """`--target`; its value `list` prints every target that the command takes (`only`: those), and leaves."""

    def listing(context: click.Context, _: click.Parameter, value: Any) -> Any:
        if "list" not in (value if isinstance(value, tuple) else (value,)):
            return value
        from resizefix.reports.text import show_targets
        from resizefix.targets.catalogue import covered

        found = {name: text for name, text in covered().items() if not only or name in only}
        fields = {"targets": {name: {"covers": text} for name, text in found.items()}}
        as_json = context.ensure_object(Call).as_json
        mode = OutputMode(as_json, quiet=False, verbose=False)
        return run_command("", lambda: Answer(fields, lambda: show_targets(found)), mode)

    return click.option(*names, type=TargetType(only), help=help, is_eager=True, callback=listing, **more)
