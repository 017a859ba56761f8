"""What a real parser says: TensorRT-RTX where the extra `resizefix[tensorrt]` is installed, and onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import bodies, node_label
from resizefix.errors import UsageError
from resizefix.library.tensorrt_profile import Plan, Profile, checked, planned
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.printable import one_paragraph
from resizefix.runtimes.answers import LiveUnavailable
from resizefix.runtimes.catalogue import RUNTIMES
from resizefix.runtimes.tensorrt import LiveError, LiveParser, LiveVerdict
from resizefix.verification.conditions import Conditions

if TYPE_CHECKING:  # with it comes onnxruntime, which most calls need not load
    from resizefix.library.live_runtimes import Pythons

# The targets that the TensorRT to be installed from PyPI answers for, and what the report calls it then.
SPEAKS_FOR = {"tensorrt-rtx": "library.parser", "tensorrt-10": "library.parser-for-tensorrt-10"}

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
        found = parser.ask(model, document.folder)
        if isinstance(found, LiveVerdict) and found.accepted and build:
            found = _built(parser, model, document, planned(document, found.inputs, given), found)
    return found if isinstance(found, LiveUnavailable) else _with_feeding(_labelled(found, document), document)


def refused_by_tensorrt(document: Document, time_limit: float = 300.0) -> LiveVerdict | None:
    """What TensorRT-RTX has against the model; None: nothing, or it is not installed, or gives no answer."""
    found = live_verdict(document, time_limit=time_limit)
    return None if isinstance(found, LiveUnavailable) or found.accepted else found


def _built(parser: LiveParser, model: bytes, document: Document, plan: Plan, parsed: LiveVerdict) -> LiveVerdict:
    """The verdict with the wide profile, or, where that does not build, with the narrow one."""
    found = parsed
    for profile in (plan.wide, plan.narrow):
        answer = parser.ask(model, document.folder, build=True, profile=profile)
        if isinstance(answer, LiveUnavailable):
            return replace(parsed, unanswered=answer.reason)
        found = replace(answer, profile=profile, chosen=plan.chosen)
        if found.built is not False or plan.wide == plan.narrow:
            break
    return found


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
            from resizefix.library.live_runtimes import runtime_verdict

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
    found = refused_by_tensorrt(after, _SECONDS)
    if found is None or not found.errors:
        return None
    old = {node.SerializeToString(deterministic=True) for _, body in bodies(before.proto) for node in body.node}
    made = {
        name
        for _, body in bodies(after.proto)
        for node in body.node
        if node.SerializeToString(deterministic=True) not in old
        for name in node.output
    }
    first = found.errors[0]
    if all(error.output in made for error in found.errors):
        places = ", ".join(site.label for site in changed)
        said = {"parser": found.parser, "places": places, "node": first.node, "why": one_paragraph(first.message)}
        return Diagnostic("library.parser-refuses-rewrite", **said)
    if all(error.output is None for error in found.errors):  # it crashed, or names no node
        original = live_verdict(before, time_limit=_SECONDS)
        if isinstance(original, LiveVerdict) and original.accepted:
            why = one_paragraph(first.message)
            return Diagnostic("library.parser-takes-original", parser=found.parser, why=why)
    return None


def _with_feeding(found: LiveVerdict, document: Document) -> LiveVerdict:
    """Errors at nodes whose data come from a resize name it."""
    if not found.errors:
        return found
    labels = {site.output: site.label for site in find_sites(document)}
    makers = {name: node for _, body in bodies(document.proto) for node in body.node for name in node.output if name}
    errors = (replace(error, fed_by=_nearest_resize(error.output, makers, labels)) for error in found.errors)
    return replace(found, errors=tuple(errors))


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


def _labelled(found: LiveVerdict, document: Document) -> LiveVerdict:
    """Errors at nodes without a name get the label that reports give such a node."""
    if all(error.node != "" for error in found.errors):
        return found
    labels = {
        (node.op_type, node.output[0]): node_label(node, index)
        for _, body in bodies(document.proto)
        for index, node in enumerate(body.node)
        if node.output
    }
    labels.update({(site.op_type, site.output): site.label for site in find_sites(document)})
    errors = (
        replace(error, node=labels.get((error.op_type, error.output or ""))) if error.node == "" else error
        for error in found.errors
    )
    return replace(found, errors=tuple(errors))
