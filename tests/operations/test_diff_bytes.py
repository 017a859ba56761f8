"""Files whose bytes were changed at random and still parse: `diff` says "the same" only where they say the same."""

from functools import cache
from pathlib import Path

import onnx
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.operations.diff import diff

FIXTURES = Path(__file__).parents[2] / "fixtures"
MODELS = (
    "handmade/every_kind_of_metadata",
    "handmade/function_nested_other_opset",
    "handmade/data_int32",
    "scripted_if_opset11",
    "scripted_loop_opset11",
    "srcnn_x3_opset11",
)
# Lists whose order says nothing, with what their entries are looked up by.
LOOKED_UP = {
    "initializer": lambda entry: entry.name,
    "sparse_initializer": lambda entry: entry.values.name,
    "value_info": lambda entry: entry.name,
    "quantization_annotation": lambda entry: entry.tensor_name,
    "opset_import": lambda entry: "" if entry.domain == "ai.onnx" else entry.domain,
    "functions": lambda entry: (entry.domain, entry.name, entry.overload),
    "attribute": lambda entry: entry if isinstance(entry, str) else entry.name,
    "attribute_proto": lambda entry: entry.name,
    **dict.fromkeys(
        ("metadata_props", "external_data", "quant_parameter_tensor_names", "initialization_binding", "update_binding"),
        lambda entry: entry.key,
    ),
}


def sorted_lists(message: Message) -> None:
    for field, value in message.ListFields():
        if field.name in LOOKED_UP:
            value.sort(key=LOOKED_UP[field.name])
        if field.message_type is not None:
            for inner in [value] if isinstance(value, Message) else value:
                sorted_lists(inner)


def said(data: bytes) -> bytes:
    """What a file says, lists without an order sorted."""
    model = onnx.ModelProto.FromString(data)
    sorted_lists(model)
    text: bytes = model.SerializeToString(deterministic=True)
    return text


@cache
def original(name: str) -> bytes:
    return (FIXTURES / f"{name}.onnx").read_bytes()


@settings(max_examples=300)
@given(data=st.data())
def test_no_file_that_says_something_else_is_called_the_same(data, tmp_path_factory):
    name = data.draw(st.sampled_from(MODELS))
    changed = bytearray(original(name))
    # Few bytes are weights: most edits shall hit what stands around them.
    places = st.integers(0, min(len(changed), 4000) - 1) | st.integers(0, len(changed) - 1)
    for place, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=3)):
        changed[place] = value
    path = tmp_path_factory.mktemp("changed") / "m.onnx"
    path.write_bytes(changed)
    try:
        after = Document.open(path)
    except UnreadableModelError:
        return
    same = said(bytes(changed)) == said(original(name))
    before = Document.open(FIXTURES / f"{name}.onnx")
    changes = diff(before, after)
    assert (changes == []) == same
    assert (diff(after, before) == []) == same
    assert all(change.before != change.after for change in changes), "a change that shows none"
    for change in diff(before, after, meaning_only=True):
        assert (change.what, change.name, change.scope) in {(one.what, one.name, one.scope) for one in changes}
