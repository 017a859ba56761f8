"""The options of the command line and of the library's calls: one row for each.

The options of a command, the checks of a call and the pages of reference are made from these rows. A call's signature
has the types and the defaults as well, for type checkers; a test compares it with the rows.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from resizefix.diagnostics import UsageError
from resizefix.library import option_values as kinds
from resizefix.library.option_values import OptionKind, pairs_once
from resizefix.process import DEFAULT_TIMEOUT
from resizefix.words import nearest

# What the name of OUT ends with where none is given: IN's name without .onnx goes before it. {opset} is the argument N.
OUT_ENDINGS = {
    "promote-scales": ".promoted.onnx",
    "freeze-scales": ".frozen.onnx",
    "trt-legacy": ".trt-legacy.onnx",
    "legalize": ".legal.onnx",
    "repair": ".repaired.onnx",
    "set": ".set.onnx",
    "opset": ".opset{opset}.onnx",
    "input-size": ".resized.onnx",
}
CHANGING = tuple(OUT_ENDINGS)
"""The commands that write a model."""
_RAISING = ("promote-scales", "legalize", "repair", "set")
_REWRITING = ("legalize", "trt-legacy")
_INLINING = tuple(command for command in CHANGING if command != "trt-legacy")  # which inlines in any case
_READING = ("inspect", "check")
_DRAWING = ("inspect", "verify", "diff")
_REPORTING = (*_DRAWING, "check")
_RUNNING = (*CHANGING, "verify")
_BOUNDED = (*_RUNNING, "inspect", "diff", "explain")

Gather = Callable[[Iterable[Any]], Any]


class Option(NamedTuple):
    """An option of the commands `on`; `name` is the keyword of their library calls.

    `typed` are its spellings where they are others than `--name`, none for an option of the library alone. A flag that
    is on by default and has one spelling is typed to turn it off. `gather` makes one value of those that were typed,
    of an option that can be repeated. With `program` the library's call does not have it. `rare` ones are explained by
    --help-all. `alone` is the value of an option that was typed without one.
    """

    name: str
    kind: OptionKind
    on: tuple[str, ...]
    help: str = ""
    default: Any = None
    typed: tuple[str, ...] | None = None
    gather: Gather | None = None
    program: bool = False
    rare: bool = False
    alone: str | None = None

    @property
    def spellings(self) -> tuple[str, ...]:
        """What is typed for it."""
        return (f"--{self.name.rstrip('_').replace('_', '-')}",) if self.typed is None else self.typed

    @property
    def turns_off(self) -> bool:
        """Whether typing it makes it False."""
        return self.kind is kinds.FLAG and self.default is True and "/" not in self.spellings[0]


program = partial(Option, program=True)
repeated = partial(Option, gather=tuple, default=())

OPTIONS: tuple[Option, ...] = (
    program("output_dir", kinds.FILE._replace(metavar="DIR"), CHANGING,
        "Take several models or folders, and write each result into DIR.", rare=True),
    program("jobs", kinds.COUNT, (*CHANGING, *_READING), "Work on this many models at a time.", 1, rare=True),
    program("jsonl", kinds.FLAG, (*CHANGING, *_READING),
        "Of several models, print a line of JSON as each ends.", False, rare=True),
    Option("form", kinds.FORM, ("promote-scales",),
        "Feed all scales (default), those of scaled axes, one factor, or the output size."),
    Option("input_name", kinds.NAME, ("promote-scales",), "Name of the new input.  [default: NODE_scales]"),
    Option("shared", kinds.FLAG, ("promote-scales",), "Use one input for all selected nodes.", False),
    Option("keep_default", kinds.FLAG, ("promote-scales",), "Keep the old value as the input's default.", False),
    Option("for_", kinds.one_of("onnxruntime", "tensorrt"), ("promote-scales",),
        "Runtime of the new model; for TensorRT the input is an int64 factor.", "onnxruntime"),
    Option("denominator", kinds.DENOMINATOR, ("promote-scales",),
        "The number that TensorRT's factor is divided by.  [default: 1, or 1000 for a fraction]", rare=True),
    Option("shape_inputs", kinds.FLAG, ("promote-scales",),
        "For TensorRT, float inputs that decide sizes become int64, too.", True, ("--shape-inputs/--no-shape-inputs",),
        rare=True),
    Option("shape_inputs", kinds.FLAG, ("legalize",),
        "For TensorRT, float inputs that decide sizes become int64 first.", False, rare=True),
    Option("denominator", kinds.DENOMINATOR, ("legalize",),
        "With --shape-inputs: the number that an input of scales is divided by.  [default: 1]", rare=True),
    Option("set", kinds.VALUES, ("freeze-scales",), "Freeze this input at this value, INPUT=2,2 (repeatable).",
        gather=dict),
    Option("all_uses", kinds.FLAG, ("freeze-scales",),
        "Freeze the input for all other nodes that read it, too.", False),
    Option("target", kinds.LEGACY_TARGET, ("trt-legacy",),
        "The TensorRT (5.0 to 7.2) that must accept the result; `list` prints the names.", "tensorrt-5.0"),
    Option("target", kinds.TARGET, ("legalize",),
        "The runtime that must accept the result, or FILE.toml; `list` prints the names."),
    Option("target", kinds.TARGET, ("check",),
        "Check the rules of this runtime, or of FILE.toml (repeatable); `list` prints the names.  [default: all]",
        gather=tuple),
    program("all", kinds.FLAG, ("check",), "Also show the releases of TensorRT before 8.0, and what the rules found.",
        False),
    Option("fastest", kinds.FLAG, ("legalize",),
        "Time every form that computes the same in TARGET (default: onnxruntime); keep the fastest.", False),
    Option("hybrid", kinds.FLAG, ("trt-legacy",),
        "Import opset 9 and keep the attribute, as old tutorials do; the file is not valid ONNX.", False),
    Option("prefer", kinds.PREFERENCES, ("repair",),
        "Use this reading where scales and sizes disagree, or where no coordinates are stated (once for each); "
        "pytorch: the numbers of PyTorch where its export computes others.",
        gather=tuple),
    Option("remove_identity", kinds.FLAG, ("repair",), "Also replace resizes with scale 1 by Identity.", False),
    Option("opset", kinds.OPSET, _RAISING, "Raise the model to opset N first, operator by operator.", rare=True),
    Option("opset", kinds.ANY_OPSET, ("opset",), typed=()),
    Option("inline", kinds.FLAG, _INLINING, "First inline the local functions, which is verified.", False,
        rare=True),
    repeated("at", kinds.SCALES, ("promote-scales",), "Also verify at this scale (repeatable)."),
    Option("allow_coupled", kinds.FLAG, ("promote-scales",), "Also promote nodes that another scale would break.",
        False),
    Option("live", kinds.FLAG, ("legalize",), "Where the runtime of TARGET is installed, also run the result there.",
        True, ("--live/--no-live",)),
    Option("live", kinds.FLAG, ("check",),
        "Also ask the runtime of the target, which must be installed; for TensorRT 10 that is TensorRT-RTX (pip "
        "install 'resizefix[tensorrt]').", False),
    Option("runtime", kinds.RUNTIME._replace(metavar="NAME"), ("verify",),
        "Run AFTER (or the only model) in another runtime, such as openvino, opencv-5 or mnn; compare every resize."),
    Option("runtime_python", kinds.PYTHONS, ("legalize", "check", "verify"),
        "The Python that has a runtime, such as opencv-4=/path/to/bin/python (repeatable).", gather=dict, rare=True),
    Option("build", kinds.FLAG, ("check",), "Like --live, and build the engine; no GPU is needed.", False),
    program("min_shapes", kinds.SHAPES, ("check",),
        "Smallest shapes for --build, or values of inputs that decide shapes.", (), ("--min-shapes", "--minShapes"),
        tuple, rare=True),
    program("opt_shapes", kinds.SHAPES, ("check",), "Usual shapes for --build; given alone, the only ones.", (),
        ("--opt-shapes", "--optShapes"), tuple, rare=True),
    program("max_shapes", kinds.SHAPES, ("check",),
        "Largest shapes for --build; where none are given, ranges are chosen and shown.", (),
        ("--max-shapes", "--maxShapes"), tuple, rare=True),
    Option("timeout", kinds.SECONDS, ("check",), "Wait this long for one answer of --live.", 300, rare=True),
    Option("profile", kinds.PROFILE, ("check",), typed=()),
    Option("size", kinds.SIZE, ("freeze-scales", "trt-legacy", "legalize"),
        "First set the open height and width of the image inputs to HxW, such as 720x1280."),
    Option("size", kinds.SIZE_OR_ANY, ("input-size",), typed=()),
    Option("batch", kinds.BATCH, ("input-size",), "Also set the batch: a number, or any."),
    repeated("input", kinds.IMAGES, ("input-size",),
        "Only these image inputs, in proportion or of these shapes (repeatable)."),
    repeated("keep", kinds.NAME_PATTERN, ("input-size",), "Keep the sizes in these nodes (repeatable)."),
    repeated("follow_input", kinds.NAME_PATTERN, ("input-size",),
        "Let the sizes in these nodes follow the input (repeatable).", typed=("--follow",)),
    repeated("read", kinds.READINGS, ("input-size",), "Choose a reading by its name, NODE=READING (repeatable).",
        rare=True),
    Option("assume", kinds.one_of("usual", "none"), ("input-size",),
        "Whether conventions may decide what a number follows; none: all are asked.", "usual", rare=True),
    Option("like", kinds.ANY_MODEL, ("input-size",),
        "The same network exported at another size: the readings are solved from it."),
    Option("was", kinds.OLD_SIZE, ("input-size",), "The size that the constants of a file with open axes are for.",
        rare=True),
    Option("keep_overridable", kinds.FLAG, ("input-size",),
        "Leave constants that are listed as inputs to those who feed them.", False, rare=True),
    program("ask", kinds.FLAG, ("input-size",), "Ask for each choice on the terminal.", False, rare=True),
    Option("interpolate_positions", kinds.FLAG, ("input-size",),
        "Interpolate learned tables of positions: an approximation.", False),
    Option("feed", kinds.FEED, ("set",),
        "Also measure on a picture or a .npy file; INPUT=V,… feeds numbers (repeatable).", gather=pairs_once),
    Option("feed", kinds.FEED, ("verify",),
        "Feed an input a picture or a .npy file, whose outputs --html shows; or numbers, INPUT=V,… (repeatable). "
        "FILE.npz or a folder test_data_set_0 feeds every input.",
        gather=pairs_once),
    Option("expect", kinds.EXPECTED, ("verify",),
        "Compare the only model with the outputs in FILE (.npz, .npy, or a folder test_data_set_0) for what --feed "
        "gives."),
    Option("atol", kinds.TOLERANCE, ("verify",), "Absolute difference allowed.", 0),
    Option("rtol", kinds.TOLERANCE, ("verify",), "Relative difference allowed.", 0),
    Option("runs", kinds.COUNT, ("verify",), "Compare on this many feeds instead of as many as the model needs."),
    Option("meaning_only", kinds.FLAG, ("diff",),
        "Leave out what no runtime reads: doc strings, metadata, the producer, how tensors are stored.", False),
    program("html", kinds.FILE, ("set",), "Write a page with pictures: before, after and their difference."),
    Option("allow_inexact", kinds.FLAG, (*_REWRITING, "opset"),
        "Allow approximate rewrites; the measured difference is reported.", False),
    Option("allow_inexact", kinds.FLAG, ("set",),
        "Also nodes that sizes=partner samples otherwise.", False),
    Option("lower", kinds.FLAG, _REWRITING, "Replace a node by other operators where needed.", True,
        ("--lower/--no-lower",)),
    program("html", kinds.FILE, _DRAWING, "Write a page with every node drawn."),
    program("html", kinds.FILE, ("check",), "Write a page with every rule that a node breaks."),
    program("markdown", kinds.FILE._replace(metavar="[FILE]"), _REPORTING,
        "Write a report for a pull request; to stdout without FILE or with -.", alone="-"),
    program("force", kinds.FLAG, _REPORTING, "Replace report files that exist.", False),
    *(program("output_option", kinds.FILE._replace(metavar="OUT"), (command,),
        f"The same as OUT.  [default: IN{ending.format(opset='N')}]", typed=("-o", "--output"))
      for command, ending in OUT_ENDINGS.items()),
    program("force", kinds.FLAG, CHANGING, "Replace OUT if it exists.", False),
    program("in_place", kinds.FLAG, CHANGING, "Replace the input file.", False),
    program("dry_run", kinds.FLAG, CHANGING, "Show each node before and after; write nothing.", False),
    program("output", kinds.FILE, ("target",), "Write this file.  [default: NAME.toml]", typed=("-o", "--output")),
    program("force", kinds.FLAG, ("target",), "Replace the file if it exists.", False),
    Option("node", kinds.PATTERN, tuple(command for command in CHANGING if command not in ("input-size", "opset")),
        "Only these nodes: a glob on the name, or #K (repeatable).", (), ("-n", "--node"), tuple),
    program("node", kinds.PATTERN, ("opset",), "Only these nodes: a glob on the name, or #K (repeatable).", (),
        ("-n", "--node"), tuple),
    program("node", kinds.PATTERN, ("input-size",), "Refused: --keep and --follow choose what a node does.", (),
        ("-n", "--node"), tuple),
    Option("verify", kinds.FLAG, CHANGING, "Write the result without running the models.", True, ("--no-verify",)),
    program("copy_unchanged", kinds.FLAG, CHANGING, "If nothing needs to change, copy IN to OUT.", False, rare=True),
    program("strict", kinds.FLAG, CHANGING, "Exit with 1 if nothing needs to change.", False, rare=True),
    program("save_as_external_data", kinds.FLAG, CHANGING, "Put large tensors into a file OUT.data next to OUT.", False,
        rare=True),
    Option("timeout", kinds.SECONDS, _BOUNDED,
        f"Stop after this time; nothing is written.  [default: {DEFAULT_TIMEOUT:g}]", rare=True),
    Option("memory_limit", kinds.MEMORY, _BOUNDED,
        "Memory that the tensors of a run may take, such as 4G.  [default: half of the free memory]", rare=True),
    Option("shape", kinds.SHAPE, _RUNNING, "Run the model with an input of this shape, NAME:1,3,224,224 (repeatable).",
        gather=dict, rare=True),
    Option("seed", kinds.SEED, _RUNNING, "Seed of the random values that inputs are fed.", 0, rare=True),
    repeated("custom_op_library", kinds.PATHS, _RUNNING,
        "Load this library of custom operators into onnxruntime (repeatable).", rare=True),
    Option("progress", kinds.CALLBACK, _RUNNING, typed=()),
    Option("on_refusal", kinds.ON_REFUSAL, CHANGING, default="raise", typed=()),
)  # fmt: skip


def call_of(command: str) -> str:
    """The name of the library's call of a command."""
    return "set_interpolation" if command == "set" else command.replace("-", "_")


