"""What a real parser says: TensorRT-RTX where the extra `resizefix[tensorrt]` is installed, and onnxruntime.

A model in a runtime that is installed: what `check --live` says of it there, `verify --runtime`, and `legalize` of a
rewrite before it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import bodies, node_label
from resizefix.library.tensorrt_profile import Profile, ProfilePlan, checked, planned
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.outcome import ErrorBound
from resizefix.printable import one_paragraph
from resizefix.process import DEFAULT_TIMEOUT
from resizefix.runtimes.catalogue import RUNTIMES, RuntimeRow, runtime_named
from resizefix.runtimes.runtime import Ending, LiveUnavailable, NodeAnswer, Runtime
from resizefix.runtimes.tensorrt import LiveError, LiveParser, LiveVerdict, of_the_whole
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.target import Effect, Target, Violation, judge
from resizefix.targets.tensorrt import SPEAKS_FOR
from resizefix.verification.in_runtime import RIGHT_WITHIN, nodes_in_runtime, verify_in_runtime, with_bodies
from resizefix.verification.signatures import Feeding
from resizefix.verification.verification import Conditions, ResizePlace, SiteDrift, Verification

_MOST_ABOVE = 24  # tensors above a node in which a resize that feeds it is looked for
_SECONDS = 60.0  # for a parser that is asked about a rewrite


def live_verdict(
    document: Document, *, build: bool = False, profile: Profile | None = None, time_limit: float = 300.0
) -> LiveVerdict | LiveUnavailable:
    """Ask TensorRT-RTX whether it parses the model, and with `build` whether it builds the engine, without a GPU.

    `profile` gives `{input: {"min": [..], "opt": [..], "max": [..]}}`: the sizes of an input whose shape is open, the
    values of one that decides shapes; for those it leaves out, ranges are made (`LiveVerdict.chosen`). `time_limit` is
    that of one answer, in seconds. Large weights stay in the document's file. Errors name nodes as `inspect` does.
    Raises UsageError where `profile` does not fit the model.
    """
    given = checked(profile or {}, document)
    model = document.light_bytes()
    with LiveParser(time_limit=time_limit) as parser:
        verdict = parser.ask(model, document.folder)
        if isinstance(verdict, LiveVerdict) and verdict.accepted and build:
            verdict = _built(parser, model, document, planned(document, verdict.inputs, given), verdict)
    return verdict if isinstance(verdict, LiveUnavailable) else _with_feeding(_labelled(verdict, document), document)


def refused_by_tensorrt(document: Document, time_limit: float = 300.0) -> LiveVerdict | None:
    """What TensorRT-RTX has against the model; None: nothing, or it is not installed, or gives no answer."""
    verdict = live_verdict(document, time_limit=time_limit)
    return None if isinstance(verdict, LiveUnavailable) or verdict.accepted else verdict


def _built(parser: LiveParser, model: bytes, document: Document, plan: ProfilePlan, parsed: LiveVerdict) -> LiveVerdict:
    """The verdict with the wide profile, or, where that does not build, with the narrow one."""
    answer_of_build = parsed
    for profile in (plan.wide, plan.narrow):
        answer = parser.ask(model, document.folder, build=True, profile=profile)
        if isinstance(answer, LiveUnavailable):
            return replace(parsed, unanswered=answer.reason)
        answer_of_build = replace(answer, profile=profile, chosen=plan.chosen)
        if answer_of_build.built is not False or plan.wide == plan.narrow:
            break
    return answer_of_build


def onnxruntime_verdict(document: Document) -> LiveVerdict:
    """Whether onnxruntime loads the model at its default optimization level."""
    from resizefix.runtimes.ort_session import CannotLoadError, open_session

    try:
        open_session(document, optimized=True)
    except CannotLoadError as error:
        complaint = LiveError(error.node, None, None, error.op_type or "", error.reason)
        return LiveVerdict("onnxruntime, CPU", False, (complaint,))
    return LiveVerdict("onnxruntime, CPU", True)


def live_verdicts(
    document: Document,
    targets: Sequence[str],
    *,
    build: bool = False,
    profile: Profile | None = None,
    time_limit: float = 300.0,
    pythons: Pythons | None = None,
) -> dict[str, LiveVerdict | LiveUnavailable]:
    """For each target what its own parser or runtime says, or one that stands in; TensorRT is asked once for all."""
    if profile and not set(targets) & SPEAKS_FOR.keys():
        raise UsageError("library.shapes-without-build", speaks_for=" or ".join(SPEAKS_FOR))
    answers: dict[str, LiveVerdict | LiveUnavailable] = {}
    asked: LiveVerdict | LiveUnavailable | None = None
    for target in targets:
        if target == "onnxruntime":
            answers[target] = onnxruntime_verdict(document)
        elif target in SPEAKS_FOR:
            asked = asked or live_verdict(document, build=build, profile=profile, time_limit=time_limit)
            called = Diagnostic(SPEAKS_FOR[target], parser=getattr(asked, "parser", ""))
            answers[target] = asked if isinstance(asked, LiveUnavailable) else replace(asked, parser=called)
        elif target in RUNTIMES:
            python = (pythons or {}).get(target)
            answers[target] = runtime_verdict(
                document, RUNTIMES[target], Conditions(), python=python, time_limit=time_limit
            )
        else:
            answers[target] = LiveUnavailable(Diagnostic("library.no-live-parser", target=target))
    return answers


def why_live_refuses(before: Document, after: Document, changed: Sequence[Site]) -> str | None:
    """What TensorRT-RTX has against the nodes that a rewrite put in the place of `changed`, and against no others.

    None: nothing, or it has something against nodes that were there before (then nothing it says of the later ones is
    certain), or it is not installed or gives no answer.
    """
    verdict = refused_by_tensorrt(after, _SECONDS)
    if verdict is None or not verdict.errors:
        return None
    old = {node.SerializeToString(deterministic=True) for _, body in bodies(before.proto) for node in body.node}
    outputs = {
        name
        for _, body in bodies(after.proto)
        for node in body.node
        if node.SerializeToString(deterministic=True) not in old
        for name in node.output
    }
    first = verdict.errors[0]
    if all(error.output in outputs for error in verdict.errors):
        places = ", ".join(site.label for site in changed)
        said = {"parser": verdict.parser, "places": places, "node": first.node, "why": one_paragraph(first.message)}
        return Diagnostic("library.parser-refuses-rewrite", **said)
    if all(error.output is None for error in verdict.errors):  # it crashed, or names no node
        original = live_verdict(before, time_limit=_SECONDS)
        if isinstance(original, LiveVerdict) and original.accepted:
            why = one_paragraph(first.message)
            return Diagnostic("library.parser-takes-original", parser=verdict.parser, why=why)
    return None


def _with_feeding(verdict: LiveVerdict, document: Document) -> LiveVerdict:
    """Errors at nodes whose data come from a resize name it."""
    if not verdict.errors:
        return verdict
    labels = {site.output: site.label for site in find_sites(document)}
    makers = {name: node for _, body in bodies(document.proto) for node in body.node for name in node.output if name}
    errors = (replace(error, fed_by=_nearest_resize(error.output, makers, labels)) for error in verdict.errors)
    return replace(verdict, errors=tuple(errors))


def _nearest_resize(output: str | None, makers: Mapping[str, NodeProto], labels: Mapping[str, str]) -> str | None:
    """The label of the resize that is the fewest nodes above the one that makes `output`; None: none is near."""
    above = [output] if output in makers else []
    seen = set(above)
    for name in above:
        maker = makers.get(name or "")
        for source in maker.input if maker is not None and maker.op_type != "Shape" else ():
            if source in labels:
                return labels[source]
            if source not in seen and len(seen) < _MOST_ABOVE:
                seen.add(source)
                above.append(source)
    return None


def _labelled(verdict: LiveVerdict, document: Document) -> LiveVerdict:
    """Errors at nodes without a name get the label that reports give such a node."""
    if all(error.node != "" for error in verdict.errors):
        return verdict
    labels = {
        (node.op_type, node.output[0]): node_label(node, index)
        for _, body in bodies(document.proto)
        for index, node in enumerate(body.node)
        if node.output
    }
    labels.update({(site.op_type, site.output): site.label for site in find_sites(document)})
    errors = (
        replace(error, node=labels.get((error.op_type, error.output or ""))) if error.node == "" else error
        for error in verdict.errors
    )
    return replace(verdict, errors=tuple(errors))


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
        verification = verify_in_runtime(before, after, runtime, places, conditions, allowed, feeding)
        if before is after and not isinstance(verification, LiveUnavailable):
            verification = with_bodies(verification, before, runtime, places, conditions)
    if isinstance(verification, LiveUnavailable):
        raise UsageError("library.runtime-cannot-be-asked", why=verification.reason)
    return replace(verification, sites=_with_rules(verification.sites, before, row), sessions=conditions.spent.sessions)


@dataclass(frozen=True)
class LiveProof:
    """Whether the rewrite may be written, and what is to be said of the runtime.

    `fits` is False where a resize that was rewritten is wrong there, in the model or alone, and where the runtime does
    not run the model now, and ran it before or finds nothing in it but resizes. `refuted` are the rewritten nodes to
    blame; none: that is not known.
    """

    fits: bool
    said: Diagnostic
    refuted: frozenset[Key] = frozenset()


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
        if target.file:
            return LiveProof(True, Diagnostic("library.rules-of-file-alone", target=target.name, file=target.file))
        return LiveProof(True, Diagnostic("library.rules-alone-no-runtime", target=target.name))
    places = places_of(changed)
    with Runtime(row, python=python, time_limit=min(seconds_left(conditions), _MOST_SECONDS)) as runtime:
        verification = verify_in_runtime(before, after, runtime, places, conditions)
        if isinstance(verification, LiveUnavailable):
            return LiveProof(True, Diagnostic("library.rules-alone", target=target.name, why=verification.reason))
        if verification.passed:
            return LiveProof(True, Diagnostic("library.right-in-runtime", runtime=verification.runtime))
        if verification.runtime is None:  # onnxruntime itself does not run the model
            return LiveProof(True, Diagnostic("library.rules-alone", target=target.name, why=verification.reason))
        if verification.runs:
            return _of_differing(verification, places)
        was = verify_in_runtime(before, before, runtime, (), conditions)
        alone = nodes_in_runtime(after, runtime, places, conditions)
    alone = () if isinstance(alone, LiveUnavailable) else alone
    if isinstance(was, Verification) and was.runs:  # it ran the model as it was
        said = Diagnostic("library.rewrite-stops-runtime", runtime=verification.runtime, why=verification.reason)
        return LiveProof(False, said, _to_blame(alone, places))
    nodes = [node for _, body in bodies(before.proto) for node in body.node if node.op_type != "Constant"]
    return _of_neither_run(verification, places, alone, nothing_else=len(nodes) == len(changed))


def _of_differing(verification: Verification, places: Sequence[ResizePlace]) -> LiveProof:
    """The proof where the runtime runs the model and gives something else."""
    args = {"runtime": verification.runtime, "why": verification.reason or ""}
    wrong = [drift.node for drift in verification.sites if drift.differs and drift.input_rel_diff <= RIGHT_WITHIN]
    if not wrong:
        return LiveProof(True, Diagnostic("library.other-operators-differ", **args))
    refuted = frozenset(place.key for place in places if place.label in wrong)
    return LiveProof(False, Diagnostic("library.rewrite-differs-in-runtime", node=wrong[0], **args), refuted)


def _of_neither_run(
    verification: Verification, places: Sequence[ResizePlace], alone: Sequence[NodeAnswer], *, nothing_else: bool
) -> LiveProof:
    """The proof where the runtime runs the model neither before nor after; `alone`: what it makes of each rewritten
    node by itself, at sizes that are fixed. `nothing_else`: the model has no other operators."""
    wrong = next((answer for answer in alone if answer.ending is not None and not answer.agrees), None)
    if wrong is not None or nothing_else:
        node, why = (places[0].label, verification.reason) if wrong is None else (wrong.node, wrong.message)
        said = Diagnostic("library.rewrite-is-not-run", runtime=verification.runtime, node=node, why=why)
        return LiveProof(False, said, _to_blame(alone, places))
    all_right = alone and all(answer.ending is Ending.RAN for answer in alone)
    code = "library.runs-neither-but-nodes" if all_right else "library.runs-neither"
    return LiveProof(True, Diagnostic(code, runtime=verification.runtime, why=verification.reason))


def _to_blame(alone: Sequence[NodeAnswer], places: Sequence[ResizePlace]) -> frozenset[Key]:
    outputs = {answer.output for answer in alone if answer.ending is not None and not answer.agrees}
    return frozenset(place.key for place in places if place.key[1] in outputs)


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
    from resizefix.targets.catalogue import TARGETS  # with the rules of all runtimes

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
