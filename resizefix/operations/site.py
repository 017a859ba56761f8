"""One Upsample/Resize node as the operations see it: what stands in the file, and what that means where it is valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import Dialect
from resizefix.dialects.read import SiteReading, read
from resizefix.document.edits import remove_attribute, set_input
from resizefix.document.scopes import Scope
from resizefix.document.text import node_text
from resizefix.document.values import Dims
from resizefix.interpolation import Extent, ExtentKind, Interpolation
from resizefix.origins.classify import Origin
from resizefix.printable import InNotebook, summary
from resizefix.promotion import Coupling, Freedom
from resizefix.scope_path import Key

if TYPE_CHECKING:
    from resizefix.document.edits import Replacement
    from resizefix.outcome import Outcome, Status
    from resizefix.shapes.partners import Partner


@dataclass(frozen=True, eq=False, repr=False)
class Site(InNotebook):
    """One resize node. `output` with the scope's path identifies it; names of nodes may be empty or double.

    A node that is valid in its dialect is a `ReadSite`; of another only this is known, and `reason` says what is wrong.
    """

    index: int
    label: str  # the node's name, or "#index" where it has none
    op_type: str
    since_version: int
    scope: Scope
    node: NodeProto
    extent: Extent
    origin: Origin
    input_dims: Dims | None
    output_dims: Dims | None
    elem_type: int | None
    reason: str | None  # why it cannot be promoted; None: it can
    warning: str | None  # what may go wrong with the node as it is
    # Whether its scales can change alone; None where that was not asked.
    coupling: Coupling | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        mode = "not valid" if self.interpolation is None else self.interpolation.mode.value
        values = "not constant" if self.extent.values is None else list(self.extent.values)
        return summary(
            "Site",
            f"#{self.index} {self.node.name}",
            f"{self.op_type}-{self.since_version}, {mode}, {self.extent.kind.value} {values}",
            f"{self.input} → {self.output}",
            f"from {self.origin.kind.value} {self.origin.name or ''}",
            self.reason or ("coupled" if self.coupled else "promotable"),
        )

    @cached_property
    def input(self) -> str:
        """The name of the tensor that is resized."""
        return self.node.input[0] if self.node.input else ""

    @cached_property
    def output(self) -> str:
        """The name of the tensor that it makes."""
        return self.node.output[0] if self.node.output else ""

    @cached_property
    def key(self) -> Key:
        """Tells the site from all others, and finds it again in a copy of the document."""
        return self.scope.path, self.output

    @property
    def interpolation(self) -> Interpolation | None:
        """What it computes; None where the node is not valid in its dialect (`reason` says why)."""
        return None

    @property
    def promotable(self) -> bool:
        """Whether its scales can become a graph input, in at least one form."""
        return self.reason is None

    @property
    def coupled(self) -> bool:
        """Whether another scale of this node alone is known to break the model."""
        return self.coupling is not None and self.coupling.verdict is Freedom.COUPLED

    @property
    def read(self) -> ReadSite:
        """The site as a valid node. Raises RefusedError where it is none."""
        raise RefusedError(self.reason or Diagnostic("operations.not-readable"), rule="dialect")

    def outcome(self, status: Status, reason: str | None, *, before: str = "", **more: Any) -> Outcome:
        """The outcome of the site. `before` is its node as text, printed here by default; `more`: other fields."""
        from resizefix.outcome import Outcome  # of a command that changes sites

        return Outcome(self.index, self.label, status, reason, before or node_text(self.node), **more)

    def replaced(self, form: Replacement, also: str | None = None) -> Outcome:
        """The outcome where `form` takes its place: how, why, how near that comes, when, and `also`."""
        from resizefix.outcome import Status  # as above

        error = form.error
        within = Diagnostic("operations.within", bound=f"{error.bound:.2g}") if error.known_bound else ""
        near = ", ".join(part for part in (*error.conditions, within) if part)
        parts = (form.description or form.how, form.why, near, error.note, also)
        return self.outcome(
            Status.CHANGED,
            "; ".join(part for part in parts if part),
            after=tuple(node_text(node) for node in form.nodes),
            exact=error.exact,
            condition=", ".join(error.conditions) or None,
            bound=error.known_bound,
            drift=error.drift,
        )

    def refused(self, error: RefusedError) -> Outcome:
        """The outcome where the error says why not, and the options with which it can be."""
        from resizefix.outcome import Status  # as above

        return self.outcome(Status.REFUSED, error.diagnostic, retry_args=error.retry_args)

    @property
    def values(self) -> tuple[float, ...] | tuple[int, ...]:
        """The values of the extent. Raises RefusedError where the file does not fix them."""
        if self.extent.values is None:
            if self.reason is not None and self.origin.kind.is_constant:  # of another type than ONNX wants there
                raise RefusedError(self.reason, rule="extent")
            raise RefusedError("operations.extent-not-constant", value=self.extent.kind.value, rule="extent")
        return self.extent.values


@dataclass(frozen=True, eq=False, repr=False)
class ReadSite(Site):
    """A node that is valid in its dialect: what it computes is known, and which input says how large its output is."""

    dialect: Dialect
    reading: SiteReading
    slot: int | None
    """The position of the input that says how large the output is; None: an attribute does."""

    def like(self, **differing: Any) -> ReadSite:
        """Another node, which differs in these fields. `dataclasses.replace` takes five times as long, and models have
        thousands."""
        alike: ReadSite = object.__new__(type(self))
        vars(alike).update(vars(self), **differing)
        for worked_out in ("key", "input", "output"):
            vars(alike).pop(worked_out, None)
        return alike

    @property
    def interpolation(self) -> Interpolation:
        """What it computes."""
        return self.reading.interpolation

    @property
    def read(self) -> ReadSite:
        """The site itself."""
        return self

    @property
    def operand(self) -> tuple[int, str]:
        """The input that says how large the output is: position and name. Raises RefusedError for an attribute."""
        if self.slot is None:
            raise RefusedError("operations.extent-is-attribute", value=self.extent.kind.value, rule="extent")
        return self.slot, self.node.input[self.slot]


class PartnerSizes(NamedTuple):
    """The sizes of its partner, for a site: which axes of how many take them, and whether it then samples what it
    did."""

    site: ReadSite
    partner: Partner
    axes: tuple[int, ...]
    rank: int
    exact: bool


def read_instead(
    site: ReadSite, node: NodeProto, kind: ExtentKind, operand: str, empty_scales: Callable[[], str]
) -> None:
    """Let the site's node read `operand` as its scales or sizes; `empty_scales` makes what Resize-11 wants next to
    sizes."""
    dialect = site.dialect
    scales_input = dialect.slot(ExtentKind.SCALES)
    if kind is ExtentKind.SCALES:
        if dialect.sizes_input is not None:
            set_input(node, dialect.sizes_input, "")
        set_input(node, scales_input, operand)
    else:
        scales_are_optional = dialect.inputs[scales_input].optional
        if site.extent.kind is ExtentKind.SCALES:
            set_input(node, scales_input, "" if scales_are_optional else empty_scales())
        set_input(node, dialect.slot(ExtentKind.SIZES), operand)
    after = read(node, dialect).interpolation
    if after.keep_aspect_ratio_policy is not None and site.interpolation.keep_aspect_ratio_policy is None:
        remove_attribute(node, "keep_aspect_ratio_policy")  # next to scales it said nothing
        after = read(node, dialect).interpolation
    if after != site.interpolation:
        raise AssertionError(f"{site.label}: another operand changed its meaning to {after}")
