"""How click reads the values of options: by their kinds, with names that the shell completes."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from resizefix.diagnostics import Diagnostic
from resizefix.errors import ResizefixError, UsageError
from resizefix.library import option_values as kinds
from resizefix.library.option_values import Kind
from resizefix.near_words import nearest, proposal


def param_type(kind: Kind) -> Any:
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

    def __init__(self, kind: Kind) -> None:
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

    def __init__(self, kind: Kind) -> None:
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

    def __init__(self, kind: Kind = kinds.TARGET) -> None:
        self._only = kind.choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name that was asked for, of a release between two rows too; the file; or `list`."""
        from resizefix.targets.catalogue import target_named

        if value == "list":
            return "list"
        try:
            target = target_named(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        if self._only and target.name not in self._only:
            self.fail(Diagnostic("cli.no-such-target", value=repr(value), known=", ".join(self._only)), param, ctx)
        return target.file or str(value).strip().lower()

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The targets of the catalogue."""
        from resizefix.targets.catalogue import TARGETS

        names = self._only or [target.name for target in TARGETS]
        return [CompletionItem(name) for name in (*names, "list") if name.startswith(incomplete.lower())]


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
