"""The command line: parse, call one operation, render, exit code. One file per command; each is imported when it is
called."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import click

from resizefix.addresses import address
from resizefix.cli.envelope import Invocation, emit_error, emit_usage_error, why_unforeseen
from resizefix.cli.streams import Streams
from resizefix.diagnostics import Diagnostic, for_command_line
from resizefix.process import INTERRUPTED, AskedToEnd, end, fork_and_wait, note
from resizefix.version import __version__


class _Row(NamedTuple):
    """A command: its name, which is that of its module; the group of `--help` that it stands in; one line of help."""

    name: str
    group: str
    help: str


_LOOK, _FIX, _CHANGE, _COMPARE = "Look", "Fix", "Change on purpose", "Compare"
# In the order of the help, each group in one piece.
_ROWS = (
    _Row("inspect", _LOOK, "Show every Upsample/Resize, where its scales come from, and what can be done with it."),
    _Row("check", _LOOK, "Say whether a target accepts the resizes, rule by rule."),
    _Row("explain", _LOOK, "Say what a runtime's error message means, and which command helps."),
    _Row("target", _LOOK, "Begin a file that describes a target of your own."),
    _Row("promote-scales", _FIX, "Turn constant scales into graph inputs."),
    _Row("repair", _FIX, "Fix resizes that a converter broke or left fragile."),
    _Row("trt-legacy", _FIX, "Write the form that TensorRT 5 to 7 reads: Upsample-7, opset 8."),
    _Row("legalize", _FIX, "Rewrite resizes so that a target accepts them."),
    _Row("set", _CHANGE, "Change the interpolation, and measure the difference."),
    _Row("input-size", _CHANGE, "Give a static model another input resolution, or any."),
    _Row("opset", _CHANGE, "Bring a model into another opset, up or down, exactly."),
    _Row("freeze-scales", _CHANGE, "Turn scales that are fed or computed into constants."),
    _Row("verify", _COMPARE, "Run two models in onnxruntime and compare them."),
    _Row("diff", _COMPARE, "Show what changed between two models, and that nothing else did."),
)
_COMMANDS = tuple(row.name for row in _ROWS)


# New objects between two searches for garbage that goes in circles. A command leaves next to none, and with Python's
# usual 700 the searches are a tenth of the time that it takes to start.
_MORE_THAN_IMPORTS_MAKE = 200_000


class _Commands(click.Group):
    """A group that imports a command's module, and the heavy packages behind it, only when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"resizefix.cli.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, _COMMANDS))  # so that all groups have one width
        for title, rows in groupby(_ROWS, lambda row: row.group):
            with formatter.section(title):
                formatter.write_dl([(row.name.ljust(longest), row.help) for row in rows])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        documentation, issues = address("Documentation"), address("Issues")
        formatter.write_paragraph()
        if documentation is None or issues is None:
            formatter.write_text(Diagnostic("cli.read-more"))
        else:
            formatter.write_text(Diagnostic("cli.read-more-at", documentation=documentation, issues=issues))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="resizefix")
def group() -> None:
    """Repairs the Upsample/Resize operators of ONNX files that somebody else exported.

    `resizefix MODEL` is short for `resizefix inspect MODEL`.

    Example: resizefix promote-scales x3.onnx any.onnx
    """


@for_command_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 the answer is no, 2 unusable arguments or input, 130 interrupted.

    As a program, without `arguments`, the command works in a process of its own wherever one can be forked, and this
    one waits for it.
    """
    invocation = Invocation(_with_command(tuple(sys.argv[1:] if arguments is None else arguments)))
    if arguments is None:
        # numpy's linear algebra, which nothing here calls, starts a thread on each core: a quarter of a short command.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(_MORE_THAN_IMPORTS_MAKE)
    atexit.register(gc.freeze)  # no search for garbage in a process that ends: a tenth of the time of a short command
    # Only a command's name is followed by a model: an option first asks for the help or the version.
    names_command = bool(invocation.typed) and not invocation.typed[0].startswith("-")
    ended = fork_and_wait() if arguments is None and names_command else None
    if ended is not None and ended.why is None:
        sys.exit(ended.code)
    streams = Streams()
    code = _run(invocation) if ended is None else emit_error(invocation, ended.why or "", ended.code)
    note(answered=code)
    if invocation.as_json:
        invocation.print_document()
    # Files are spoken of where they are opened; what is left is that nothing can be printed, on a full disk say.
    unprinted = streams.why_not_printed()
    if unprinted is not None:
        why = Diagnostic("cli.not-printed", why=unprinted.strerror or unprinted)
        click.echo(f"resizefix: {why}", err=True)
        code = code if invocation.wrote else 2
        note(answered=code)
    end(code)


def _with_command(typed: tuple[str, ...]) -> tuple[str, ...]:
    """A model alone is inspected: a first word that is no command, and is a file or written like one, or `-`."""
    if typed and typed[0] == "-":
        return ("inspect", *typed)
    if not typed or typed[0].startswith("-") or typed[0] in _COMMANDS:
        return typed
    like_a_file = typed[0].endswith(".onnx") or os.path.basename(typed[0]) != typed[0]
    return ("inspect", *typed) if like_a_file or os.path.isfile(typed[0]) else typed


def _run(invocation: Invocation) -> int:
    try:
        with contextlib.redirect_stdout(sys.stderr) if invocation.as_json else contextlib.nullcontext():
            words = list(invocation.typed)
            code: int = group.main(words, prog_name="resizefix", standalone_mode=False, obj=invocation) or 0
        invocation.stop(code, None)
    except click.ClickException as error:
        code = emit_usage_error(error, invocation, list(_COMMANDS))
    except AskedToEnd:
        sys.exit(130)  # the process that watches has the words for it
    except (click.Abort, KeyboardInterrupt):
        code = emit_error(invocation, INTERRUPTED, 130)
    except (ImportError, OSError, MemoryError) as error:  # a command's modules could not be loaded
        code = emit_error(invocation, Diagnostic("cli.ended", why=why_unforeseen(error)), 2)
    return code
