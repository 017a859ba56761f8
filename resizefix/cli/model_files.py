"""The models that words of the command line name: files, folders with all below them, and patterns; and where the
result of each goes below --output-dir."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from resizefix.cli.streams import PipedModel
from resizefix.errors import UsageError

_ENDING = ".onnx"


class ModelFile(NamedTuple):
    """A model, and its path below the folder for results: subfolders of a folder are kept."""

    path: str
    place: str


def names_several(word: str | None) -> bool:
    """Whether a word is a folder, or a pattern and no file."""
    return word is not None and not isinstance(word, PipedModel) and (os.path.isdir(word) or _is_pattern(word))


def is_about_many(params: Mapping[str, Any]) -> bool:
    """Whether what was typed names more than one model, or a way to name more."""
    more = params.get("more") or params.get("jsonl") or params.get("output_dir") is not None
    return bool(more) or names_several(params["model"])


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
