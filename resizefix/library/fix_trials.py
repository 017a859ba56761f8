"""Whether onnxruntime runs a model: as the file is, at the sizes that a message says were fed, and at others.

What a model shows by itself, to complete what a message says: faults, a target's verdict, a run in onnxruntime.

What the commands that may help do to one model, and whether the cause of the message is gone with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from resizefix.diagnostics import Diagnostic, ResizefixError
from resizefix.document.document import Document
from resizefix.faults.names import REUSED, known_names
from resizefix.faults.table import faults_in
from resizefix.interop import Model, opened
from resizefix.interpolation import ExtentKind
from resizefix.library.advice import call_named
from resizefix.library.check import check
from resizefix.library.option_values import SIZE_OR_ANY
from resizefix.library.options import words_as_options
from resizefix.library.plans import Plans
from resizefix.library.repair import known_faults
from resizefix.messages.message import FED, FREEZE, LEGACY, Fix
from resizefix.messages.pasted_text import FedSizes
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.outcome import Status
from resizefix.runtimes.inputs import model_inputs
from resizefix.shapes.image_axes import ImageInput, image_inputs
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import target_named, targets_with
from resizefix.targets.target import taken
from resizefix.targets.tensorrt import LEGACY_TARGETS
from resizefix.verification.engine import Engine
from resizefix.verification.verification import Conditions, VerificationStatus, conditions

Shapes = Mapping[str, tuple[int, ...]]
# What an image is enlarged by, per axis: twice, and by odd numbers, which halvings do not divide.
_ENLARGED = ((2, 0, 2, 0), (1, 2, 1, 6), (1, 1, 1, 3))
_EXTENTS = re.compile(r"scale|size|factor", re.IGNORECASE)
_IMAGE_RANK = 4
SCALES_BATCH = "scales-batch-too"
_USUAL = 32  # of an axis that the file leaves open


def why_not_run(document: Document, shapes: Shapes | Conditions | None = None) -> str | None:
    """Why onnxruntime does not run the model with inputs of these shapes, or under these conditions; None: it runs."""
    try:
        Engine(shapes if isinstance(shapes, Conditions) else conditions(shape=shapes or {})).fit(document)
    except ResizefixError as error:
        return str(error)
    return None


def runs_at(document: Document, shapes: Shapes | None = None) -> bool:
    """Whether onnxruntime runs the model with inputs of these shapes."""
    return why_not_run(document, shapes) is None


def fed_images(document: Document) -> Sequence[ImageInput]:
    """The image inputs of a model; none where it has none."""
    try:
        return image_inputs(document.proto, ())
    except ResizefixError:
        return ()


def fed_shape(document: Document, fed: FedSizes) -> Shapes | None:
    """The shape that was fed to the input that the message names, or to the image; None: there is no such axis."""
    images = fed_images(document)
    image = next((one for one in images if one.name == fed.input), next(iter(images), None))
    if image is None or max(fed.axes, default=0) >= len(image.dims):
        return None
    return {image.name: tuple(fed.axes.get(axis, size or _USUAL) for axis, size in enumerate(image.dims))}


def other_shapes(document: Document) -> list[Shapes]:
    """Larger images than the file's, to run it with."""
    tried: list[Shapes] = []
    for times_high, added_high, times_wide, added_wide in _ENLARGED:
        shapes = {}
        for image in fed_images(document):
            dims = [size or (1 if axis == image.axes.get("batch") else _USUAL) for axis, size in enumerate(image.dims)]
            for name, times, added in (("height", times_high, added_high), ("width", times_wide, added_wide)):
                dims[image.axes[name]] = dims[image.axes[name]] * times + added
            shapes[image.name] = tuple(dims)
        tried += [shapes] if shapes else []
    return tried


@dataclass(frozen=True)
class ShownFault:
    """A fault of one resize, or of a name of a dimension, that `resizefix repair` knows; of `SCALES_BATCH`, `fix` is a
    word of `resizefix set`."""

    node: str
    fault: str
    because: str
    fix: str


