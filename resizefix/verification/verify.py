"""Runs two models on the same feeds and says whether they compute the same: files, or a model and what it became.

A rewrite keeps the model's signature. It is held bitwise where every node is exact; else within a part of the output's
largest value. A model that onnxruntime cannot run as a whole is proven around each rewritten node, and the verification
says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.values import dims_of
from resizefix.outcome import BITWISE, ErrorBound
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import (
    CannotLoadError,
    CannotRunError,
)
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.compare import compare, largest_bound
from resizefix.verification.engine import Engine
from resizefix.verification.fitting import Fitted, OverBudgetError
from resizefix.verification.pair import ModelPair
from resizefix.verification.signatures import Feeding, NotComparableError
from resizefix.verification.sizing import Shape
from resizefix.verification.stored_shapes import feeds_from_declared_shapes
from resizefix.verification.verification import Conditions, Run, Verification, VerificationStatus

if TYPE_CHECKING:
    from resizefix.verification.extraction import Extraction

_AS_STATED = ErrorBound(exact=False, bound=1.0)  # of a node that has a bound of its own, which narrows it
_SHORT = (7, 5)  # samples: coordinates are rounded little there, and a wrong weight shows


def verify(
    before: Document,
    after: Document,
    conditions: Conditions | None = None,
    allowed: ErrorBound = BITWISE,
    feeding: Feeding | None = None,
) -> Verification:
    """Whether `after` computes what `before` does, on each feed at two levels: with optimisation disabled every bit
    must agree, or as `allowed` says.

    Inputs of one name get one value. An input that only one model has needs a default or a value in `feeding`. Outputs
    go by name, or by position if no name is common. Sizes that the files leave open are those of the conditions, else
    the first ones that `before` runs with. Outputs without any element fail.

    A model that cannot be loaded or run, and models that cannot be compared, fail with that as the reason. When time is
    up, what was compared with optimisation disabled suffices if it was all of that.
    Raises UsageError for names, shapes and feeds that do not fit.
    """
    feeding = feeding or Feeding()
    if feeding.runs is not None and feeding.runs < 1:
        raise UsageError("verification.no-runs", runs=feeding.runs)
    engine = Engine(conditions or Conditions())
    return ModelPair(before, after, engine, feeding, looks=True, exact=allowed.exact).verified(allowed)


def prove_rewrite(
    before: Document,
    after: Document,
    sites: Mapping[Key, str],
    relative: float,
    conditions: Conditions,
    *,
    feeds: Mapping[str, Sequence[float]] | None = None,
    bounds: Mapping[Key, ErrorBound] | None = None,
) -> Verification:
    """Compare the models; `sites` names each rewritten node by scope path and output, with the tensor that it resizes.

    `feeds` are values for inputs that only one of the two has.

    `relative` is the largest difference allowed, as a part of an output's largest value. With 0 numbers must be equal,
    but for the last bits of half-precision outputs: onnxruntime computes them in float32 between casts whose places
    depend on the neighbouring nodes. Whether every bit agreed stands in the runs.

    `bounds` is how near each node comes, as far as that is known: where outputs are farther apart, since later nodes
    make more of a difference, the nodes that are not exact are run alone; where they differ at all, the exact ones.
    """
    computing = {key: data for key, data in sites.items() if key[1]}  # of others nothing is computed
    pair, too_large = ModelPair(before, after, Engine(conditions), Feeding(feeds or {})), False
    near = bounds or {}
    pair.noise = {key: bound for key, bound in near.items() if not bound.exact}
    pair.engine.hold(before, after)
    why_local: str | None = None
    fitted: Sequence[Fitted] = ()
    try:
        fitted = _fitted(pair)
        if pair.is_always_empty(fitted):
            why_local = Diagnostic("verification.always-empty")
    except OverBudgetError as error:
        why_local, too_large = str(error), True
    except (CannotLoadError, CannotRunError) as error:
        why_local = str(error)
    except (BrokenOffError, NotComparableError) as error:
        return pair.engine.verdict(str(error))
    nodes = _Nodes(pair, computing, ErrorBound(exact=False, bound=relative), near, open_sizes=too_large)
    verification = nodes.beside_the_whole(fitted) if why_local is None else nodes.alone(why_local)
    return replace(verification, bitwise_alone=frozenset(nodes.bitwise) if verification.passed else frozenset())


class _Nodes:
    """Two models and the rewritten nodes, around each of which they can be compared; `bitwise` are those that then gave
    every bit. `allowed` is how far models may be apart, `bounds` how near the nodes come."""

    def __init__(
        self,
        pair: ModelPair,
        sites: Mapping[Key, str],
        allowed: ErrorBound,
        bounds: Mapping[Key, ErrorBound],
        *,
        open_sizes: bool,
    ) -> None:
        self._pair, self._sites, self._open_sizes = pair, sites, open_sizes
        self._allowed, self._bounds = allowed, bounds
        self._engine = pair.engine
        self.bitwise: set[Key] = set()

    @cached_property
    def _extraction(self) -> Extraction:
        from resizefix.verification.extraction import Extraction  # most models show enough as a whole

        return Extraction(ModelView(self._pair.before), ModelView(self._pair.after))

    def alone(self, why_local: str) -> Verification:
        """The verification of the nodes, where the whole model shows nothing."""
        paths = self._extraction.common_paths
        for key in self._sites:
            if key[0] not in paths:
                return Verification(
                    VerificationStatus.FAILED,
                    Diagnostic("verification.function-was-inlined", key=key[1]),
                    sessions=self._engine.sessions,
                )
            local = self._around(key)
            if not local.passed:
                why = Diagnostic("verification.around-and-whole", key=key[1], why=local.reason, why_local=why_local)
                return self._engine.verdict(why)
            if local.reason is not None:
                self._engine.notes.append(Diagnostic("verification.around", key=key[1], why=local.reason))
        self._engine.notes.append(Diagnostic("verification.only-around", why=why_local))
        self._engine.look_at(self._pair.after)
        return self._engine.verdict()

    def beside_the_whole(self, fitted: Sequence[Fitted]) -> Verification:
        """The verification of the whole model, and around each node of which it does not show enough: one in a body,
        which need not have run when the whole model did; one that may be nearer than the model's outputs are; and at
        short axes one whose bound grows with them."""
        self._pair.stated = self._stated(self._sites)
        whole = self._pair.verified(self._allowed, fitted)
        if not whole.passed:
            return whole
        notes = self._engine.notes
        nearer = self._to_run_alone(whole.runs)
        drifting = {key for key in self._sites if key in self._bounds and self._bounds[key].drift} - nearer
        wanted = [key for key in self._sites if key in nearer | drifting or key[0].is_body]
        paths = self._extraction.common_paths if wanted else set()
        for key in wanted:
            in_body = key[0].is_body
            if key[0] not in paths:
                if in_body:
                    notes.append(Diagnostic("verification.if-its-body-ran-inlined", label=key[1]))
                continue
            local = self._around(key, is_short=key in drifting)
            if not local.passed and local.runs:
                return self._engine.verdict(Diagnostic("verification.around", key=key[1], why=local.reason))
            if not local.passed and in_body:
                notes.append(Diagnostic("verification.if-its-body-ran", label=key[1], why=local.reason))
        return self._engine.verdict()

    def _stated(self, keys: Collection[Key]) -> list[ErrorBound]:
        """What the report says that these nodes differ by; empty where it says nothing of one of them."""
        stated = [self._bounds[key] for key in keys if key in self._bounds]
        return stated if len(stated) == len(keys) else []

    def _to_run_alone(self, runs: Sequence[Run]) -> set[Key]:
        """The nodes of which these runs of the whole model do not show that they are as near as is said."""
        plain = [run for run in runs if not run.optimized]
        exact = {key for key in self._sites if key in self._bounds and self._bounds[key].exact}
        if all(run.bitwise for run in plain) or len(exact) == len(self._sites):
            return set()
        stated = self._stated(self._sites)
        is_near = bool(stated) and all(run.max_rel_diff <= largest_bound(stated, run.shapes.values()) for run in plain)
        return exact if is_near else exact | (self._sites.keys() & self._bounds.keys())

    def _around(self, key: Key, *, is_short: bool = False) -> Verification:
        """What comparing the two models around one node comes to. `is_short`: where the file leaves axes open they are
        short, and the node is held to its own bound there."""

        def proof(before: Document, after: Document, engine: Engine) -> Verification:
            if is_short:
                engine.conditions = replace(engine.conditions, shapes=_short_axes(before, self._sites[key]))
            names = {value.name for document in (before, after) for value in document.proto.graph.input}
            values = {name: value for name, value in self._pair.feeding.values.items() if name in names}
            pair = ModelPair(before, after, engine, Feeding(values), is_part=True, stated=self._stated([key]))
            pair.data = self._sites[key]
            return pair.verified(_AS_STATED if is_short else self._allowed)

        data, is_open = {key: self._sites[key]}, self._open_sizes
        rules = self._engine.conditions
        from resizefix.verification.extraction import compare_alone  # as above

        local = compare_alone(self._extraction, data, rules, proof, open_sizes=is_open, sizes_stay=not is_open)
        self._engine.runs.extend(local.runs)
        plain = [run for run in local.runs if not run.optimized]
        if local.passed and plain and all(run.bitwise for run in plain):
            self.bitwise.add(key)
        return local


def _short_axes(part: Document, data: str) -> dict[str, Shape]:
    """A shape of the tensor that is resized, short where the file leaves an axis open; empty where its rank is not
    known."""
    value = next((value for value in part.proto.graph.input if value.name == data), None)
    dims = None if value is None else dims_of(value.type)
    if not dims:
        return {}
    return {data: tuple(size if isinstance(size, int) else _SHORT[at % 2] for at, size in enumerate(dims))}


def _fitted(pair: ModelPair) -> list[Fitted]:
    """The feeds, with what the file says of other inputs that decide a size, if the model before runs at that; and what
    it makes of them."""
    declared = {
        name: value.tolist()
        for name, value in feeds_from_declared_shapes(pair.before, pair.engine.conditions.shapes).items()
    }
    given = pair.feeding
    if not set(declared) <= set(given.values):
        pair.feeding = Feeding({**declared, **given.values})
        with suppress(CannotLoadError, CannotRunError, NotComparableError, UsageError, BrokenOffError):
            fitted = pair.fit()
            if not pair.is_always_empty(fitted):
                return [*fitted, *_stretched(pair, fitted[0], declared)]
        pair.feeding = given
    return pair.fit()


def _stretched(pair: ModelPair, first: Fitted, declared: Collection[str]) -> list[Fitted]:
    """The first feed with other scales or sizes than the file says, those of one axis, where the model before runs with
    them: else nothing shows which axis each number is for."""
    values = [(name, first.feeds.get(name)) for name in declared]
    vectors = {name: one for name, one in values if isinstance(one, np.ndarray) and one.ndim == 1 and one.size > 1}
    for axis in (-1, -2) if vectors else ():
        feeds = dict(first.feeds)
        for name, value in vectors.items():
            feeds[name] = moved = value.copy()
            moved[axis] = value[axis] * 2 + 1 if value.dtype.kind in "iu" else value[axis] * 1.5
        with suppress(CannotRunError):
            fitted = pair.fitted_to(feeds)
            if not (fitted.vacuous or fitted.overflows):
                return [fitted]
    return []


def first_differing_node(before: Document, after: Document, conditions: Conditions) -> NodeProto | None:
    """The node of the main graph of `before` at which two models of the same nodes part without optimisation: the first
    whose outputs differ though its inputs agree. None: there is none, or they do not run so.

    To look at a tensor can move the Casts that onnxruntime puts around half precision, so that nothing differs.
    """
    tensors = [name for node in after.proto.graph.node for name in node.output if name]
    shared = {name for node in before.proto.graph.node for name in node.output} & set(tensors)
    hidden = sorted(shared - {value.name for value in before.proto.graph.output})
    engine = Engine(conditions)
    try:
        fitted = engine.fit(before, extra_outputs=hidden)
        differences = compare(fitted.outputs, engine.run(after, fitted.feeds, extra_outputs=hidden))
    except (CannotLoadError, CannotRunError, BrokenOffError, UsageError):
        return None
    differing = {difference.tensor for difference in differences.differing}
    nodes: Sequence[NodeProto] = before.proto.graph.node
    parting = (node for node in nodes if differing & set(node.output) and not differing & set(node.input))
    return next(parting, None)
