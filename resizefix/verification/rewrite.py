"""The proof of a rewrite that keeps the model's signature: the new model computes what the old one does.

Bitwise where every rewrite is exact; else within a part of the output's largest value. A model that onnxruntime
cannot run as a whole is proven around each rewritten node, and the verification says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.error_bound import ErrorBound
from resizefix.errors import UsageError
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.verification.conditions import Conditions
from resizefix.verification.declared_shapes import feeds_from_declared_shapes
from resizefix.verification.engine import Engine
from resizefix.verification.extraction import Extraction, may_be_passed_over
from resizefix.verification.fitting import Fitted, OverBudgetError
from resizefix.verification.signatures import Feeding, NotComparableError
from resizefix.verification.verification import Run, Status, Verification
from resizefix.verification.verify import EMPTY, Pair, Tolerance


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
    allowed = _Allowed(relative, bounds or {})
    found = _proved(before, after, sites, allowed, conditions, feeds or {})
    return replace(found, sessions=conditions.sessions.opened)


@dataclass(frozen=True)
class _Allowed:
    """How far models may be apart, and each of the nodes."""

    relative: float
    bounds: Mapping[Key, ErrorBound]

    def stated(self, keys: Collection[Key]) -> float | None:
        """What the report says of these nodes; None: nothing, of one of them."""
        known = [self.bounds[key] for key in keys if key in self.bounds]
        return max((bound.bound for bound in known), default=None) if len(known) == len(keys) else None

    def to_run_alone(self, runs: Sequence[Run], keys: Collection[Key]) -> set[Key]:
        """The nodes of which these runs of the whole model do not show that they are as near as is said."""
        plain = [run for run in runs if not run.optimized]
        if all(run.bitwise for run in plain) or all(self.is_exact(key) for key in keys):
            return set()
        stated = self.stated(keys)
        is_near = stated is not None and all(run.max_rel_diff <= stated for run in plain)
        return {key for key in keys if key in self.bounds and (self.is_exact(key) or not is_near)}

    def is_exact(self, key: Key) -> bool:
        """Whether the node gives every bit."""
        return key in self.bounds and self.bounds[key].exact


def _proved(
    before: Document,
    after: Document,
    sites: Mapping[Key, str],
    allowed: _Allowed,
    conditions: Conditions,
    feeds: Mapping[str, Sequence[float]],
) -> Verification:
    computing = {key: data for key, data in sites.items() if key[1]}  # of others nothing is computed
    pair, too_large, why_local = Pair(before, after, Engine(conditions), Feeding(feeds)), False, None
    try:
        fitted = _fitted(pair)
        if pair.is_always_empty(fitted):
            why_local = f"{EMPTY} at every shape that the file allows."
    except OverBudgetError as error:
        why_local, too_large = str(error), True
    except (CannotLoadError, CannotRunError) as error:
        why_local = str(error)
    except (BrokenOffError, NotComparableError) as error:
        return Verification(Status.FAILED, str(error))
    if why_local is None:
        tolerance = Tolerance(relative=allowed.relative, stated=allowed.stated(computing))
        whole = pair.verified(tolerance, fitted)
        alone = _Alone(Extraction(ModelView(before), ModelView(after)), allowed, conditions, pair.feeding.values)
        return _with_nodes(whole, computing, alone) if whole.passed else whole
    views = ModelView(before), ModelView(after)
    alone = _Alone(Extraction(*views), allowed, conditions, pair.feeding.values, open_sizes=too_large)
    runs: list[Run] = []
    notes: list[str] = []
    paths = alone.extraction.common_paths
    bitwise: set[Key] = set()
    for key, data in computing.items():
        if key[0] not in paths:
            return Verification(Status.FAILED, Diagnostic("verification.function-was-inlined", key=key[1]))
        local = alone.proof(key, data)
        runs.extend(local.runs)
        if _is_bitwise(local):
            bitwise.add(key)
        if not local.passed:
            return Verification(
                Status.FAILED,
                Diagnostic("verification.around-and-whole", key=key[1], why=local.reason, why_local=why_local),
                tuple(runs),
            )
        if local.reason is not None:
            notes.append(Diagnostic("verification.around", key=key[1], why=local.reason))
    reason = "; ".join(dict.fromkeys((*notes, Diagnostic("verification.only-around", why=why_local))))
    return Verification(Status.PASSED, reason, tuple(runs), bitwise_alone=frozenset(bitwise))


@dataclass(frozen=True)
class _Alone:
    """Compares the two models around one rewritten node."""

    extraction: Extraction
    allowed: _Allowed
    conditions: Conditions
    feeds: Mapping[str, object]
    open_sizes: bool = False

    def proof(self, key: Key, data: str) -> Verification:
        """Of the node `key`, which resizes the tensor `data`."""
        pair = self.extraction.extract({key: data}, open_sizes=self.open_sizes, sizes_stay=not self.open_sizes)
        try:
            feeding = Feeding(_those_of(pair, self.feeds))
            stated = self.allowed.stated([key])
            engine = Engine(replace(self.conditions, shapes={}))
            tolerance = Tolerance(relative=self.allowed.relative, stated=stated)
            return Pair(*pair, engine, feeding, empty_agree=True).verified(tolerance)
        except UsageError as error:  # the two are fed differently: nothing that the user could mend by an option
            return Verification(Status.FAILED, str(error))


def _with_nodes(whole: Verification, sites: Mapping[Key, str], alone: _Alone) -> Verification:
    """The verification of the whole model, and around each node of which it does not show enough: one in a body, which
    need not have run when the whole model did, and one that may be nearer than the model's outputs are."""
    runs = list(whole.runs)
    notes = [] if whole.reason is None else [whole.reason]
    bitwise: set[Key] = set()
    nearer = alone.allowed.to_run_alone(whole.runs, sites)
    wanted = {key: data for key, data in sites.items() if key in nearer or may_be_passed_over(key)}
    paths = alone.extraction.common_paths if wanted else set()
    for key, data in wanted.items():
        in_body = may_be_passed_over(key)
        if key[0] not in paths:
            if in_body:
                notes.append(Diagnostic("verification.if-its-body-ran-inlined", label=key[1]))
            continue
        local = alone.proof(key, data)
        if _is_bitwise(local):
            bitwise.add(key)
        runs.extend(local.runs)
        if not local.passed and local.runs:
            return Verification(
                Status.FAILED, Diagnostic("verification.around", key=key[1], why=local.reason), tuple(runs)
            )
        if not local.passed and in_body:
            notes.append(Diagnostic("verification.if-its-body-ran", label=key[1], why=local.reason))
    reason = "; ".join(dict.fromkeys(notes)) or None
    return replace(whole, reason=reason, runs=tuple(runs), bitwise_alone=frozenset(bitwise))


def _is_bitwise(local: Verification) -> bool:
    plain = [run for run in local.runs if not run.optimized]
    return local.passed and bool(plain) and all(run.bitwise for run in plain)


def _those_of(pair: tuple[Document, Document], feeds: Mapping[str, object]) -> dict[str, object]:
    names = {value.name for document in pair for value in document.proto.graph.input}
    return {name: value for name, value in feeds.items() if name in names}


def _fitted(pair: Pair) -> list[Fitted]:
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
                return fitted
        pair.feeding = given
    return pair.fit()
