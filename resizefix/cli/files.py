"""The files of a command. The models that words of the command line name: files, folders with all below them, and
patterns, and where the result of each goes below --output-dir. Where a command writes: OUT, -o OUT, --in-place or
nowhere (--dry-run), checked before any work is done; and the reports to keep besides, `--html FILE` and
`--markdown [FILE]`.

A model that is given is replaced only where `--in-place` was typed, whatever path leads to it; its data files never.
"""

from __future__ import annotations

import glob
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from resizefix.cli.envelope import output_mode
from resizefix.cli.streams import DASH, PipedModel, is_stream, shown
from resizefix.diagnostics import Diagnostic, UnreadableModelError, UsageError
from resizefix.library.options import OUT_ENDINGS

if TYPE_CHECKING:
    from resizefix.operations.diff import Change
    from resizefix.verification.verification import Verification

_ENDING = ".onnx"
_MOST_IN_A_COMMENT = 65536  # characters that GitHub takes in a pull request or a comment


class ModelFile(NamedTuple):
    """A model, and its path below the folder for results: subfolders of a folder are kept."""

    path: str
    place: str


def names_several(word: str | None) -> bool:
    """Whether a word is a folder, or a pattern and no file."""
    return word is not None and not isinstance(word, PipedModel) and (os.path.isdir(word) or _is_pattern(word))


def is_about_many(params: Mapping[str, Any]) -> bool:
    """Whether what was typed names more than one model, or a way to name more."""
    others = params.get("more") or params.get("jsonl") or params.get("output_dir") is not None
    return bool(others) or names_several(params["model"])


def models_of(words: Sequence[str], output_dir: str | None) -> list[ModelFile]:
    """The models of all words, in the order of the words; those of one folder or pattern sorted by name.

    Files in `output_dir` are results, and left out where a folder or a pattern leads to them. Raises UsageError for a
    folder or a pattern without a model, and for a folder that cannot be read or is `output_dir`.
    """
    models: list[ModelFile] = []
    for word in words:
        if isinstance(word, PipedModel):
            models.append(ModelFile(word, os.path.basename(word)))
        elif os.path.isdir(word):
            models += _in_folder(word, output_dir)
        elif _is_pattern(word):
            models += _matching(word, output_dir)
        else:
            models.append(ModelFile(word, os.path.basename(word)))
    return models


def _is_pattern(word: str) -> bool:
    return glob.has_magic(word) and not os.path.lexists(word)


def _in_folder(folder: str, output_dir: str | None) -> list[ModelFile]:
    if output_dir is not None and _is_same_folder(folder, output_dir):
        raise UsageError("cli.output-dir-is-folder", folder=folder)
    names = sorted(_below(folder, output_dir), key=lambda name: name.split(os.sep))
    if not names:
        raise UsageError("cli.folder-without-models", folder=folder)
    return [ModelFile(os.path.join(folder, name), name) for name in names]


def _below(folder: str, output_dir: str | None) -> Iterator[str]:
    """The models in a folder and below it, by their paths from there. Links to folders are followed, each folder is
    read once; hidden ones are left out."""
    seen = {_identity(folder)}

    def unreadable(error: OSError) -> NoReturn:
        raise UsageError("cli.folder-unreadable", folder=error.filename, why=error.strerror or error) from error

    for parent, folders, files in os.walk(folder, onerror=unreadable, followlinks=True):
        below = []
        for name in sorted(folders):
            path = os.path.join(parent, name)
            identity = None if name.startswith(".") else _identity(path)
            if identity in (None, *seen) or (output_dir is not None and _is_same_folder(path, output_dir)):
                continue
            seen.add(identity)
            below.append(name)
        folders[:] = below
        for name in files:
            if name.lower().endswith(_ENDING) and not name.startswith("."):
                yield os.path.relpath(os.path.join(parent, name), folder)


def _matching(pattern: str, output_dir: str | None) -> list[ModelFile]:
    """The files that match, with the subfolders below the last folder that the pattern names without a wildcard."""
    base = os.path.dirname(pattern)
    while glob.has_magic(base):
        base = os.path.dirname(base)
    paths = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    models = [ModelFile(path, os.path.relpath(path, base or ".")) for path in paths if not _is_in(path, output_dir)]
    if not models:
        raise UsageError("cli.pattern-without-models", pattern=pattern)
    return models


def _is_in(path: str, folder: str | None) -> bool:
    return folder is not None and os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def _is_same_folder(one: str, other: str) -> bool:
    return os.path.exists(other) and os.path.samefile(one, other)


