"""`--html FILE` and `--markdown [FILE]`: reports to keep, in addition to what a command prints."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from resizefix.cli.envelope import output_mode
from resizefix.cli.model_files import require_free
from resizefix.cli.streams import shown
from resizefix.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from resizefix.operations.diff import Change
    from resizefix.verification.verification import Verification

_STDOUT = "-"
_MOST_IN_A_COMMENT = 65536  # characters that GitHub takes in a pull request or a comment


class ReportFiles(NamedTuple):
    """Where reports go; None: not wanted."""

    html: str | None
    markdown: str | None
    force: bool

    @property
    def on_stdout(self) -> bool:
        """Whether the Markdown takes the place of what a person would read."""
        return self.markdown == _STDOUT

    def require_free(self, models: Sequence[str]) -> None:
        """Raises UsageError for a file that exists (without --force), is one of the models, or is named twice."""
        files = self._files()
        if self.html == _STDOUT:
            raise UsageError("cli.html-needs-file")
        if len(files) == 2 and os.path.realpath(files[0]) == os.path.realpath(files[1]):
            raise UsageError("cli.reports-collide", files=files[0])
        for path in files:
            require_free(path, models, force=self.force, instead=Diagnostic("cli.name-another-report"))

    def write(self, html: Callable[[], str], markdown: Callable[[], str]) -> dict[str, str | None]:
        """Write what is wanted, all files or none, and print what goes to stdout.

        Returns the fields for `--json`: the files, and `markdown_text` in place of what would be printed.
        """
        fields: dict[str, str | None] = {"html": self.html, "markdown": None if self.on_stdout else self.markdown}
        if self.html is None and self.markdown is None:
            return fields
        from resizefix.document.atomic_write import AtomicWrite

        text = "" if self.markdown is None else markdown()
        with AtomicWrite() as files:
            for path, content in ((self.html, html), (fields["markdown"], lambda: text)):
                if path is not None:
                    files.stage(Path(path), [content().encode()], overwrite=self.force)
            files.commit()
        if self.on_stdout and output_mode().as_json:
            fields["markdown_text"] = text
        elif self.on_stdout:
            click.echo(text, nl=False)
        if len(text) > _MOST_IN_A_COMMENT and not output_mode().quiet:
            click.echo(Diagnostic("cli.markdown-too-long", characters=len(text), most=_MOST_IN_A_COMMENT), err=True)
        return fields

    def announce(self) -> None:
        """Say which files were written, to a person."""
        if not output_mode().quiet:
            for path in self._files():
                click.echo(f"wrote {click.format_filename(path)}", err=self.on_stdout)

    def announcing(self, show: Callable[[], None] | None) -> Callable[[], None]:
        """Shows an answer to a person, unless the Markdown stands in its place, and says which files were written."""

        def both() -> None:
            if show is not None and not self.on_stdout:
                show()
            self.announce()

        return both

    def _files(self) -> list[str]:
        return [path for path in (self.html, self.markdown) if path is not None and path != _STDOUT]


def pages(
    html: str, markdown: str, arguments: Callable[[], Sequence[Any]]
) -> tuple[Callable[[], str], Callable[[], str]]:
    """What makes the page and the Markdown: functions of reports by module and name, imported when one is wanted."""

    def making(name: str) -> Callable[[], str]:
        module, _, function = name.partition(".")
        return lambda: getattr(importlib.import_module(f"resizefix.reports.{module}"), function)(*arguments())

    return making(html), making(markdown)


def pages_of_two(
    before: str,
    after: str,
    *,
    verification: Verification | None = None,
    changes: Sequence[Change] | None = None,
    meaning_only: bool = False,
) -> tuple[Callable[[], str], Callable[[], str]]:
    """What makes the page and the Markdown of two models, with what came of running both."""

    def compared() -> tuple[Any, ...]:
        from resizefix.document.document import Document
        from resizefix.reports.comparison import compare

        models = Document.open(before), Document.open(after)
        return shown(before), shown(after), compare(*models, changes, meaning_only=meaning_only), verification

    return pages("html.diff_page", "markdown.diff_markdown", compared)


def report_files_of(options: dict[str, Any], *models: str) -> ReportFiles:
    """The options for reports as one value. Raises UsageError where a report cannot go there, as `require_free`."""
    reports = ReportFiles(options["html"], options["markdown"], options["force"])
    reports.require_free(models)
    return reports
