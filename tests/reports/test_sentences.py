"""The tables of reports/sentences: every code is used and filled in, sentences are short and plain, and no decision
reads a text."""

import ast
import functools
import importlib
import re
import string
from pathlib import Path

import pytest

from resizefix.diagnostics import Diagnostic

PACKAGE = Path(__file__).parents[2] / "resizefix"
TABLES = sorted(path.stem for path in (PACKAGE / "reports" / "sentences").glob("*.py") if path.stem != "__init__")
SENTENCES = {
    code: text
    for room in TABLES
    for code, text in importlib.import_module(f"resizefix.reports.sentences.{room}").SENTENCES.items()
}
CODE = re.compile(rf"({'|'.join(TABLES)})\.[a-z0-9-]*[a-z0-9]")
# Keywords of the errors themselves.
OWN = {"node", "rule", "retry_args", "result", "reason", "op_type", "unchanged", "outcome"}
TEXTS = {"reason", "mend", "fix", "because", "message", "error"}
# What these rooms say are codes and arguments;
WITHOUT_SENTENCES = (
    "dialects/", "document/", "equivalences/", "faults/", "interop/", "library/", "lowerings/", "operations/",
    "opsets/", "origins/", "runtimes/", "verification/",
)  # fmt: skip
# but for these files: rows that are data, patterns of what others say, and what runs in another Python.
WITH_TEXTS = (
    "document/foreign_formats.py",
    "document/text.py",
    "equivalences/table.py",
    "faults/framework.py",  # a pattern of what torch writes
    "library/keywords.py",  # TypeErrors, of how a call is written
    "library/result.py",  # rows, for the reference
    "library/option_values.py",
    "library/options.py",
    "operations/settings.py",
    "runtimes/adapters/",
    "runtimes/catalogue.py",
    "runtimes/confinement.py",
    "runtimes/ort_error.py",
    "runtimes/runtime_worker.py",
    "runtimes/tensorrt_worker.py",
    "verification/verification.py",  # a repr
)
# Python's own errors are no user's: they are caught, or speak to who calls a function wrongly.
OF_PYTHON = (
    "ValueError", "TypeError", "AssertionError", "AttributeError", "RuntimeError", "UnpicklingError", "PermissionError",
)  # fmt: skip


@functools.cache
def trees():
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}


@functools.cache
def every_node():
    return [(path, node) for path, tree in trees().items() for node in ast.walk(tree)]


def nodes(kind):
    return [(path, node) for path, node in every_node() if isinstance(node, kind)]


def used():
    for path, node in nodes(ast.Constant):
        if isinstance(node.value, str) and CODE.fullmatch(node.value) and not path.startswith("reports/sentences"):
            yield path, node.value


def test_every_code_that_is_used_has_a_sentence_and_every_sentence_is_used():
    codes = {code for _, code in used()}
    assert codes - SENTENCES.keys() == set()
    assert SENTENCES.keys() - codes == set()


def test_every_sentence_gets_its_arguments():
    for path, call in nodes(ast.Call):
        codes = [a.value for a in call.args if isinstance(a, ast.Constant) and a.value in SENTENCES]
        if not codes or any(keyword.arg is None for keyword in call.keywords):
            continue
        if getattr(call.func, "id", "") == "Misplaced":  # whose arguments are the parts of a typed word
            continue
        fields = {field for code in codes for _, field, _, _ in string.Formatter().parse(SENTENCES[code]) if field}
        fields = {field.split(".")[0] for field in fields}
        given = {keyword.arg for keyword in call.keywords}
        # What is blocked is told of the opset by what catches it.
        fields -= {"opset"} - given if getattr(call.func, "id", "") in ("Blocked", "Absent") else set()
        # The record of the default level says why.
        fields -= {"why"} - given if getattr(call.func, "attr", "") == "require" else set()
        assert fields <= given, f"{path}:{call.lineno}: {codes} lack {fields - given}"
        assert given <= fields | OWN, f"{path}:{call.lineno}: {codes} do not use {given - fields - OWN}"


@pytest.mark.parametrize("room", TABLES)
def test_a_sentence_is_of_its_room(room):
    for code in importlib.import_module(f"resizefix.reports.sentences.{room}").SENTENCES:
        assert code.startswith(f"{room}.")


