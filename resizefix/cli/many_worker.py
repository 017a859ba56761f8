"""The process that works on one of several models: reads a command's parameters on stdin, prints its JSON document."""

from __future__ import annotations

import importlib
import pickle
import sys

import click

from resizefix.cli.envelope import Call
from resizefix.process import be_watched


def main() -> None:
    """Run the one command and exit with its code."""
    be_watched()
    module, name, params = pickle.load(sys.stdin.buffer)
    command: click.Command = importlib.import_module(module).command
    call = Call()
    with click.Context(command, info_name=name, obj=call) as context:
        context.params = params
        assert command.callback is not None
        try:
            command.callback(**params)
        except click.exceptions.Exit as exit_:
            call.print_document()
            sys.exit(exit_.exit_code)


if __name__ == "__main__":
    main()