def command_of(call: str) -> str:
    """The command of a library's call."""
    return "set" if call == "set_interpolation" else call.replace("_", "-")


@cache
def options_of(command: str) -> tuple[Option, ...]:
    """The rows of a command, in the order of its help."""
    return tuple(option for option in OPTIONS if command in option.on)


@cache
def checks_of(call: str) -> Mapping[str, tuple[OptionKind, bool]]:
    """How the options of a library call are checked, by name, and whether None is one of their values."""
    rows = (option for option in OPTIONS if not option.program and call in map(call_of, option.on))
    checks = {option.name: (option.kind, option.default is None) for option in rows}
    if call == "check":
        checks["target"] = (kinds.TARGET, True)
    if call == "set_interpolation":
        from resizefix.operations.settings import ALIASES, READERS, read  # which know all lowerings

        checks |= {name: (OptionKind(partial(read, name)), True) for name in (*READERS, *ALIASES)}
    return checks


def checked_options(call: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call with their values as it uses them. Raises UsageError, which says what an option takes."""
    checks, values = checks_of(call), dict(options)
    for name, value in options.items():
        if name not in checks or (value is None and checks[name][1]):
            continue
        kind = checks[name][0]
        try:
            values[name] = kind.check(value)
        except UsageError:
            raise
        except Exception as error:  # whatever a foreign object's own methods raise
            near = nearest(value, kind.choices)
            words: dict[str, Any] = {"name": name, "value": reprlib.repr(value), "wanted": kind.takes}
            if near is not None:
                raise UsageError("library.option-is-near", near=repr(near), **words) from error
            raise UsageError("library.option-takes", **words) from error
    return values


def library_options(command: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a command's values that its library call takes."""
    return {
        option.name: values[option.name] for option in options_of(command) if not option.program and option.spellings
    }


def words_as_options(command: str, words: Iterable[str]) -> dict[str, Any]:
    """Typed options as the command's library call takes them. Raises KeyError for one that the command does not have.

    `words` are right: they are suggestions of this package.
    """
    by_word = {
        word: option for option in options_of(command) for typed in option.spellings for word in typed.split("/")
    }
    typed: dict[str, list[Any]] = {}
    rest = iter(words)
    for word in rest:
        option = by_word[word]
        is_flag = option.kind is kinds.FLAG
        value = not (option.turns_off or word.startswith("--no-")) if is_flag else _read(option.kind, next(rest))
        typed.setdefault(option.name, []).append(value)
    gathers = {option.name: option.gather for option in options_of(command)}
    return {name: values[-1] if (gather := gathers[name]) is None else gather(values) for name, values in typed.items()}


def with_words(command: str, options: Mapping[str, Any], words: Iterable[str]) -> dict[str, Any]:
    """The options of a call with typed ones added, as behind those that were typed before."""
    added = words_as_options(command, words)
    for name, value in added.items():
        before = options.get(name)
        if isinstance(value, dict):
            added[name] = {**(before or {}), **value}
        elif isinstance(value, tuple) and isinstance(before, tuple) and _is_repeated(command, name):
            added[name] = (*before, *value)
    return {**options, **added}


def _is_repeated(command: str, name: str) -> bool:
    return any(option.name == name and option.gather is tuple for option in options_of(command))


def _read(kind: OptionKind, text: str) -> Any:
    if kind.read is not None:
        return kind.read(text)
    return text if kind.number is None else kind.number(text)
