"""What one message is: its wordings, whose it is, its cause, the page about it, and the commands that may help.

The commands that rows name as fixes.

How rows of runtimes besides TensorRT and onnxruntime are made: which commands are tried, and in which order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from resizefix.messages.pasted_text import Plain
from resizefix.messages.wording import MatchedSpan, Wording

Fix = tuple[str, ...]
"""The words of a command without its files: ("legalize", "--target", "tensorrt-8.0")."""

FED = "FED"
"""Among the words of a fix: the options for the sizes that the message says were fed (`fed_sizes`)."""
RELEASES = "{releases}"
"""In a cause: the releases whose rows of `targets/` have the message's `rule`."""


@dataclass(frozen=True)
class Message:
    """One message of one runtime.

    `texts` are its wordings (`wording.py` says what varies in them); the first is the one that is shown. `cause` has
    two sentences. `page` is a file of the repository. `fixes` are the commands that may help, the best first: which of
    them does depends on the model. `then` follows a fix that made a constant of what was fed, and makes another input
    of it. `target` is the target whose rules speak of the message, where no fix names one. `rule` is the rule of the
    runtime's targets that stands for it, with words of its sentence behind a colon where several have the name.
    `at_other_sizes`: it comes when an image of another size is fed. `says_where`: it names the operator alone, and
    the words behind it say why.
    """

    runtime: str
    texts: tuple[str, ...]
    cause: str
    page: str  # a path, or the name of a how-to page
    fixes: tuple[Fix, ...]
    then: Fix | None = None
    target: str | None = None
    rule: str = ""
    at_other_sizes: bool = False
    says_where: bool = False

    def __post_init__(self) -> None:
        if "/" not in self.page:
            object.__setattr__(self, "page", f"docs/how-to/{self.page}.md")

    @cached_property
    def wordings(self) -> tuple[Wording, ...]:
        """The texts, read."""
        return tuple(map(Wording, self.texts))

    @property
    def text(self) -> str:
        """The wording to show."""
        return self.wordings[0].text

    def whole_in(self, pasted: Plain) -> MatchedSpan | None:
        """Where its longest wording stands in a text."""
        spans = [span for wording in self.wordings if (span := wording.whole_in(pasted)) is not None]
        return max(spans, key=lambda span: span.letters, default=None)

    def wording_in(self, pasted: Plain) -> str:
        """Its wording that says most of what stands in a text."""
        whole = [(span.letters, one) for one in self.wordings if (span := one.whole_in(pasted)) is not None]
        parts = whole or [(letters, one) for one in self.wordings if (letters := one.part_in(pasted))]
        return max(parts, key=lambda pair: pair[0])[1].as_in(pasted) if parts else self.text

    def has_pieces(self, pasted: str) -> bool:
        """Whether one of its wordings has what stands between the dots of a text that was shortened."""
        return any(wording.has_pieces(pasted) for wording in self.wordings)

    def part_in(self, pasted: Plain) -> int:
        """How many letters of one of its wordings a text has that was cut off; 0: too few to know it by."""
        return max(wording.part_in(pasted) for wording in self.wordings)


def legalize(target: str) -> Fix:
    """The command that rewrites a model for a target."""
    return ("legalize", "--target", target)


LEGACY: Fix = ("trt-legacy",)
REPAIR: Fix = ("repair",)
FREEZE: Fix = ("freeze-scales",)
PROMOTE: Fix = ("promote-scales",)
TOGETHER: Fix = ("promote-scales", "--shared")
FOR_TENSORRT: Fix = ("promote-scales", "--for", "tensorrt")
NEWEST = legalize("tensorrt-10")
ORT = legalize("onnxruntime")
GATHER: Fix = ("set", "form=gather")
MATMUL: Fix = ("set", "form=matmul")
OTHER_OPERATORS = (MATMUL, GATHER)
PARTNER: Fix = ("set", "sizes=partner")
ANY_SIZE: Fix = ("input-size", "any")
FED_SIZE: Fix = ("input-size", FED)


# By the target that stands for them.
RUNTIMES = {
    "openvino": "OpenVINO", "opencv-4": "OpenCV", "opencv-5": "OpenCV", "ncnn": "ncnn", "mnn": "MNN", "tract": "tract",
    "tvm": "TVM", "rknn": "RKNN", "qnn": "QNN", "coreml": "CoreML", "nnapi": "NNAPI", "migraphx": "MIGraphX",
}  # fmt: skip
COORDINATES = "coordinates-and-rounding"
CONSTANT = "scales-must-be-constant"
CUBIC = "cubic-and-other-attributes"
RANK = "axes-and-rank"
SPATIAL = "axes-and-rank"
WITHOUT = "missing-kernel"


def row(target: str, page: str, cause: str, *texts: str, frozen: bool = False, runtime: str | None = None) -> Message:
    """A row of a runtime that a target stands for. `frozen`: it wants constants, so freezing comes first.

    Releases differ: where the rules accept the node that a release refused, other operators take its place.
    """
    first = (FREEZE, legalize(target)) if frozen else (legalize(target), FREEZE)
    others = (MATMUL,) if target == "ncnn" else OTHER_OPERATORS
    return Message(runtime or RUNTIMES[target], texts, cause, page, (*first, REPAIR, *others))


def elsewhere(runtime: str, page: str, cause: str, *texts: str, first: tuple[Fix, ...] = ()) -> Message:
    """A row of a runtime that no target stands for: other operators take the place of the resize."""
    return Message(runtime, texts, cause, page, (*first, *OTHER_OPERATORS))


def computed(target: str, *texts: str) -> Message:
    """A row of a runtime that wants constants where this model computes, or is fed."""
    cause = f"{RUNTIMES[target]} wants constant scales or sizes, and these are computed or fed. Make them constant."
    return row(target, CONSTANT, cause, *texts, frozen=True)


def coordinates(target: str, *texts: str) -> Message:
    """A row of a runtime that lacks the coordinate mode of the node."""
    lacks = f"{RUNTIMES[target]} does not have the coordinate mode of this node."
    return row(target, COORDINATES, f"{lacks} Another form or other operators compute the same.", *texts)
