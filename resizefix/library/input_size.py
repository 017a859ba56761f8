"""`resizefix.input_size`: another size of the input, or any; the constants that follow it are found and rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from onnx import ModelProto, ValueInfoProto

from resizefix.diagnostics import Diagnostic, code_of
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.edits import rename_symbols
from resizefix.document.scopes import node_label
from resizefix.document.text import node_text
from resizefix.document.values import Dims, dims_of
from resizefix.errors import UsageError
from resizefix.library import seam
from resizefix.library.bounded import operation
from resizefix.library.result import NOT_VERIFIED, Resolution, Result, failed, skipped
from resizefix.operations.input_size.dynamic import made_dynamic
from resizefix.operations.input_size.fixed import Resized, closed, resized
from resizefix.origins.input_sizes.declared import declared_size
from resizefix.origins.input_sizes.following import Following, Numbers, follow, trial_sizes
from resizefix.origins.input_sizes.input_axes import ImageInput, asked_shapes, image_inputs, images_beside
from resizefix.origins.input_sizes.questions import proposal, questions
from resizefix.origins.input_sizes.refusal import Assumed, Choices, SizeRefusedError
from resizefix.outcome import Outcome
from resizefix.outcome import Status as Happened
from resizefix.scope_path import MAIN
from resizefix.verification.conditions import ChangeOptions, Conditions, Unpack, conditions
from resizefix.verification.plan import Plan
from resizefix.verification.touched_nodes import Step
from resizefix.verification.verification import Status, Verification

ANY = "any"
SAME_SIZE = Diagnostic("library.input-size-same")
_SHOWN = 8
_SIDES = ("depth", "height", "width")
_MOST_GROWTH = 4  # times the pixels of the old input: what a verification runs at


@operation
def input_size(
    document: Document,
    *,
    size: tuple[int, ...] | int | str | None = ANY,
    batch: int | str | None = None,
    input: Sequence[str] = (),
    keep: Sequence[str] = (),
    follow_input: Sequence[str] = (),
    read: Sequence[tuple[str, str]] = (),
    assume: str = "usual",
    was: tuple[int, int] | None = None,
    keep_overridable: bool = False,
    interpolate_positions: bool = False,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Give the model's image inputs another height and width, or let them be "any"; the batch likewise.

    Every constant that follows the input's size is found and written anew, or computed when the model runs. Such are
    shapes of Reshape, sizes of Resize, kernels of global pools and grids of positions. Where weights depend on the
    size, nothing is changed and the outcome names the node and the reason. Where the file admits several readings, the
    result's `resolution.choices` has all of them; `keep` and `follow_input` (patterns on names of nodes) and `read`
    (pairs of a pattern and a reading) choose. `resolution.assumed` has each use of a convention; `assume`: "none"
    switches these off. `interpolate_positions`: learned tables of positions are interpolated, as ViT and DINO do; those
    outcomes are not exact. `size`: depth, height and
    width, height and width, or a length; None: the batch alone changes. `input` names the inputs, where not all images
    of one size are meant. Raises UsageError for options that do not fit, VerificationFailedError where the
    verification fails.
    """
    size = (size,) if isinstance(size, int) else size
    asked = _asked(size, batch)
    resolution = Resolution(size, batch)
    choices = Choices(keep, follow_input, interpolate_positions, read, assume != "none", keep_overridable)
    _require_nodes(document, choices)
    old = {} if was is None else dict(zip(("height", "width"), was, strict=True))
    work = _Work(document, input, choices, asked, old)
    return _done(work, resolution, conditions(**run) if verify else None)


