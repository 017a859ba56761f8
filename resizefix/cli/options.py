"""Commands made of the rows of `library.options`: what click reads, what `--help` says, and what a command gets.

How click reads the values of options: by their kinds, with names that the shell completes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from resizefix.cli.envelope import Answer, Invocation, OutputMode, Reply, report
from resizefix.cli.files import is_about_many
from resizefix.cli.streams import ModelArgument
from resizefix.diagnostics import Diagnostic, ResizefixError, UsageError
from resizefix.library import option_values as kinds
from resizefix.library.option_values import OptionKind
from resizefix.library.options import Option, options_of
from resizefix.version import __version__
from resizefix.words import nearest, proposal

_EXPLAIN_ALL = "resizefix.explain_all_options"


class Subcommand(click.Command):
    """A command with the options of its rows, which takes no empty words (they come of a variable that is not set), and
    whose help fits a screen."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.rows = options_of(str(self.name))
        self.params += [_click_option(row) for row in self.rows if row.spellings]
        rare = [_HELP_ALL] if any(row.rare for row in self.rows) else []
        for add in (*_OUTPUT_MODE, *rare, click.version_option(__version__, prog_name="resizefix")):
            add(self)

    def invoke(self, ctx: click.Context) -> None:
        """Answer for one model, or for each of several; leaves through `click.exceptions.Exit`."""
        if any(row.name == "jobs" for row in self.rows) and is_about_many(ctx.params):
            from resizefix.cli.many import answer_each

            answer_each(ctx)
        values = self.values(ctx.params)
        model = values.get("model", values.get("before"))
        assert self.callback is not None
        with Reply(ctx, model or "", values) as reply:
            reply.answer = self.callback(**values)

    def values(self, params: dict[str, Any]) -> dict[str, Any]:
        """What was typed, by the names of the rows."""
        values = dict(params)
        for row in self.rows:
            if row.turns_off:
                values[row.name] = not values.pop(_param_name(row))
            elif row.gather is not None and row.spellings:
                values[row.name] = row.gather(values[row.name])
        return values

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for one model, and one for several if their results go to a folder."""
        pieces = [piece for piece in self.collect_usage_pieces(ctx) if piece]
        formatter.write_usage(ctx.command_path, " ".join(pieces))
        if any(row.name == "output_dir" for row in self.rows):
            several = {"IN": "IN...", "[OUT]": "--output-dir DIR"}
            words = " ".join(several.get(piece, piece) for piece in pieces)
            formatter.write_usage(ctx.command_path, words, prefix=" " * len("Usage: "))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options that most calls need with their texts, the others by name."""
        if ctx.meta.get(_EXPLAIN_ALL):
            super().format_options(ctx, formatter)
            return
        rare = {row.name for row in self.rows if row.rare}
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        often = [param for param in params if param.name not in rare]
        with formatter.section("Options"):
            formatter.write_dl([row for row in (param.get_help_record(ctx) for param in often) if row], col_max=24)
        names = [param.opts[0] for param in params if param.name in rare]
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
    name: str, *arguments: click.Argument, example: str, cls: type[Subcommand] = Subcommand
) -> Callable[[Callable[..., Answer]], click.Command]:
    """Makes a command of a function that takes these arguments and the options of the command's rows."""
    return click.command(name, cls=cls, params=[*arguments], epilog=f"Example: {example}")


def model_argument(name: str = "model", **settings: Any) -> click.Argument:
    """A command's argument that names a model to read."""
    return click.Argument([name], type=ModelArgument(), **settings)


def more_models() -> click.Argument:
    """The argument that lets a command that reads take further models."""
    return click.Argument(["more"], nargs=-1, metavar="[MODEL]...", type=ModelArgument())


def _param_name(row: Option) -> str:
    return f"no_{row.name}" if row.turns_off else row.name


def _click_option(row: Option) -> click.Option:
    """The row as click reads it."""
    names = (*row.spellings, _param_name(row))
    if row.kind is kinds.FLAG:
        has_both = "/" in row.spellings[0]
        default = row.default if has_both else False
        return click.Option(names, is_flag=True, default=default, show_default=has_both, help=row.help)
    settings: dict[str, Any] = {"type": param_type(row.kind), "metavar": row.kind.metavar, "help": row.help}
    if row.kind in (kinds.TARGET, kinds.LEGACY_TARGET):
        settings |= {"is_eager": True, "callback": _list_targets}
    if row.gather is not None:
        settings["multiple"] = True
    elif row.default is not None:
        settings |= {"default": row.default, "show_default": True}
    if row.alone is not None:
        settings |= {"is_flag": False, "flag_value": row.alone}
    return click.Option(names, **settings)


