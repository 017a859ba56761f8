"""A model in a runtime that is installed: what `check --live` says of it there, `verify --runtime`, and `legalize` of a
rewrite before it is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.error_bound import ErrorBound
from resizefix.errors import UsageError
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.process import DEFAULT_TIMEOUT
from resizefix.runtimes.answers import Ending, LiveUnavailable, NodeAnswer
from resizefix.runtimes.catalogue import RUNTIMES, RuntimeRow, runtime_named
from resizefix.runtimes.runtime import Runtime
from resizefix.runtimes.tensorrt import LiveError, LiveVerdict, of_the_whole
from resizefix.shapes.model_view import ModelView
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.target import Effect, Target, Violation, judge
from resizefix.verification.conditions import Conditions
from resizefix.verification.in_runtime import (
    RIGHT_WITHIN,
    nodes_in_runtime,
    verify_in_runtime,
    with_bodies,
)
from resizefix.verification.signatures import Feeding
from resizefix.verification.site_drifts import ResizePlace
from resizefix.verification.verification import SiteDrift, Verification

Pythons = Mapping[str, str]
"""By the name of a runtime the Python that has it."""
_MOST_SECONDS = 120.0  # for a rewrite


def runtime_verdict(
    document: Document, row: RuntimeRow, conditions: Conditions, *, python: str | None = None, time_limit: float = 300.0
) -> LiveVerdict | LiveUnavailable:
    """What the runtime does with the model and with each resize alone, compared with onnxruntime.

    Accepted: the model runs there, and its outputs and resizes are right. Where onnxruntime does not run the model,
    that rests on the nodes alone, and `unanswered` says so; where it does not run each of them either, there is no
    verdict.
    """
    places = places_of(find_sites(document))
    with Runtime(row, python=python, time_limit=time_limit) as runtime:
        nodes = nodes_in_runtime(document, runtime, places, conditions)
        if isinstance(nodes, LiveUnavailable):
            return nodes
        whole = verify_in_runtime(document, document, runtime, places, conditions)
    if isinstance(whole, LiveUnavailable):
        return whole
    wrong = [node for node in nodes if node.ending is not None and not node.agrees]
    operators = {site.output: site.op_type for site in find_sites(document)}
    errors = [_error(node, whole.runtime or row.title, operators[node.output]) for node in wrong]
    compared = whole.runtime is not None
    if compared and not whole.passed:
        errors.append(of_the_whole(whole.reason or ""))
    if not compared and not errors and not (nodes and all(node.ending is Ending.RAN for node in nodes)):
        return LiveUnavailable(Diagnostic("library.nothing-to-compare-with", why=whole.reason))
    return LiveVerdict(
        whole.runtime or row.title,
        not errors,
        tuple(errors),
        unanswered=None if compared else Diagnostic("library.only-nodes-alone-were-compared", why=whole.reason),
        nodes=nodes,
    )


def verify_in(
    before: Document,
    after: Document,
    name: str,
    conditions: Conditions,
    allowed: ErrorBound,
    feeding: Feeding,
    pythons: Pythons | None = None,
) -> Verification:
    """BEFORE in onnxruntime without optimisation, AFTER in the runtime of that name; see `verify_in_runtime`.

    Raises UsageError for a name that is none, and where the runtime is not installed.
    """
    row = runtime_named(name)
    places = places_of(find_sites(before))
    with Runtime(row, python=(pythons or {}).get(row.name), time_limit=seconds_left(conditions)) as runtime:
        found = verify_in_runtime(before, after, runtime, places, conditions, allowed, feeding)
        if before is after and not isinstance(found, LiveUnavailable):
            found = with_bodies(found, before, runtime, places, conditions)
    if isinstance(found, LiveUnavailable):
        raise UsageError("library.runtime-cannot-be-asked", why=found.reason)
    return replace(found, sites=_with_rules(found.sites, before, row), sessions=conditions.spent.sessions)


@dataclass(frozen=True)
class LiveProof:
    """Whether the rewrite may be written, and what is to be said of the runtime.

    `fits` is False where a resize that was rewritten differs there though its input does not, or where the runtime ran
    the model before and does not run it now.
    """

    fits: bool
    said: Diagnostic


def prove_live(
    before: Document,
    after: Document,
    changed: Sequence[Site],
    target: Target,
    conditions: Conditions,
    python: str | None = None,
) -> LiveProof:
    """Run `after` in the target's runtime and compare it, and each rewritten resize, with `before` in onnxruntime;
    `python`: which one has the runtime."""
    row = RUNTIMES.get(target.name)
    if row is None:
        return LiveProof(True, Diagnostic("library.rules-alone-no-runtime", target=target.name))
    with Runtime(row, python=python, time_limit=min(seconds_left(conditions), _MOST_SECONDS)) as runtime:
        found = verify_in_runtime(before, after, runtime, places_of(changed), conditions)
        if isinstance(found, LiveUnavailable):
            return LiveProof(True, Diagnostic("library.rules-alone", target=target.name, why=found.reason))
        if found.passed:
            return LiveProof(True, Diagnostic("library.right-in-runtime", runtime=found.runtime))
        return _judged(found, before, runtime, conditions)


def _judged(found: Verification, before: Document, runtime: Runtime, conditions: Conditions) -> LiveProof:
    why = found.reason or ""
    for drift in found.sites:
        if drift.differs and drift.input_rel_diff <= RIGHT_WITHIN:
            said = Diagnostic("library.rewrite-differs-in-runtime", node=drift.node, runtime=found.runtime, why=why)
            return LiveProof(False, said)
    if found.runtime is None:  # onnxruntime itself does not run the model
        return LiveProof(True, Diagnostic("library.rules-alone", target=runtime.row.name, why=why))
    if found.runs:
        return LiveProof(True, Diagnostic("library.other-operators-differ", runtime=found.runtime, why=why))
    was = verify_in_runtime(before, before, runtime, (), conditions)
    if isinstance(was, Verification) and was.runs:  # it ran the model as it was
        return LiveProof(False, Diagnostic("library.rewrite-stops-runtime", runtime=found.runtime, why=why))
    return LiveProof(True, Diagnostic("library.rules-alone", target=runtime.row.name, why=why))


def places_of(sites: Iterable[Site]) -> list[ResizePlace]:
    """Those of the resizes that can be looked at: they have an input and an output."""
    return [ResizePlace(site.label, site.key, site.input) for site in sites if site.input and site.output]


def seconds_left(conditions: Conditions) -> float:
    """What a runtime may take: what is left of the call's time. Raises TimeIsUpError where that is nothing."""
    left = conditions.limits.left()
    return DEFAULT_TIMEOUT if left is None else left


def _error(node: NodeAnswer, runtime: str, op_type: str) -> LiveError:
    code = "library.node-alone"
    if node.ending is Ending.RAN:
        code = "library.node-alone-has-other-numbers" if node.same_shape else "library.node-alone-has-other-shape"
    return LiveError(node.node, node.output, None, op_type, Diagnostic(code, runtime=runtime, why=node.message))


def _with_rules(sites: tuple[SiteDrift, ...], document: Document, row: RuntimeRow) -> tuple[SiteDrift, ...]:
    """The drifts, each with the rule of the runtime's target that foresees it."""
    target = next((target for target in TARGETS if target.name == row.target), None)
    if target is None or not any(site.differs for site in sites):
        return sites
    broken: dict[str, Violation] = {}
    for facts in facts_in(ModelView(document)):
        for violation in judge(target, facts):
            if violation.effect is Effect.DIFFERENT:
                broken.setdefault(violation.node, violation)
    return tuple(
        replace(site, rule=broken[site.node].rule, because=broken[site.node].because)
        if site.differs and site.node in broken
        else site
        for site in sites
    )