@dataclass(frozen=True)
class Findings:
    """What the model shows.

    `sites` is how many resizes it has. `target` is that of the runtime that speaks; `accepted` whether it accepts the
    resizes, None without a target. `because` is the first reason against. `run_error` is why onnxruntime does not run
    the model, None where it does. `not_there` are the nodes that the message names and the model does not have.
    """

    sites: int
    faults: tuple[ShownFault, ...]
    target: str | None
    accepted: bool | None
    because: str | None
    run_error: str | None
    not_there: tuple[str, ...] = ()


def model_findings(model: Model, target: str | None, fed: FedSizes | None = None) -> Findings:
    """The faults of the model, what the target's rules say of it, and whether onnxruntime runs it; `fed` is what the
    message says.

    Raises UnreadableModelError for a model that cannot be read.
    """
    document = opened(model)
    view = ModelView(document)
    sites = sites_in(view)
    faults = tuple(
        ShownFault(site.label, fault.name, str(fault.because), str(fault.fix))
        for site, of_site in zip(sites, faults_in(view), strict=True)
        for fault in of_site
        if fault.change is not None or fault.stops_loading
    )
    faults += tuple(
        ShownFault(one.name, one.fault.name, str(one.fault.because), str(one.fault.fix))
        for one in known_names(document)
    )
    faults += tuple(filter(None, map(_scaled_batch, sites)))
    name, accepted, because = _judged(document, target)
    missing = () if fed is None else _not_there(view, fed.nodes)
    return Findings(len(sites), faults, name, accepted, because, why_not_run(document), missing)


def _not_there(view: ModelView, names: Sequence[str]) -> tuple[str, ...]:
    nodes = [node for scope in view.scopes.by_path.values() for node in scope.body.node]
    present = {name for node in nodes for name in (node.name, *node.output)}
    return tuple(name for name in names if name not in present)


def _scaled_batch(site: Site) -> ShownFault | None:
    """One number for every axis, batch and channels included: few models mean that."""
    values = site.extent.values if site.interpolation is not None else None
    if values is None or site.extent.kind is not ExtentKind.SCALES or len(values) < _IMAGE_RANK:
        return None
    if len(set(values)) > 1 or values[0] in (0, 1):
        return None
    because = Diagnostic("library.scales-batch-too", values=", ".join(f"{value:g}" for value in values))
    scales = ",".join(["1", "1", *(f"{value:g}" for value in values[2:])])
    return ShownFault(site.label, SCALES_BATCH, because, f"scales={scales}")


def _judged(document: Model, target: str | None) -> tuple[str | None, bool | None, str | None]:
    if target is None:
        return None, None, None
    try:
        verdict = check(document, target=target)
    except ResizefixError:
        return target, None, None
    broken = next(iter(verdict.violations), None)
    because = None if broken is None else f"{broken.node}: {broken.because}"
    return verdict.target.name, taken(verdict.violations) and verdict.accepted, because


@dataclass(frozen=True)
class FixTrial:
    """What one fix did: the options it was given, and the model that it made, None where it made none.

    `complete`: no node was refused. `retry_args` and `reason` are those of the first node that was.
    """

    words: tuple[str, ...]
    model: Any = None
    complete: bool = False
    retry_args: tuple[str, ...] = ()
    reason: str | None = None


