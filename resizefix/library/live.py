"""What a real parser says: TensorRT-RTX where the extra `resizefix[tensorrt]` is installed, and onnxruntime itself."""

from __future__ import annotations

from dataclasses import replace

from resizefix.document.document import Document
from resizefix.document.scopes import Scope, Scopes, node_label
from resizefix.library.profile import Plan, Profile, checked, planned
from resizefix.targets.tensorrt_live import LiveError, LiveParser, LiveUnavailable, LiveVerdict

# The targets that the installable TensorRT can speak for, and what to call it then.
STANDS_FOR = {
    "tensorrt-rtx": "{parser}",
    "tensorrt-10": "{parser}, standing in for TensorRT 10 (its parser is of the same sources, its builder another)",
}


def live_verdict(
    document: Document, *, build: bool = False, profile: Profile | None = None, time_limit: float = 300.0
) -> LiveVerdict | LiveUnavailable:
    """Ask TensorRT-RTX whether it parses the model, and with `build` whether it builds the engine, without a GPU.

    `profile` gives `{input: {"min": [..], "opt": [..], "max": [..]}}`: sizes of an input whose shape is open, values of
    one that decides shapes; for inputs it leaves out, ranges are made (`LiveVerdict.chosen`). `time_limit` is that of
    one answer, in seconds. Large weights stay in the document's file. Errors name nodes as `inspect` does.
    Raises UsageError where `profile` does not fit the model.
    """
    given = checked(profile or {}, document)
    model = document.light_bytes()
    with LiveParser(time_limit=time_limit) as parser:
        found = parser.ask(model, document.folder)
        if not isinstance(found, LiveVerdict) or not found.accepted or not build:
            return _labelled(found, document)
        plan = planned(document, found.inputs, given)
        return _labelled(_built(parser, model, document, plan, found), document)


def _built(parser: LiveParser, model: bytes, document: Document, plan: Plan, parsed: LiveVerdict) -> LiveVerdict:
    """The verdict on the widest profile that builds, of the two."""
    found = parsed
    for profile in (plan.wide, plan.narrow):
        answer = parser.ask(model, document.folder, build=True, profile=profile)
        if isinstance(answer, LiveUnavailable):
            return replace(parsed, unanswered=answer.reason)
        found = replace(answer, profile=profile, chosen=plan.chosen)
        if found.built is not False or plan.wide == plan.narrow:
            break
    return found


def live_answer(
    document: Document, target: str, *, build: bool = False, profile: Profile | None = None, time_limit: float = 300.0
) -> LiveVerdict | LiveUnavailable:
    """Ask the parser of a target of the catalogue, or one that stands in for it; see `live_verdict`."""
    if target == "onnxruntime":
        return _onnxruntime_verdict(document)
    if target not in STANDS_FOR:
        return LiveUnavailable(
            f"no parser of {target} can be run here: the one to install is TensorRT-RTX, whose parser is that of "
            f"TensorRT 10; for {target} the rules alone speak"
        )
    found = live_verdict(document, build=build, profile=profile, time_limit=time_limit)
    return replace(found, parser=STANDS_FOR[target].format(parser=found.parser)) if _is_verdict(found) else found