def _list_targets(context: click.Context, param: click.Parameter, value: Any) -> Any:
    """The value of --target; `list` prints every target that the command takes, and leaves."""
    typed = value if isinstance(value, tuple) else (value,)
    if "list" not in typed:
        return value
    from resizefix.reports.text import show_targets
    from resizefix.targets.catalogue import covered, target_named

    row = next(row for row in options_of(str(context.command.name)) if row.name == param.name)
    names = {name: text for name, text in covered().items() if not row.kind.choices or name in row.kind.choices}
    judged = {name: target_named(name).name for name in typed if name not in ("list", *names)}
    fields: dict[str, Any] = {"targets": {name: {"covers": text} for name, text in names.items()}}
    if judged:
        fields["judged_as"] = judged
    mode = OutputMode(context.ensure_object(Invocation).as_json, quiet=False, verbose=False)
    return report(context, "", Answer(fields, lambda: show_targets(names, judged)), mode, None)


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


def param_type(kind: OptionKind) -> Any:
    """The type that reads values of this kind; None for any text."""
    if kind in (kinds.TARGET, kinds.LEGACY_TARGET):
        return TargetType(kind)
    if kind is kinds.PATTERN:
        return NodeType()
    if kind.read is not None:
        return TypedValue(kind)
    if kind.choices:
        return Word(kind)
    if kind.number is float:
        return click.FloatRange(min=kind.least, min_open=kind.above)
    if kind.number is int:
        return int if kind.least is None else click.IntRange(min=int(kind.least))
    return None


class TypedValue(click.ParamType):  # type: ignore[type-arg]
    """A text that the kind reads.

    A value that is no text is there already: click converts the default, too.
    """

    def __init__(self, kind: OptionKind) -> None:
        self.name = str(kind.metavar)
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What was typed as the command uses it."""
        if not isinstance(value, str) or self._kind.read is None:
            return value
        try:
            return self._kind.read(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        except ValueError:
            code, arguments = self._kind.refusal
            why = Diagnostic(code, value=repr(value), **arguments)
            near = nearest(value, self._kind.choices)
            self.fail(why if near is None else Diagnostic("cli.near-value", near=near, why=why), param, ctx)


class Word(click.Choice):  # type: ignore[type-arg]
    """One of the words of the kind; for another, the nearest is proposed."""

    def __init__(self, kind: OptionKind) -> None:
        super().__init__(kind.choices)
        self._words = kind.choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word that was typed."""
        if value not in self._words:
            words = {"proposal": proposal([nearest(value, self._words)]), "known": ", ".join(self._words)}
            self.fail(Diagnostic("cli.no-such-word", value=repr(value), **words), param, ctx)
        return super().convert(value, param, ctx)


class TargetType(click.ParamType):  # type: ignore[type-arg]
    """The name of a target, as the catalogue reads it, or its file; the value is that in lower case, or `list`."""

    name = "TARGET"

    def __init__(self, kind: OptionKind = kinds.TARGET) -> None:
        self._names = kind.choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name that was asked for, of a release between two rows too; the file; or `list`."""
        name = str(value).strip().lower()
        if name in ("list", *self._names):
            return name
        from resizefix.targets.catalogue import target_named

        try:
            target = target_named(value)
        except UsageError as error:
            if error.rule != "target":  # but what its file says
                raise click.UsageError(str(error), ctx) from error
            self.fail(str(error), param, ctx)
        if self._names is not kinds.TARGETS and target.name not in self._names:
            self.fail(Diagnostic("cli.no-such-target", value=repr(value), known=", ".join(self._names)), param, ctx)
        return target.file or name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names of the targets."""
        return [CompletionItem(name) for name in (*self._names, "list") if name.startswith(incomplete.lower())]


class NodeType(click.ParamType):  # type: ignore[type-arg]
    """A glob on the names of nodes, or `#K`; the shell completes the names of the model that was typed before."""

    name = "PATTERN"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The labels of the model's sites; none where the model cannot be read."""
        from resizefix.document.document import Document
        from resizefix.operations.sites import find_sites

        # The option lacks its value yet, and there click leaves the arguments unread.
        model = ctx.params.get("model") or next(iter(ctx.args), "")
        try:
            sites = find_sites(Document.open(str(model)))
        except ResizefixError:
            return []
        return [CompletionItem(site.label) for site in sites if site.label.startswith(incomplete)]