def too_long(text):
    """The sentences of more than 30 words; only a full stop, a mark or a blank line ends one."""
    return [one for one in re.split(r"(?<=[.!?])\s|\n\s*\n", text) if len(one.split()) > 30]


def texts_in(tree, apart=()):
    """Every text of a file that is no docstring and no argument of a call in `apart`; what is put in counts as one
    word."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    inner |= {id(part) for call in calls if getattr(call.func, "id", "") in apart for part in call.args}
    for node in (node for node in ast.walk(tree) if id(node) not in inner):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_a_sentence_that_is_too_long_is_noticed():
    words = "word " * 16
    tree = ast.parse(f'"""{words * 2}"""\nx = f"{words}{{y}} {words}."\nz = "{words}; {words}"\nw = "{words}. {words}"')
    assert [line for line, text in texts_in(tree) if too_long(text)] == [2, 3]


def test_no_sentence_in_the_code_has_more_than_30_words():
    """Tables, rules, faults, messages of runtimes, reports and options: whatever a user may read."""
    found = ((path, *row) for path, tree in trees().items() for row in texts_in(tree))
    assert {f"{path}:{line}": long for path, line, text in found if (long := too_long(text))} == {}


def test_no_sentence_of_the_help_has_more_than_30_words():
    from resizefix.cli import group

    commands = [group, *(group.get_command(None, name) for name in group.list_commands(None))]
    texts = [text for command in commands for text in (command.help, command.epilog, command.short_help) if text]
    texts += [param.help for command in commands for param in command.params if getattr(param, "help", None)]
    assert len(commands) == 15
    assert len(texts) > 250
    assert {text for text in texts if too_long(text)} == set()


def test_no_sentence_of_a_public_call_has_more_than_30_words():
    import resizefix

    calls = {name: getattr(resizefix, name) for name in resizefix.__all__}
    long = {name: too_long(call.__doc__ or "") for name, call in calls.items() if callable(call)}
    assert {name: found for name, found in long.items() if found} == {}


def test_sentences_are_made_in_the_tables_alone():
    for path, call in nodes(ast.Call):
        if path.startswith("runtimes/adapters/"):
            continue  # they run in another Python, and speak for the runtime
        if getattr(getattr(call.func, "value", None), "id", "") == "click":
            continue  # in the words of click itself
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if not (name.endswith("Error") or name in ("Blocked", "No", "LiveUnavailable", "Absent")):
            continue
        if name in OF_PYTHON:
            continue
        for text in [*call.args[:2], *(keyword.value for keyword in call.keywords if keyword.arg in TEXTS)]:
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            literal = "".join(
                part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            assert not re.search(r"[a-z]{2,} [a-z]{2,}", literal), f"{path}:{call.lineno}: {literal}"


def test_most_rooms_hold_no_sentence():
    """No text there is longer than a name or a label: four words, outside docstrings and Python's own errors."""
    said = [
        f"{path}:{line}: {text}"
        for path, tree in trees().items()
        if path.startswith(WITHOUT_SENTENCES) and not path.startswith(WITH_TEXTS)
        for line, text in texts_in(tree, apart=OF_PYTHON)
        if len(text.split()) > 4
    ]
    assert said == []


def test_no_decision_reads_a_text():
    """What a foreign library says is read in one place, verification/runtime.py."""
    for path, compare in nodes(ast.Compare):
        sides = [compare.left, *compare.comparators]
        if path == "verification/runtime.py" or not any(isinstance(op, (ast.In, ast.Eq)) for op in compare.ops):
            continue
        read = [side for side in sides if _is_text(side)]
        written = [side for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)]
        assert not (read and written), f"{path}:{compare.lineno}"


def _is_text(node):
    if isinstance(node, ast.Call):
        argument = node.args[0] if node.args else None
        return getattr(node.func, "id", "") == "str" and isinstance(argument, ast.Name) and argument.id == "error"
    return isinstance(node, ast.Attribute) and node.attr in TEXTS


def test_a_diagnostic_keeps_its_code_and_arguments_through_a_pickle():
    import pickle

    made = Diagnostic("document.no-such-file", path="m.onnx")
    again = pickle.loads(pickle.dumps(made))
    assert (again, again.code, again.arguments) == (str(made), made.code, made.arguments)
