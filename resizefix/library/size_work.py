"""The steps from a model to that of another size, and what can be proven of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from onnx import ModelProto

from resizefix.diagnostics import Diagnostic, RefusedError, code_of
from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.document.text import counted, listed, node_text
from resizefix.document.values import Dims, dims_of, rename_symbols
from resizefix.input_sizes.declared import declared_size
from resizefix.input_sizes.following import Following, FollowingNumbers, by_whole_strides, follow, trial_sizes
from resizefix.input_sizes.refusal import Assumed, Choices, SizeRefusedError
from resizefix.input_sizes.writing.dynamic import made_dynamic
from resizefix.input_sizes.writing.fixed import Resized, closed, resized
from resizefix.library import seam
from resizefix.library.inputs_that_stay import inputs_that_stay
from resizefix.library.result import Resolution, Result, skipped
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import MAIN
from resizefix.shapes.image_axes import ImageInput, asked_shapes, image_inputs
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.plan import Plan, SizeStep
from resizefix.verification.verification import Conditions, Verification, VerificationStatus

_SHOWN = 8
_MOST_GROWTH = 4  # times the pixels of the old input: what a verification runs at


def _overridable(model: ModelProto) -> list[str]:
    """The constants that are listed as inputs, so that they may be fed."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name in constants and model.ir_version >= 4]


def _text(dims: Dims) -> str:
    return "×".join("?" if size is None else str(size) for size in dims)


