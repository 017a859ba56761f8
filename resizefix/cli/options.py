"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from resizefix.cli.envelope import Answer, Call, OutputMode, run_command
from resizefix.cli.progress import progress_line
from resizefix.diagnostics import Diagnostic
from resizefix.process import DEFAULT_TIMEOUT
from resizefix.version import __version__

F = TypeVar("F", bound=Callable[..., Any])


# Options that few calls need: `--help` names them, `--help-all` explains them.
_RARELY_NEEDED = frozenset(
    (
        "output_dir",
        "jobs",
        "opset",
        "denominator",
        "min_shapes",
        "opt_shapes",
        "max_shapes",
        "copy_unchanged",
        "save_as_external_data",
        "timeout",
        "memory_limit",
        "shape",
        "seed",
        "custom_op_library",
        "runtime_python",
    )
)
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
        made = with_output_mode(click.command(name, cls=cls, epilog=f"Example: {example}")(function))
        if any(param.name in _RARELY_NEEDED for param in made.params):
            made = _help_all(made)
        return click.version_option(__version__, prog_name="resizefix")(made)

    return decorate


def _help_all(made: click.Command) -> click.Command:
    def explain(context: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            context.meta[_EXPLAIN_ALL] = True
            click.echo(context.get_help())
            context.exit()

    decorate = click.option(
        "--help-all",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=explain,
        help="Explain every option and exit.",
    )
    return decorate(made)


class ShapeOption(click.ParamType):  # type: ignore[type-arg]
    """`NAME:1,3,224,224` or `NAME:[1,3,224,224]`, as Polygraphy and trtexec users write shapes."""

    name = "NAME:D,D,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        """The input's name and its sizes."""
        if isinstance(value, tuple):
            return value
        name, separator, sizes = str(value).rpartition(":")
        try:
            dims = tuple(int(size) for size in sizes.strip("[] ").replace("x", ",").split(",") if size.strip())
        except ValueError:
            dims = (-1,)
        if not separator or not name or any(size < 0 for size in dims):
            self.fail(Diagnostic("cli.no-shape", value=repr(value), example="input:1,3,224,224"), param, ctx)
        return name, dims


class SizeOption(click.ParamType):  # type: ignore[type-arg]
    """A size of memory: `2G`, `512M`, or bytes."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        if found is None or float(found[1]) == 0:
            self.fail(Diagnostic("cli.no-memory-size", value=repr(value)), param, ctx)
        return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


class TargetOption(click.ParamType):  # type: ignore[type-arg]
    """The name of a target, as the catalogue reads it; the value is the name of the row that covers it."""

    name = "TARGET"

    def __init__(self, only: Sequence[str] = ()) -> None:
        self._only = only

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name of the row, or `list`."""
        from resizefix.errors import UsageError
        from resizefix.targets.catalogue import target_named

        if value == "list":
            return "list"
        try:
            name = target_named(value).name
        except UsageError as error:
            self.fail(str(error), param, ctx)
        if self._only and name not in self._only:
            self.fail(Diagnostic("cli.no-such-target", value=repr(value), known=", ".join(self._only)), param, ctx)
        return name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The targets of the catalogue."""
        from resizefix.targets.catalogue import TARGETS

        names = self._only or [target.name for target in TARGETS]
        return [CompletionItem(name) for name in (*names, "list") if name.startswith(incomplete.lower())]


class NodeOption(click.ParamType):  # type: ignore[type-arg]
    """A glob on the names of nodes, or `#K`; the shell completes the names of the model that was typed before."""

    name = "PATTERN"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The labels of the model's sites; none where the model cannot be read."""
        from resizefix.document.document import Document
        from resizefix.errors import ResizefixError
        from resizefix.operations.sites import find_sites

        # The option lacks its value yet, and there click leaves the arguments unread.
        model = ctx.params.get("model") or next(iter(ctx.args), "")
        try:
            sites = find_sites(Document.open(str(model)))
        except ResizefixError:
            return []
        return [CompletionItem(site.label) for site in sites if site.label.startswith(incomplete)]


class NumbersOption(click.ParamType):  # type: ignore[type-arg]
    """`S` or `H,W`: numbers above zero with commas between."""

    name = "S[,S…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """The numbers."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(number) for number in str(value).split(","))
        except ValueError:
            numbers = ()
        if not numbers or not all(0 < number < float("inf") for number in numbers):
            self.fail(Diagnostic("cli.no-scale", value=repr(value)), param, ctx)
        return numbers


def with_output_mode(made: click.Command) -> click.Command:
    """--json, --quiet, --verbose: every command has them, behind its own."""
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document to stdout."),
        click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
        click.option("-v", "--verbose", is_flag=True, help="Print details."),
    ):
        decorate(made)
    return made


