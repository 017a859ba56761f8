"""What is said of interop."""

SENTENCES = {
    "interop.model-give-path-onnx": "a {module}.{qualname} is no model; give a path, an onnx.ModelProto, an onnx_graphsurgeon.Graph, an onnx_ir.Model or the ONNXProgram that torch.onnx.export returns.",
    "interop.local-function-give-graph": "{name!r} is a local function; give the graph that holds it.",
    "interop.input-default-read-inside": "input {name!r} has a default and is read inside the body of a node, where onnx-graphsurgeon would write the default as a constant; promote without defaults (keep_default=False), or give an onnx.ModelProto.",
    "interop.tensor-type-float8-e4m3fnuz": "tensor {name!r} is of type float8_e4m3fnuz, which onnx-graphsurgeon writes as FLOAT8E4M3FN, twice the value; give the path or the onnx.ModelProto that the graph was made of.",
    "interop.constants-share-tensorproto-onnx-graphsurgeon": "constants {known!r} and {name!r} share one TensorProto, which onnx-graphsurgeon would write twice under one name; give one of them its own: tensor.values = tensor.values.copy().",
    "interop.onnx-graphsurgeon-export-graph-give": "onnx-graphsurgeon cannot export the graph ({error}); give the path or the onnx.ModelProto that it was made of.",
    "interop.model-memory-holds-graph": "the model in memory holds no graph; was it filled from a file?",
    "interop.tensor-data-lie-another": "tensor {lost!r} (and {lost_2} more): its data lie in another file, but in which folder a model in memory does not say; give the path of the model, or Document.from_proto(model, folder).",
    "interop.model-large-needs-temporary": "the model is large and needs a temporary file, which cannot be written to {gettempdir}: {strerror}; set TMPDIR to a folder with room, or save the model and give its path.",
    "interop.model-holds-gib-besides": "the model holds more than 2 GiB besides its initializers, or in fields that this version of onnx does not know ({error}); save it with external data and give the path.",
    "interop.tensors-model-lie-several": "tensors of the model lie in several folders ({repr}); save it with onnx_ir.save and give the path.",
    "interop.onnx-ir-serialise-model": "onnx_ir cannot serialise the model: {error}: {cause}",
    "interop.model-onnx-ir-model": "the model of this {qualname} is a {qualname_2} and no onnx_ir.Model; give its model_proto.",
}