class SizeWork:
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
        self.other: Document | None = None
        """The same network, exported at the size that is asked for."""
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
        self._steps: list[tuple[SizeStep, Following]] = []
        self._numbers: list[FollowingNumbers | None] = []

    def make(self) -> None:
        """Make the model. Raises SizeRefusedError, UsageError, RefusedError."""
        images = image_inputs(self.document.proto, self.names)
        self.inferred += [] if self.names else inputs_that_stay(self.document.proto, images, self.asked)
        self.names = [image.name for image in images]
        if "batch" in self.asked and not any("batch" in image.axes for image in images):
            read = ", ".join(f"{image.name} {_text(image.dims)}" for image in images)
            raise RefusedError("library.input-size-no-batch", shapes=read)
        fed = _overridable(self.document.proto)
        if fed and not self.choices.keeps_overridable:
            self.inferred.append(Diagnostic("library.input-size-overridable", names=", ".join(fed[:_SHOWN])))
        images = self._undeclared(images)
        wanted = {name: length for name, length in self.asked.items() if isinstance(length, int)}
        if any(image.old(name) is None for image in images for name in wanted if name in image.axes):
            document = closed(self.document, images, wanted)
            shapes: dict[str, Dims] = {}
            for image in images:
                left_open = {name: length for name, length in wanted.items() if image.old(name) is None}
                shapes |= asked_shapes(self.document.proto, [image], left_open)
            plan = Plan(input_shapes=shapes)
            self.document = seam.submitted(self.document, document, plan)
            images = self._look()
        old = {name: length for name in wanted if (length := images[0].old(name)) is not None}
        moving = {name: length for name, length in old.items() if wanted[name] != length}
        if moving:
            self._resize(images, old, moving, wanted)
            images = self._look()
        free = {name: length for name in self.asked if name not in wanted and (length := images[0].old(name))}
        if free:
            self._release(images, free)

    def with_batch_behind(self, error: SizeRefusedError) -> SizeWork | None:
        """The work that begins with the batch which the constants are made for, where the file declares it open and
        answers for fewer images than it is given."""
        batch = image_inputs(self.before.proto, self.named)[0].old("batch")
        if self.mixes is not None or batch is not None or code_of(error.reason) != "verification.images-mix":
            return None
        return SizeWork(self.before, self.named, self.choices, self.asked, self.was, error.node)

    def _undeclared(self, images: list[ImageInput]) -> list[ImageInput]:
        """The images, where axes are open and the constants of one size: with that size, from which the work begins."""
        declared = declared_size(self._view, images, self.asked, self.was, mixes=self.mixes)
        if declared is None:
            return images
        document = closed(self.document, images, declared.sizes)
        shapes: dict[str, Dims] = {}
        for image in images:
            shapes |= asked_shapes(self.document.proto, [image], declared.sizes)
        self.document = self._closed = seam.submitted(self.document, document, Plan(input_shapes=shapes))
        sizes = ", ".join(f"{name} {length}" for name, length in declared.sizes.items())
        if declared.node:
            said = Diagnostic("library.input-size-declared", name=images[0].name, sizes=sizes, node=declared.node)
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
        following, moved = self._followed(images, old, moving, wanted)
        old = following.sizes.symbols
        self._fixed = following, {name: wanted[name] for name in old}
        self._keep(following, moved, wanted, following.numbers(self._fixed[1]))

    def _followed(
        self, images: list[ImageInput], old: dict[str, int], moving: dict[str, int], wanted: dict[str, int]
    ) -> tuple[Following, Resized]:
        """The first that succeeds: a square that stays one, where it does not matter which size a number follows; both
        sizes; those that change. Of a square, the question of both sizes is asked: it tells them apart."""
        square = all({"height", "width"} <= set(of) and of["height"] == of["width"] for of in (old, wanted))
        tries = [(old, True)] * square + [(old, False)] + [(moving, False)] * (moving != old)
        first: SizeRefusedError | None = None
        for place, (symbols, tied) in enumerate(tries):
            try:
                following = follow(self._view, images, symbols, self.choices, tied=tied)
                return following, resized(self.document, following, {name: wanted[name] for name in symbols})
            except SizeRefusedError as error:
                is_square = len(symbols) > 1 and len(set(symbols.values())) == 1
                first = error if is_square and error.readings and not tied else first
                if place == len(tries) - 1:
                    raise (first if first is not None and error.readings else error) from None
        raise AssertionError("the last try returns or raises")

    def _release(self, images: list[ImageInput], free: dict[str, int]) -> None:
        following = follow(self._view, images, free, self.choices)
        dynamic = made_dynamic(self.document, following)
        self._name_as_before(dynamic.document)
        self._free, self._start = following, self.document
        rule = following.rule(free)
        steps = {name: step for name, step in rule.steps.items() if step > 1}
        code = "library.input-size-rule" if rule.alone else "library.input-size-multiples"
        code = code if rule.multiples == steps else "library.input-size-from-old"
        listed_steps = " and ".join(f"{step} ({name})" for name, step in steps.items())
        self.rule = Diagnostic(code, steps=listed_steps) if steps else ""
        self._keep(following, dynamic, dict.fromkeys(free))

    def _name_as_before(self, document: Document) -> None:
        """Let axes that the file declared open have the names that they had."""
        was = {value.name: dims_of(value.type) for value in self.before.proto.graph.input}
        now = {value.name: dims_of(value.type) for value in document.proto.graph.input}
        pairs = [pair for name in self.names for pair in zip(was[name], now[name], strict=True)]
        names = {new: old for old, new in pairs if isinstance(old, str) and isinstance(new, str) and old != new}
        if len(set(names.values())) == len(names):
            rename_symbols(document.proto, names)

    def _keep(
        self,
        following: Following,
        moved: Resized,
        asked: Mapping[str, int | None],
        numbers: FollowingNumbers | None = None,
    ) -> None:
        plan = self._plan(following, moved, asked, numbers)
        document = seam.submitted(self.document, moved.document, plan)
        self._steps.append((SizeStep(self.document, document, moved.changed), following))
        self._numbers.append(numbers)
        self.assumed += [use for use in following.assumed if use not in self.assumed]
        self.approximate += [following.flow.labels[index] for index in sorted(following.approximate)]
        self.outcomes = (*self.outcomes, *moved.outcomes)
        self.document = document

    def _plan(
        self, following: Following, moved: Resized, asked: Mapping[str, int | None], numbers: FollowingNumbers | None
    ) -> Plan:
        """What one step was to change: the images, and each node whose numbers follow them."""
        shapes = asked_shapes(self.document.proto, following.flow.images, asked)
        keys = [(MAIN, next((name for name in node.output if name), "")) for node in self.document.proto.graph.node]
        nodes = frozenset(keys[index] for index in moved.changed)
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
            following = follow(self._view, images, old, self.choices._replace(interpolate=True))
        except SizeRefusedError:
            return error
        for place in following.tables:
            if place.node in following.approximate:
                use = following.flow.operands.tables[place]
                shape = list(following.flow.operands.shape_of(use.name))
                why = Diagnostic("library.input-size-positions", name=use.name, shape=shape)
                return SizeRefusedError(following.flow.labels[place.node], why, ("--interpolate-positions",))
        return error

    def with_one_input(self, error: SizeRefusedError, rules: Conditions) -> SizeRefusedError:
        """The refusal; where several inputs were given one size, which the model may not take, it names them, and the
        one that alone takes it."""
        if len(self.names) < 2:
            return error
        for name in self.names:
            alone = SizeWork(self.before, [name], self.choices, self.asked, self.was)
            try:
                alone.make()
                works = alone.document is not self.before and alone.proof(rules).status is not VerificationStatus.FAILED
            except (SizeRefusedError, RefusedError):
                continue
            if works:
                why = Diagnostic("library.input-size-of-one-size", why=error.reason, names=listed(list(self.names)))
                return SizeRefusedError(error.node, why, ("--input", name))
        return error

    def proof(self, rules: Conditions) -> Verification:
        """What of the new model is proven, and what experiments did not refute."""
        from resizefix.input_sizes.experiments.proof import prove_same

        verification = self._proof(rules)
        if self.other is not None and verification.passed:
            return prove_same(self.other, rules, self.document)
        if not verification.passed or not self._steps:
            return verification
        for experiment in (self._back_again, self._on_images):
            further = experiment(rules)
            if further is not None and not further.passed:
                return further
            verification = verification if further is None else verification.with_further(further)
        return self._rated(verification)

    def _is_decided(self, label: str) -> bool:
        return self.choices.of(label) is not None

    def _back_again(self, rules: Conditions) -> Verification | None:
        """Whether the model, converted back to the old size, gives the same bits; None where it may have any size, or
        another batch alone."""
        from resizefix.input_sizes.experiments.proof import prove_back

        if self._free is not None or self._fixed is None or set(self._fixed[0].sizes.symbols) <= {"batch"}:
            return None
        if self.approximate:  # a table that is interpolated comes back as another one
            return prove_back(self._closed, rules, self.approximate[0], self._is_decided)
        back = SizeWork(self.document, self.names, self.choices, dict(self._fixed[0].sizes.symbols), {}, self.mixes)
        try:
            back.make()
        except SizeRefusedError as error:
            return prove_back(self._closed, rules, error.node, self._is_decided)
        read_otherwise = {one.node for one in self.outcomes} ^ {one.node for one in back.outcomes}
        if read_otherwise:  # then the way back may be the wrong one
            return prove_back(self._closed, rules, min(read_otherwise), self._is_decided)
        return prove_back(self._closed, rules, back.document, self._is_decided)

    def _on_images(self, rules: Conditions) -> Verification | None:
        """What experiments on images of both sizes say; None where height and width stay."""
        from resizefix.input_sizes.experiments.image_experiments import Picture
        from resizefix.input_sizes.experiments.proof import prove_on_images

        following = self._free or (self._fixed[0] if self._fixed else None)
        if following is None or not {"height", "width"} & set(following.sizes.symbols):
            return None
        sizes = dict(self._fixed[1]) if self._fixed is not None else {}
        if self._free is not None:
            sizes |= next(iter([*by_whole_strides(self._free), *trial_sizes(self._free, _MOST_GROWTH)]), {})
        pictures = {}
        for image in image_inputs(self._closed.proto, self.names):
            if {"height", "width"} <= set(image.axes) and None not in image.dims:
                shape: list[int | str | None] = list(image.dims)
                for name, axis in image.axes.items():
                    shape[axis] = image.length(name, sizes[name]) if name in sizes else shape[axis]
                numbers = tuple(size if isinstance(size, int) else 1 for size in shape)
                pictures[image.name] = Picture((image.axes["height"], image.axes["width"]), numbers)
        return prove_on_images(self._closed, rules, self.document, pictures, self._is_decided)

    def _rated(self, proof: Verification) -> Verification:
        """A pass is one only where something was compared that computes the result, and nothing was assumed."""
        batch_alone = {name for _, following in self._steps for name in following.sizes.symbols} <= {"batch"}
        if not proof.passed or not self._steps or (batch_alone and not self.assumed) or self.other is not None:
            return proof
        experiments = counted(len(proof.runs) + len(proof.tested), "experiment")
        assumptions = counted(len(self.assumed), "assumption")
        said = Diagnostic("library.input-size-unrefuted", experiments=experiments, assumptions=assumptions)
        return replace(
            proof, status=VerificationStatus.UNREFUTED, reason=f"{said}; {proof.reason}" if proof.reason else said
        )

    def _proof(self, rules: Conditions) -> Verification:
        """The runs that could speak against the model."""
        from resizefix.input_sizes.experiments.proof import prove_any, prove_fixed, prove_plan, prove_same

        for (step, following), numbers in zip(self._steps, self._numbers, strict=True):
            at_old = self._at_old_size(step, following, is_fixed=numbers is not None)
            if at_old is not None and not (proof := prove_plan(at_old.before, rules, at_old)).passed:
                return proof
        last = self._steps[-1][0] if self._steps else None
        if (against := self._against_each_alone(rules)) is not None:
            return against
        if last is not None and self._free is not None:
            references = [(dict(self._free.sizes.symbols), self._start)]
            for symbols in trial_sizes(self._free, _MOST_GROWTH):
                references.append((symbols, resized(self._start, self._free, symbols).document))
            exact = all(outcome.exact for outcome in self.outcomes)
            return prove_any(self._start, rules, last, self._free, references, exact=exact)
        if last is not None and self._fixed is not None:
            return prove_fixed(self._start, rules, last, *self._fixed)
        return prove_same(self._closed, rules, self.document)

    def _against_each_alone(self, rules: Conditions) -> Verification | None:
        """Where the batch changed: what speaks against each image getting what the model before makes of it alone.
        Raises SizeRefusedError with the node at which images are mixed."""
        from resizefix.input_sizes.experiments.proof import prove_each_alone

        axes = {
            one.name: one.axes["batch"] for one in image_inputs(self._closed.proto, self.names) if "batch" in one.axes
        }
        if self._fixed is not None and "batch" in self._fixed[1]:
            following, wanted = self._fixed
            old = following.sizes.symbols
            alone = {**wanted, "batch": old["batch"]}
            single = self._closed if alone == old else resized(self._closed, following, alone).document
            many = self._start if self._free is not None else self.document
            proof = prove_each_alone(self._closed, rules, single, many, axes, old["batch"], wanted["batch"])
            if not proof.passed:
                return proof
        if self._free is not None and "batch" in self._free.sizes.symbols:
            held = self._free.sizes.symbols["batch"]
            proof = prove_each_alone(self._closed, rules, self._start, self.document, axes, held)
            return None if proof.passed else proof
        return None

    def _at_old_size(self, step: SizeStep, following: Following, *, is_fixed: bool) -> SizeStep | None:
        """The model with what is planned for its old size; None where these are the numbers of the file."""
        if not is_fixed:
            return None
        moved = resized(step.before, following, following.sizes.symbols)
        nodes = moved.changed - following.approximate
        return SizeStep(step.before, moved.document, nodes) if nodes else None

    def operator_of(self, label: str) -> str:
        """The operator of a node of the model as it was."""
        nodes = self.before.proto.graph.node
        return next((node.op_type for index, node in enumerate(nodes) if node_label(node, index) == label), "")

    def refused(self, error: SizeRefusedError, resolution: Resolution) -> Result[Document]:
        """The model as it was, with the outcome of the node at which another size fails."""
        nodes = enumerate(self._view.model.graph.node)
        matches = ((index, node_text(node)) for index, node in nodes if node_label(node, index) == error.node)
        index, text = next(matches, (0, ""))
        outcome = Outcome(index, error.node, Status.REFUSED, error.reason, text, retry_args=error.retry_args)
        nothing = skipped("library.nothing-changed")
        return Result(self.before, (outcome,), (), nothing, resolution=resolution)
