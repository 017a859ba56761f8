"""Nodes by few words: columns of benchmarks/runtime_cases.py, and names for several of them."""

from benchmarks.runtime_cases import model_of
from resizefix.interop import opened
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import SiteFacts
from resizefix.targets.target import Violation, judge

NAMED = {
    "TF_HALF": "opset=12 ct=tf_half_pixel_for_nn",
    "CROPPED": "ct=tf_crop_and_resize roi=0,0,0,0.1,1,1,1,0.8",
    "LISTED": "opset=18 axes=3,2,1,0 nm=floor",
    "NEXT_TO_A_TIE": "ct=asymmetric nm=round_prefer_ceil form=sizes values=1,2,5,16 shape=1x2x5x13",
    "VOLUME": "ct=pytorch_half_pixel form=sizes shape=1x4x3x7x4",
    "TO_NEGATIVE_AXES": "mode=linear opset=18 form=sizes values=10,16 policy=not_smaller",
    "TO_OPEN_LENGTHS": "mode=linear values=1,1,1,2 dyn=d2",
    "SMOOTH_CROP": "CROPPED mode=cubic aa=1 opset=18 form=sizes",
    "LISTED_SIZES": "opset=18 axes=2,3 form=sizes values=10,14 dyn=d0",
}


def columns(words: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words.split():
        found |= columns(NAMED[word]) if word in NAMED else dict([word.split("=", 1)])
    return found


def facts(words: str) -> SiteFacts:
    """Of a nearest Resize by 2, where the words say nothing else; `mode=` leaves the mode out."""
    case = columns(f"id= op=Resize opset=13 mode=nearest form=scales values=1,1,2,2 shape=1x2x5x7 {words}")
    (found,) = facts_of(opened(model_of(case)[0]))
    return found


def judged(name: str, found: SiteFacts | str) -> tuple[Violation, ...]:
    return judge(target_named(name), facts(found) if isinstance(found, str) else found)


def rules(name: str, found: SiteFacts | str) -> set[str]:
    """The rules of the target that this node breaks."""
    return {violation.rule for violation in judged(name, found)}


def rows(table: str) -> list[list[str]]:
    """Lines of words with bars between; what follows # is a comment."""
    lines = (line.split("#")[0].strip() for line in table.splitlines())
    return [[cell.strip() for cell in line.split("|")] for line in lines if line]