def _done(work: _Work, resolution: Resolution, rules: Conditions | None) -> Result[Document]:
    """Make the model, and verify it where there are rules for that."""
    document = work.before
    try:
        work.make()
    except SizeRefusedError as error:
        if error.readings:
            return _asking(work, error, resolution)
        return work.refused(work.with_offer(error), resolution)
    if work.document is document:
        return Result(document, (), (), Verification(Status.SKIPPED, SAME_SIZE), resolution=resolution)
    resolution = replace(
        resolution,
        inferred=tuple(work.inferred),
        assumed=tuple(work.assumed),
        rule=work.rule,
        approximate=tuple(work.approximate),
        shapes=_changed_shapes(document, work.document),
    )
    if rules is None:
        return Result(work.document, work.outcomes, (), NOT_VERIFIED, resolution=resolution)
    try:
        verification = work.proof(rules)
    except SizeRefusedError as error:
        again = work.with_batch_behind(error)
        return work.refused(error, resolution) if again is None else _done(again, resolution, rules)
    if verification.status is Status.FAILED:
        raise failed(Result(document, work.outcomes, (), verification, resolution=resolution))
    outcomes = work.outcomes
    largest = max((run.max_abs_diff for run in verification.runs if not run.optimized), default=0.0)
    if not all(outcome.exact for outcome in outcomes) and resolution.size == ANY:
        outcomes = tuple(replace(outcome, max_abs_diff=largest) for outcome in outcomes)
    return Result(work.document, outcomes, (), verification, resolution=resolution)


def _asked(size: tuple[int, ...] | str | None, batch: int | str | None) -> dict[str, int | str]:
    """What each axis of an image shall be."""
    asked: dict[str, int | str] = {}
    if isinstance(size, tuple):
        asked |= dict(zip(_SIDES[-len(size) :], size, strict=True))
    elif size is not None:
        asked |= dict.fromkeys(_SIDES, ANY)
    if batch is not None:
        asked["batch"] = batch
    if not asked:
        raise UsageError("library.input-size-nothing-asked")
    return asked


def _asking(work: _Work, first: SizeRefusedError, resolution: Resolution) -> Result[Document]:
    """The refusal with all that is to be chosen, and the options of a proposal."""

    def make(choices: Choices) -> None:
        _Work(work.before, work.named, choices, work.asked, work.was, work.mixes).make()

    asked = questions(make, work.choices, first, work.operator_of)
    if not asked:
        return work.refused(work.with_offer(first), resolution)
    error = SizeRefusedError(first.node, first.reason, proposal(asked))
    return work.refused(error, replace(resolution, choices=tuple(asked)))


def _changed_shapes(before: Document, after: Document) -> tuple[tuple[str, Dims, Dims], ...]:
    """The graph inputs whose stored shape changed, and the outputs that have other numbers."""
    old, new = before.proto.graph, after.proto.graph
    inputs, outputs = _pairs(old.input, new.input), _pairs(old.output, new.output)
    changed = [pair for pair in inputs if pair[1] != pair[2]]
    for name, was, now in outputs:
        numbers = [isinstance(left, int) and isinstance(right, int) for left, right in zip(was, now, strict=False)]
        if was != now and all(numbers):
            changed.append((name, was, now))
    return tuple(changed)