def bounds(function: F) -> F:
    """What a command may take; `process.bound` holds it to that."""
    for decorate in (
        click.option(
            "--memory-limit",
            type=SizeOption(),
            help="Memory that the tensors of a run may take, such as 4G.  [default: half of the free memory]",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help=f"Stop after this time; nothing is written.  [default: {DEFAULT_TIMEOUT:g}]",
        ),
    ):
        function = decorate(function)
    return function


def running(function: F) -> F:
    """How verification runs the model."""
    for decorate in (
        click.option(
            "--custom-op-library",
            multiple=True,
            metavar="PATH",
            help="Load this library of custom operators into onnxruntime (repeatable).",
        ),
        click.option(
            "--seed",
            type=int,
            default=0,
            show_default=True,
            metavar="NUMBER",
            help="Seed of the random values that inputs are fed.",
        ),
        click.option(
            "--shape",
            type=ShapeOption(),
            multiple=True,
            help="Run the model with an input of this shape, NAME:1,3,224,224 (repeatable).",
        ),
    ):
        function = decorate(function)
    return bounds(function)


def run_options(options: dict[str, Any]) -> dict[str, Any]:
    """What `running` added, as the library calls name it."""
    return {
        "shape": dict(options["shape"]),
        "seed": options["seed"],
        "custom_op_library": options["custom_op_library"],
        "timeout": options["timeout"],
        "memory_limit": options["memory_limit"],
        "progress": progress_line(),
    }


def shared_options(options: dict[str, Any]) -> dict[str, Any]:
    """What `running` and `writing` added, as the library calls name it."""
    return {"node": options["node"], "verify": not options["no_verify"], **run_options(options)}


def rewrite_options(options: dict[str, Any]) -> dict[str, Any]:
    """What `rewriting` added, as the library calls name it."""
    return {name: options[name] for name in ("allow_inexact", "lower")}


def writing(function: F) -> F:
    """Where the result goes, and which nodes are meant."""
    for decorate in (
        click.option(
            "--save-as-external-data", is_flag=True, help="Put large tensors into a file OUT.data beside OUT."
        ),
        click.option("--copy-unchanged", is_flag=True, help="If nothing needs to change, copy IN to OUT."),
        click.option("--no-verify", is_flag=True, help="Write the result without running the models."),
        click.option(
            "-n",
            "--node",
            multiple=True,
            type=NodeOption(),
            help="Only these nodes: a glob on the name, or #K (repeatable).",
        ),
        click.option("--dry-run", is_flag=True, help="Show each node before and after; write nothing."),
        click.option("--in-place", is_flag=True, help="Replace the input file."),
        click.option("--force", is_flag=True, help="Replace OUT if it exists."),
        click.option("-o", "--output", "output_option", metavar="OUT", help="Another way to name OUT."),
    ):
        function = decorate(function)
    return function


def rewriting(function: F) -> F:
    """What a rewrite may do."""
    for decorate in (
        click.option(
            "--lower/--no-lower",
            default=True,
            show_default=True,
            help="Replace a node by other operators where needed.",
        ),
        click.option(
            "--allow-inexact", is_flag=True, help="Allow approximate rewrites; the measured difference is reported."
        ),
    ):
        function = decorate(function)
    return function


def opset_option(function: F) -> F:
    """`--opset N`: the model is raised first."""
    text = "Raise the model to opset N first, operator by operator."
    return click.option("--opset", type=int, metavar="N", help=text)(function)


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

    return click.option(*names, type=TargetOption(only), help=help, is_eager=True, callback=listing, **more)
