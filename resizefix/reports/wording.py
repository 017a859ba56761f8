"""The words for one site that every report shares; all that comes from the file is made printable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from onnx import TensorProto

from resizefix.document.text import number_text
from resizefix.document.values import Dims
from resizefix.interpolation import Extent, Interpolation
from resizefix.operations.site import Site
from resizefix.origins.classify import Origin, OriginKind
from resizefix.printable import printable
from resizefix.shapes.stored_shapes import is_invented
from resizefix.words import joined

if TYPE_CHECKING:  # not every report has faults, outcomes, or live answers
    from resizefix.faults.fault import Fault
    from resizefix.outcome import Outcome
    from resizefix.runtimes.tensorrt import LiveVerdict
    from resizefix.targets.target import Target

T = TypeVar("T")
MARKS = {"accepted": "✓", "rejected": "✕", "different": "≠"}
"""The sign of a verdict, by its word."""
_ALL_NAMES = 5  # so that "and 1 more" is never said
_FEWEST_ALIKE = 4
_MOST_NAMES = 3  # of more than those
_MOST_OPERATORS = 6
_MOST_RUNS = 3  # of targets, in a summary
_DEFAULT_CUBIC_COEFF_A = -0.75


def operator(site: Site) -> str:
    """`Resize-11`."""
    return f"{site.op_type}-{site.since_version}"


def place(site: Site) -> str:
    """The node's name, and the bodies and functions that it stands in, innermost first."""
    return " in ".join([printable(site.label), *(printable(step) for step in reversed(site.scope.path.steps))])


def titled(site: Site) -> str:
    """The node by number and name: `#3 up in loop.body`."""
    return f"#{site.index} {place(site)}"


def meaning(interpolation: Interpolation | None) -> str:
    """`nearest asymmetric floor`, in the words of the specification; what is default there is left out."""
    if interpolation is None:
        return "not valid"
    parts = [interpolation.mode.value, interpolation.coordinate_transformation_mode.value]
    if interpolation.nearest_mode is not None:
        parts.append(interpolation.nearest_mode.value)
    if interpolation.cubic_coeff_a not in (None, _DEFAULT_CUBIC_COEFF_A):
        parts.append(f"cubic_coeff_a={interpolation.cubic_coeff_a:g}")
    parts.extend(flag for flag in ("antialias", "exclude_outside") if getattr(interpolation, flag))
    if interpolation.axes is not None:
        parts.append(f"axes={list(interpolation.axes)}")
    if interpolation.keep_aspect_ratio_policy is not None:
        parts.append(interpolation.keep_aspect_ratio_policy.value)
    return " ".join(parts)


def extent(site_extent: Extent) -> str:
    """`scales 1×1×2×2`; a question mark where the file does not fix them."""
    if site_extent.values is None:
        return f"{site_extent.kind.value} ?"
    return f"{site_extent.kind.value} {times(site_extent.values)}"


def origin(site_origin: Origin) -> str:
    """Where the scales come from, what a computed chain follows, and who else reads them."""
    kind = origin_kind(site_origin)
    text = kind if site_origin.name is None else f"{kind} {printable(site_origin.name)}"
    if site_origin.says is not None:
        text += f": {printable(site_origin.says)}"
    chain = [printable(operator) for operator in site_origin.chain if operator != "Constant"]
    if chain:
        dots = " ← …" if len(chain) > _MOST_OPERATORS else ""
        text += f" ({' ← '.join(chain[:_MOST_OPERATORS])}{dots})"
    if site_origin.shared_by:
        text += f"; also read by {some_of(site_origin.shared_by)}"
    return text


def origin_kind(site_origin: Origin) -> str:
    """`graph input`: the contract's word, as people write it."""
    return site_origin.kind.value.replace("-", " ")


def reason(outcome: Outcome) -> str:
    """Why a site became what it is; of a refused one, with the options that change it."""
    why = outcome.reason or ""
    if outcome.retry_args == ("--allow-coupled",):
        return f"{why}; with --allow-coupled it is promoted all the same, but runs at the old scale only"
    return f"{why}; it works with {joined(outcome.retry_args)}" if outcome.retry_args else why


def fault_text(fault: Fault) -> str:
    """What is wrong, and what `repair` makes of it, or why it does not."""
    if fault.is_optional:
        return f"{fault.because}; repair leaves it: {fault.fix}"
    does = "repair" if fault.change is not None else "not repairable"
    return f"{fault.because}; {does}: {fault.fix}"


class Standing(str, Enum):
    """What can be done with a site's scales, in the words of every report."""

    PROMOTABLE = "promotable"
    COUPLED = "coupled"
    FED = "fed by an input"
    FIXED = "not promotable"


def standing(site: Site) -> Standing:
    """A site that follows a graph input cannot be promoted, but for the best of reasons."""
    if site.promotable:
        return Standing.COUPLED if site.coupled else Standing.PROMOTABLE
    fed = site.origin.kind is OriginKind.GRAPH_INPUT and site.interpolation is not None
    return Standing.FED if fed else Standing.FIXED


def coupling(site: Site) -> str:
    """Why the scales of a coupled site cannot change alone, and what can be done instead."""
    return "; ".join(filter(None, (coupled_at(site), coupling_advice(site))))


def coupled_at(site: Site) -> str:
    """Why the scales of a coupled site cannot change alone."""
    assert site.coupling is not None
    site_coupling = site.coupling
    partner = "" if site_coupling.partner is None else f", where the size must equal that of {site_coupling.partner!r}"
    return f"another scale here alone breaks the model at {site_coupling.breaks_at!r}{partner}"