def _overridable(model: ModelProto) -> list[str]:
    """The constants that are listed as inputs, so that they may be fed."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name in constants and model.ir_version >= 4]


def _pairs(old: Iterable[ValueInfoProto], new: Iterable[ValueInfoProto]) -> list[tuple[str, Dims, Dims]]:
    stored = {value.name: value.type for value in old}
    return [(one.name, dims_of(stored[one.name]), dims_of(one.type)) for one in new if one.name in stored]


def _require_nodes(document: Document, choices: Choices) -> None:
    """Raises UsageError for a pattern that names no node, and for a node that both options name: one would be lost."""
    labels = [node_label(node, index) for index, node in enumerate(document.proto.graph.node)]
    read = [pattern for pattern, _ in choices.read]
    for patterns, option in ((choices.keep, "--keep"), (choices.follow, "--follow"), (read, "--read")):
        for pattern in patterns:
            if not any(fnmatchcase(label, pattern) for label in labels):
                raise UsageError("library.input-size-no-such-node", option=option, pattern=pattern)
    follow_alone = Choices((), choices.follow)
    for label in labels:
        if choices.of(label) == "keep" and follow_alone.of(label) == "follow":
            raise UsageError("library.input-size-both-choices", label=label)


class _Work:
    """The steps from a model to that of another size: what is open is fixed, what is fixed is changed, what shall be
    any is made so."""

    def __init__(
        self,
        document: Document,
        names: Sequence[str],
        choices: Choices,
        asked: dict[str, int | str],
        was: Mapping[str, int],
        mixes: str | None = None,
    ) -> None:
        self.mixes = mixes
        self.before = self.document = self._closed = document
        self.was = was
        self.named = self.names = names
        self.choices = choices
        self.asked = asked
        self.outcomes: tuple[Outcome, ...] = ()
        self.inferred: list[str] = []
        self.assumed: list[Assumed] = []
        self.approximate: list[str] = []
        self.rule = ""
        self._view = ModelView(document)
        self._fixed: tuple[Following, dict[str, int]] | None = None
        self._free: Following | None = None
        self._start = document
        self._steps: list[tuple[Step, Following]] = []
        self._numbers: list[Numbers | None] = []

    def make(self) -> None:
        """Make the model. Raises SizeRefusedError, UsageError, RefusedError."""
        images = image_inputs(self.document.proto, self.names)
        for image in [] if self.names else images_beside(self.document.proto, images):
            size = f"{image.old('height')} x {image.old('width')}"
            self.inferred.append(Diagnostic("library.input-size-stays", name=image.name, size=size))
        self.names = [image.name for image in images]
        listed = _overridable(self.document.proto)
        if listed and not self.choices.keeps_overridable:
            self.inferred.append(Diagnostic("library.input-size-overridable", names=", ".join(listed[:_SHOWN])))
        images = self._undeclared(images)
        wanted = {name: length for name, length in self.asked.items() if isinstance(length, int)}
        if any(image.old(name) is None for image in images for name in wanted if name in image.axes):
            made = closed(self.document, images, wanted)
            shapes: dict[str, Dims] = {}
            for image in images:
                left_open = {name: length for name, length in wanted.items() if image.old(name) is None}
                shapes |= asked_shapes(self.document.proto, [image], left_open)
            plan = Plan(input_shapes=shapes)
            self.document = seam.submitted(self.document, made, plan)
            images = self._look()
        old = {name: length for name in wanted if (length := images[0].old(name)) is not None}
        moving = {name: length for name, length in old.items() if wanted[name] != length}
        if moving:
            self._resize(images, old, moving, wanted)
            images = self._look()
        free = {name: length for name in self.asked if name not in wanted and (length := images[0].old(name))}
        if free:
            self._release(images, free)

    def with_batch_behind(self, error: SizeRefusedError) -> _Work | None:
        """The work that begins with the batch which the constants are made for, where the file declares it open and
        answers for fewer images than it is given."""
        batch = image_inputs(self.before.proto, self.named)[0].old("batch")
        if self.mixes is not None or batch is not None or code_of(error.reason) != "verification.images-mix":
            return None
        return _Work(self.before, self.named, self.choices, self.asked, self.was, error.node)

    def _undeclared(self, images: list[ImageInput]) -> list[ImageInput]:
        """The images, where axes are open and the constants of one size: with that size, from which the work begins."""
        found = declared_size(self._view, images, self.asked, self.was, mixes=self.mixes)
        if found is None:
            return images
        made = closed(self.document, images, found.sizes)
        shapes: dict[str, Dims] = {}
        for image in images:
            shapes |= asked_shapes(self.document.proto, [image], found.sizes)
        self.document = self._closed = seam.submitted(self.document, made, Plan(input_shapes=shapes))
        sizes = ", ".join(f"{name} {length}" for name, length in found.sizes.items())
        said = Diagnostic("library.input-size-declared", name=images[0].name, sizes=sizes, node=found.node)
        self.inferred.append(said)
        return self._look()

    def _look(self) -> list[ImageInput]:
        self._view = ModelView(self.document)
        return image_inputs(self.document.proto, self.names)

    def _resize(
        self, images: list[ImageInput], old: dict[str, int], moving: dict[str, int], wanted: dict[str, int]
    ) -> None:
        """The model of the wanted size. What it says of both axes together is more than of one; but where one stays as
        it is, it need not be free."""
        found, made = self._followed(images, old, moving, wanted)
        old = found.sizes.symbols
        self._fixed = found, {name: wanted[name] for name in old}
        self._keep(found, made, wanted, found.numbers(self._fixed[1]))

    def _followed(
        self, images: list[ImageInput], old: dict[str, int], moving: dict[str, int], wanted: dict[str, int]
    ) -> tuple[Following, Resized]:
        """The first that succeeds: a square that stays one, where it does not matter which size a number follows; both
        sizes; those that change."""
        square = all(len({of.get("height"), of.get("width"), None}) == 2 for of in (old, wanted))
        tries = [(old, True)] * square + [(old, False)] + [(moving, False)] * (moving != old)
        for place, (symbols, tied) in enumerate(tries):
            try:
                found = follow(self._view, images, symbols, self.choices, tied=tied)
                return found, resized(self.document, found, {name: wanted[name] for name in symbols})
            except SizeRefusedError:
                if place == len(tries) - 1:
                    raise
        raise AssertionError("the last try returns or raises")

    def _release(self, images: list[ImageInput], free: dict[str, int]) -> None:
        found = follow(self._view, images, free, self.choices)
        made = made_dynamic(self.document, found)
        self._name_as_before(made.document)
        self._free, self._start = found, self.document
        rule = found.rule(free)
        steps = [f"{name} {step}" for name, step in rule.steps.items() if step > 1]
        self.rule = Diagnostic("library.input-size-rule", steps=", ".join(steps)) if steps else ""
        self._keep(found, made, dict.fromkeys(free))

    def _name_as_before(self, made: Document) -> None:
        """Let axes that the file declared open have the names that they had."""
        was = {value.name: dims_of(value.type) for value in self.before.proto.graph.input}
        now = {value.name: dims_of(value.type) for value in made.proto.graph.input}
        pairs = [pair for name in self.names for pair in zip(was[name], now[name], strict=True)]
        names = {new: old for old, new in pairs if isinstance(old, str) and isinstance(new, str) and old != new}
        if len(set(names.values())) == len(names):
            rename_symbols(made.proto, names)

    def _keep(
        self, found: Following, made: Resized, asked: Mapping[str, int | None], numbers: Numbers | None = None
    ) -> None:
        plan = self._plan(found, made, asked, numbers)
        document = seam.submitted(self.document, made.document, plan)
        self._steps.append((Step(self.document, document, made.changed), found))
        self._numbers.append(numbers)
        self.assumed += [use for use in found.assumed if use not in self.assumed]
        self.approximate += [found.flow.labels[index] for index in sorted(found.approximate)]
        self.outcomes = (*self.outcomes, *made.outcomes)
        self.document = document

    def _plan(self, found: Following, made: Resized, asked: Mapping[str, int | None], numbers: Numbers | None) -> Plan:
        """What one step was to change: the images, and each node whose numbers follow them."""
        shapes = asked_shapes(self.document.proto, found.flow.images, asked)
        keys = [(MAIN, next((name for name in node.output if name), "")) for node in self.document.proto.graph.node]
        nodes = frozenset(keys[index] for index in made.changed)
        if numbers is None:
            return Plan(nodes, input_shapes=shapes)
        return Plan(
            nodes,
            input_shapes=shapes,
            operands={(keys[place.node], place.position): array for place, array in numbers.constants.items()},
            attributes={(keys[index], name): values for (index, name), values in numbers.attributes.items()},
        )

    def with_offer(self, error: SizeRefusedError) -> SizeRefusedError:
        """The refusal; where learned positions alone forbid another size, with the option that interpolates them."""
        images = image_inputs(self._view.model, self.names)
        old = {name: length for name in ("height", "width") if (length := images[0].old(name)) is not None}
        if self.choices.interpolate or not old:
            return error
        try:
            found = follow(self._view, images, old, self.choices._replace(interpolate=True))
        except SizeRefusedError:
            return error
        for place in found.tables:
            if place.node in found.approximate:
                use = found.flow.operands.tables[place]
                shape = list(found.flow.operands.shape_of(use.name))
                why = Diagnostic("library.input-size-positions", name=use.name, shape=shape)
                return SizeRefusedError(found.flow.labels[place.node], why, ("--interpolate-positions",))
        return error

    def proof(self, rules: Conditions) -> Verification:
        """What of the new model is proven."""
        return self._rated(self._proof(rules))

    def _rated(self, proof: Verification) -> Verification:
        """A pass is one only where something was compared that computes the result, and nothing was assumed."""
        batch_alone = {name for _, found in self._steps for name in found.sizes.symbols} <= {"batch"}
        if not proof.passed or not self._steps or (batch_alone and not self.assumed):
            return proof
        said = Diagnostic("library.input-size-unrefuted", experiments=len(proof.runs), assumptions=len(self.assumed))
        return replace(proof, status=Status.UNREFUTED, reason=f"{said}; {proof.reason}" if proof.reason else said)

    def _proof(self, rules: Conditions) -> Verification:
        """The runs that could speak against the model."""
        from resizefix.verification.input_size import prove_any, prove_fixed, prove_plan, prove_same

        for (step, found), numbers in zip(self._steps, self._numbers, strict=True):
            at_old = self._at_old_size(step, found, is_fixed=numbers is not None)
            if at_old is not None and not (proof := prove_plan(at_old.before, rules, at_old)).passed:
                return proof
        last = self._steps[-1][0] if self._steps else None
        self._require_each_alone(rules)
        if last is not None and self._free is not None:
            references = [(dict(self._free.sizes.symbols), self._start)]
            for symbols in trial_sizes(self._free, _MOST_GROWTH):
                references.append((symbols, resized(self._start, self._free, symbols).document))
            exact = all(outcome.exact for outcome in self.outcomes)
            return prove_any(self._start, rules, last, self._free, references, exact=exact)
        if last is not None and self._fixed is not None:
            return prove_fixed(self._start, rules, last, *self._fixed)
        return prove_same(self._closed, rules, self.document)

    def _require_each_alone(self, rules: Conditions) -> None:
        """Where the batch changed: that each image gets what the model before makes of it alone. Raises
        SizeRefusedError with the node at which images are mixed."""
        from resizefix.verification.input_size import prove_each_alone

        axes = {
            one.name: one.axes["batch"] for one in image_inputs(self._closed.proto, self.names) if "batch" in one.axes
        }
        if self._fixed is not None and "batch" in self._fixed[1]:
            found, wanted = self._fixed
            old = found.sizes.symbols
            alone = {**wanted, "batch": old["batch"]}
            single = self._closed if alone == old else resized(self._closed, found, alone).document
            many = self._start if self._free is not None else self.document
            prove_each_alone(self._closed, rules, single, many, axes, old["batch"], wanted["batch"])
        if self._free is not None and "batch" in self._free.sizes.symbols:
            held = self._free.sizes.symbols["batch"]
            prove_each_alone(self._closed, rules, self._start, self.document, axes, held)

    def _at_old_size(self, step: Step, found: Following, *, is_fixed: bool) -> Step | None:
        """The model with what is planned for its old size; None where these are the numbers of the file."""
        if not is_fixed:
            return None
        made = resized(step.before, found, found.sizes.symbols)
        nodes = made.changed - found.approximate
        return Step(step.before, made.document, nodes) if nodes else None

    def operator_of(self, label: str) -> str:
        """The operator of a node of the model as it was."""
        nodes = self.before.proto.graph.node
        return next((node.op_type for index, node in enumerate(nodes) if node_label(node, index) == label), "")

    def refused(self, error: SizeRefusedError, resolution: Resolution) -> Result[Document]:
        """The model as it was, with the outcome of the node at which another size fails."""
        nodes = enumerate(self._view.model.graph.node)
        found = ((index, node_text(node)) for index, node in nodes if node_label(node, index) == error.node)
        index, text = next(found, (0, ""))
        outcome = Outcome(index, error.node, Happened.REFUSED, error.reason, text, retry_args=error.retry_args)
        nothing = skipped("library.nothing-changed")
        return Result(self.before, (outcome,), (), nothing, resolution=resolution)