@dataclass
class FixTrials:
    """What fixes do to one model, each tried once. `fed` is what the message says of the sizes that were fed."""

    model: Model
    fed: FedSizes
    _tried: dict[Fix, FixTrial] = field(default_factory=dict)
    _verdicts: dict[str, bool | None] = field(default_factory=dict)

    def trial(self, fix: Fix) -> FixTrial:
        """The options with which the fix changes every node, else those with which it changes some."""
        if fix not in self._tried:
            trials = list[FixTrial]()
            for words in self._options(fix):
                trials.append(run(fix, words, self.model))
                # A size is an example, and changes nothing of what is asked for; other options would.
                if trials[-1].retry_args[:1] == ("--size",):
                    trials.append(run(fix, (*words, *trials[-1].retry_args), self.model))
                if trials[-1].complete:
                    break
            working = [one for one in trials if one.model is not None]
            nothing = FixTrial(fix[1:])
            self._tried[fix] = next((one for one in working if one.complete), (working or trials or [nothing])[0])
        return self._tried[fix]

    def accepts(self, target: str | None) -> bool | None:
        """Whether the target accepts the model as it is; None where there is no target."""
        if target is None:
            return None
        if target not in self._verdicts:
            self._verdicts[target] = verdict(self.model, target)
        return self._verdicts[target]

    def breaks(self, runtime: str, rule: str) -> bool | None:
        """Whether the model breaks this rule in a release that has it; None where that cannot be said."""
        try:
            verdicts = [check(self.model, target=target) for target in targets_with(runtime, rule)]
        except ResizefixError:
            return None
        name = rule.partition(": ")[0]
        return any(one.rule == name for verdict in verdicts for one in verdict.violations)

    def cause_gone(self, fix: Fix, trial: FixTrial, target: str | None, *, at_other_sizes: bool) -> bool | None:
        """Whether the cause of the message is gone in what a fix made; None: nothing here can tell.

        The target's rules tell where they rejected the model; else a run at the sizes that were fed, at other sizes, or
        as the file is.
        """
        if not trial.complete:
            return False
        if target is not None and self.accepts(target) is False:
            return verdict(trial.model, target)
        if fix[0] in ("promote-scales", "freeze-scales") or target not in (None, "onnxruntime"):
            return None
        after = opened(trial.model)
        if self.fed.axes:
            fed = fed_shape(self.document, self.fed)
            return None if fed is None else runs_at(after, fed)
        if at_other_sizes:
            failing = [shapes for shapes in other_shapes(self.document) if not runs_at(self.document, shapes)]
            return all(runs_at(after, shapes) for shapes in failing) if failing else None
        return None if self.runs else runs_at(after)

    def needs_names(self, target: str | None) -> bool:
        """Whether the target is a TensorRT, whose builder refuses the model for names of dimensions whatever else is
        changed."""
        if target is None or target_named(target).runtime != "tensorrt":
            return False
        return any(fault.name == REUSED for _, fault in known_faults(self.document, by_runs=True))

    @cached_property
    def document(self) -> Document:
        """The model, opened."""
        return opened(self.model)

    @cached_property
    def runs(self) -> bool:
        """Whether onnxruntime runs the model as it is."""
        return runs_at(self.document)

    def _options(self, fix: Fix) -> Iterator[tuple[str, ...]]:
        """The options to try: those of the fix, for scales that are fed what to freeze them at, and for a size the one
        that was fed."""
        if FED in fix:
            words = fed_words(self.fed, self.document)
            if words is not None:
                yield (*words, *(word for word in fix[1:] if word != FED))
            return
        yield fix[1:]
        if fix == FREEZE:
            view = ModelView(self.document)
            sites = sites_in(view)
            plans = Plans(view, sites)
            settings = {site.index: setting for site in sites if (setting := plans.freezing(site))}
            given = dict.fromkeys(word for setting in settings.values() for word in setting[1::2])
            if given:
                flags = ("--all-uses",) if any("--all-uses" in setting for setting in settings.values()) else ()
                yield (*(word for setting in given for word in ("--set", setting)), *flags)
            yield from ((*setting, "-n", f"#{index}") for index, setting in settings.items())


def unfed(fed: FedSizes, document: Document) -> Diagnostic | None:
    """What to do about the inputs that were not fed; None: the message is of none."""
    if not fed.missing:
        return None
    inputs = {entry.name: entry.type_text for entry in model_inputs(document.proto)}
    others = [name for name in fed.missing if name not in inputs]
    if others:
        return Diagnostic("library.no-such-input", names=", ".join(others), inputs=", ".join(inputs))
    return Diagnostic("library.feed-them-too", inputs=", ".join(f"{name} ({inputs[name]})" for name in fed.missing))