def coupling_advice(site: Site) -> str | None:
    """What can be done where the scales of a coupled site cannot change alone; None: not known."""
    assert site.coupling is not None
    if site.coupling.shared:
        return "use --shared: one input then scales all of them"
    return None if site.coupling.partner is None else "for another output size, use `resizefix input-size`"


def tensor(dims: Dims | None, elem_type: int | None) -> str:
    """`float 1×64×h×w`; sizes and type are left out where they are not known."""
    kind = "" if not elem_type else _elem_type_name(elem_type)
    if dims is None:
        return kind
    sizes = times(dims) if dims else "scalar"
    return f"{kind} {sizes}".strip()


def times(values: Sequence[float | int | str | None]) -> str:
    """Numbers and names of sizes with × between, as people write shapes and scales."""
    return "×".join(_size(value) for value in values)


def numbers(values: Sequence[object]) -> str:
    """Values of a constant with commas between; floats as short as float32 allows."""
    return ", ".join(number_text(value) if isinstance(value, float) else printable(str(value)) for value in values)


def some_of(names: Sequence[str]) -> str:
    """All names if they are few; else the first ones, and how many more there are."""
    if len(names) <= _ALL_NAMES:
        return ", ".join(map(printable, names))
    return f"{', '.join(map(printable, names[:_MOST_NAMES]))} and {len(names) - _MOST_NAMES} more"


def numbered(indices: Sequence[int]) -> str:
    """Sites by number, neighbours as a range: `#1 to #4, #7`."""
    runs = _in_runs(indices, lambda last, index: index == last + 1)
    parts = [f"#{run[0]} to #{run[-1]}" if len(run) > 2 else ", ".join(f"#{index}" for index in run) for run in runs]
    return ", ".join(parts)


def runs_of_targets(names: Sequence[str], among: Sequence[Target] = ()) -> list[str]:
    """Targets by name; three or more releases of a runtime that follow each other as `tensorrt-5.0 to tensorrt-7.0`.

    `among` these they are, in this order: by default among all.
    """
    return [word for run in _runs(names, among) for word in _of_run(run)]


def few_targets(names: Sequence[str]) -> list[str]:
    """As `runs_of_targets`, and where these are many, the first of them and the number of the others."""
    runs = _runs(names)
    if len(runs) <= _MOST_RUNS + 1:
        return runs_of_targets(names)
    words = [word for run in runs[:_MOST_RUNS] for word in _of_run(run)]
    return [*words, f"{sum(map(len, runs[_MOST_RUNS:]))} more"]


def _runs(names: Sequence[str], among: Sequence[Target] = ()) -> list[list[str]]:
    if not among:
        from resizefix.targets.catalogue import TARGETS as among  # with the rules of all runtimes

    order = [target.name for target in among]
    runtimes = {target.name: target.runtime for target in among}

    def follows(last: str, name: str) -> bool:
        return order.index(name) == order.index(last) + 1 and runtimes[name] == runtimes[last]

    return _in_runs(names, follows)


def _in_runs(items: Sequence[T], follows: Callable[[T, T], bool]) -> list[list[T]]:
    """The items, those together that follow each other."""
    runs: list[list[T]] = []
    for item in items:
        if runs and follows(runs[-1][-1], item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _of_run(run: Sequence[str]) -> list[str]:
    return [f"{run[0]} to {run[-1]}"] if len(run) > 2 else list(run)


def grouped(items: Sequence[T], looks: Callable[[T], Hashable]) -> list[list[T]]:
    """At least four items with the same looks are one group, at the place of the first; every other is its own."""
    groups: dict[Hashable, list[int]] = {}
    for number, item in enumerate(items):
        groups.setdefault(looks(item), []).append(number)
    parts = [
        part
        for group in groups.values()
        for part in ([group] if len(group) >= _FEWEST_ALIKE else [[number] for number in group])
    ]
    return [[items[number] for number in part] for part in sorted(parts)]


def is_named(size: float | int | str | None) -> bool:
    """Whether the file says this size, by a number or a name of its own."""
    return size is not None and not (isinstance(size, str) and is_invented(size))


def _size(value: float | int | str | None) -> str:
    if value is None or not is_named(value):
        return "?"
    if isinstance(value, str):
        return printable(value)
    return str(value) if isinstance(value, int) else number_text(value)


def _elem_type_name(elem_type: int) -> str:
    try:
        return str(TensorProto.DataType.Name(elem_type)).lower()
    except ValueError:
        return f"type {elem_type}"


def live_verdict(live: LiveVerdict) -> str:
    """What a real parser or runtime does with the model: `takes the model`."""
    if live.taken:
        whole = "computes the same in each resize alone" if live.unanswered else "runs the model and computes the same"
        return whole if live.nodes else "takes the model"
    from resizefix.runtimes.runtime import Ending

    if any(node.ending is Ending.RAN and not node.agrees for node in live.nodes):
        return "computes something else, without an error"
    return "refuses the model"


def is_the_same(meaning_only: bool) -> str:
    """What `diff` says of all that it does not list: of the meaning alone, or of everything."""
    return "means the same" if meaning_only else "is the same"


def are_the_same(meaning_only: bool) -> str:
    """What `diff` says of two models of which it lists nothing."""
    return "mean the same" if meaning_only else "are the same"