def _identity(folder: str) -> tuple[int, int] | None:
    """What tells one folder from another; None for one that is gone."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class TargetFile(NamedTuple):
    """`path` is None for a dry run, `-` for stdout; `overwrite` if an existing file may be replaced."""

    path: str | None
    overwrite: bool


def default_out(command: str, model: str, options: Mapping[str, Any]) -> str:
    """OUT where none is given: IN's name with the ending of the command, or stdout for a model on stdin."""
    if isinstance(model, PipedModel):
        return DASH
    return os.path.splitext(model)[0] + OUT_ENDINGS[command].format_map(options)


def target_file_of(model: str, options: Mapping[str, Any], *, default: str) -> TargetFile:
    """What the options of commands that write say; `default` is OUT where none is given.

    Raises UsageError for contradicting options, for an OUT that is the model or exists without --force, and
    for --in-place where the file has hard links: they would go on leading to the old model.
    """
    out, option, in_place = options["out"], options["output_option"], options["in_place"]
    if out is not None and option is not None and out != option:
        raise UsageError("cli.out-twice", out=out, option=option)
    path = out if out is not None else option
    if in_place and path is not None:
        raise UsageError("cli.in-place-and-out", model=shown(model), path=path)
    if options["dry_run"]:
        return TargetFile(None, overwrite=False)
    if in_place and isinstance(model, PipedModel):
        raise UsageError("cli.stdin-in-place")
    if in_place:
        links = os.stat(model).st_nlink - 1 if os.path.isfile(model) else 0
        if links:
            raise UsageError("cli.in-place-of-links", model=model, names=f"{links} other name{'s' * (links > 1)}")
        return TargetFile(model, overwrite=True)
    path = path if path is not None else default
    if path == DASH:
        return TargetFile(DASH, overwrite=False)
    if os.path.lexists(path) and not isinstance(model, PipedModel) and not os.path.lexists(model):
        raise UsageError("cli.no-in-but-out", path=model, out=path)  # they may have been swapped
    instead = Diagnostic("cli.name-another-out")
    require_free(path, (model,), force=options["force"], instead=instead)
    return TargetFile(path, overwrite=options["force"])


def require_free(path: str, models: Sequence[str], *, force: bool, instead: str | None = None) -> None:
    """Raises UsageError for a folder, for one of the models or a file with their data, and for a file that exists
    unless `force`; `instead` is what to do where it is one of the models."""
    if os.path.isdir(path):
        raise UsageError("cli.out-is-folder", path=path)
    require_apart((path,), models, instead=instead or Diagnostic("cli.name-another-file"))
    if os.path.lexists(path) and not force:
        raise UsageError("cli.out-exists", path=path, retry_args=("--force",))


def require_apart(paths: Sequence[str], models: Sequence[str], *, instead: str, data: bool = True) -> None:
    """Raises UsageError where writing one of `paths` would replace one of the models, or (`data`) a file with their
    data.

    Files are compared, not names: a link, another path to the folder or another case may lead to the same file.
    """
    existing = _identities(paths)
    if not existing:
        return
    if any(isinstance(model, PipedModel) for model in models):
        for path in existing.values():
            if is_stream(sys.stdin, path):
                raise UsageError("cli.stdin-is-out", path=path)
    files = _identities(model for model in models if os.path.isfile(model))
    for identity, model in files.items():
        if identity in existing:
            path = existing[identity]
            named = "" if path == model else f" ({model})"
            raise UsageError("cli.out-is-in", path=path, named=named, instead=instead)
    if not data:
        return
    from resizefix.document.document import Document

    for model in files.values():
        with suppress(UnreadableModelError):  # which the command itself reports
            document = Document.open(model)
            for path in existing.values() if document.data_files() else ():
                document.require_apart(path)


def _identities(paths: Iterable[str]) -> dict[tuple[int, int], str]:
    """The files among the paths, each once, by what tells one file from another on this system."""
    files: dict[tuple[int, int], str] = {}
    for path in paths:
        with suppress(OSError, ValueError):
            status = os.stat(path)
            files.setdefault((status.st_dev, status.st_ino), path)
    return files


# ---- reports ----


class ReportFiles(NamedTuple):
    """Where reports go; None: not wanted."""

    html: str | None
    markdown: str | None
    force: bool

    @property
    def on_stdout(self) -> bool:
        """Whether the Markdown takes the place of what a person would read."""
        return self.markdown == DASH

    def require_free(self, models: Sequence[str]) -> None:
        """Raises UsageError for a file that exists (without --force), is one of the models, or is named twice."""
        files = self._files()
        if self.html == DASH:
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
        return [path for path in (self.html, self.markdown) if path is not None and path != DASH]


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