def fed_vector(fed: FedSizes, document: Document | None = None) -> Diagnostic | None:
    """What to feed, where the message is of an input that holds scales or sizes; None: it is of another.

    Without a model its name tells.
    """
    if fed.input is None or fed.axes.keys() != {0}:
        return None
    if document is None:
        is_vector = _EXTENTS.search(fed.input) is not None
    else:
        shape = next((one.type.tensor_type.shape for one in document.proto.graph.input if one.name == fed.input), None)
        is_vector = shape is not None and len(shape.dim) == 1
    if not is_vector:
        return None
    return Diagnostic("library.fed-vector", input=fed.input, expected=fed.expected[0], got=fed.axes[0])


def fed_words(fed: FedSizes, document: Document | None = None) -> tuple[str, ...] | None:
    """The options of `input-size` for the sizes that were fed; None where no other size helps.

    Without a model an image of four axes is meant, its channels first unless the second and third axes differ alone.
    """
    if document is None:
        axes = (
            {"batch": 0, "height": 1, "width": 2}
            if fed.axes.keys() == {1, 2}
            else {"batch": 0, "height": 2, "width": 3}
        )
        old: dict[str, int | None] = {}
    else:
        shape = fed_shape(document, fed)
        image = None if shape is None else next((one for one in fed_images(document) if one.name in shape), None)
        if image is None:
            return None
        axes, old = dict(image.axes), {name: image.old(name) for name in image.axes}
    if not fed.axes or not fed.axes.keys() <= set(axes.values()):
        return None
    got = {name: fed.axes[axis] for name, axis in axes.items() if axis in fed.axes}
    if "batch" in got and not fed.is_batch(axes["batch"]):
        return None
    batch = ("--batch", str(got["batch"])) if "batch" in got else ()
    size = [got.get(name, old.get(name)) for name in ("height", "width")]
    if None not in size:
        return (f"{size[0]}x{size[1]}", *batch)
    return ("any", *batch) if {"height", "width"} & got.keys() else batch


def run(fix: Fix, words: tuple[str, ...], model: Model) -> FixTrial:
    """What the command makes of the model with these options."""
    try:
        result = call_named(fix[0])(model, on_refusal="return", **_options_of(fix[0], words))
    except ResizefixError as error:
        return FixTrial(words, reason=str(error))
    refused = next((one for one in result.outcomes if one.status is Status.REFUSED), None)
    # A new input size alone changes no node, and is verified.
    works = result.changed or result.verification.status in (VerificationStatus.PASSED, VerificationStatus.UNREFUTED)
    after = result.model if works else None
    if refused is None:
        return FixTrial(words, after, complete=works, reason=None if works else result.verification.reason)
    return FixTrial(words, after, False, refused.retry_args, f"{refused.node}: {refused.reason}")


def verdict(model: Model, target: str) -> bool | None:
    """Whether the target accepts the model by its rules; None where that cannot be said."""
    try:
        return check(model, target=target).accepted
    except ResizefixError:
        return None


def target_of(fix: Fix) -> str | None:
    """The target that a fix writes for."""
    if fix == LEGACY:
        return LEGACY_TARGETS[0].name
    return named_target(fix)


def named_target(fix: Fix) -> str | None:
    """The target that a fix names."""
    return fix[fix.index("--target") + 1] if "--target" in fix else None


def _options_of(command: str, words: Sequence[str]) -> dict[str, Any]:
    """Words of the command line as the options of the library's call: a size or settings, and options behind them."""
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    options = words_as_options(command, words[first:])
    for word in words[:first]:
        key, _, value = word.rpartition("=")
        options[key or "size"] = value if key else SIZE_OR_ANY.read(word) if SIZE_OR_ANY.read else None
    return options
