"""The nearest that each of the other tools comes to a promotion: `python peers.py JOB IN OUT`.

Run by its path and importing nothing but the tool, so that a job costs what the tool costs. Each is written as its
documentation says, for any model of `inputs.py`: every Resize of the main graph gets its scales from a new graph input
of the same name, where the tool can do that; otherwise the tool does what it is made for.
"""

import sys
from collections.abc import Callable

JOBS: dict[str, Callable[[str, str], object]] = {}


def job(function: Callable[[str, str], object]) -> Callable[[str, str], object]:
    JOBS[function.__name__] = function
    return function


def save(onnx, model, before: str, after: str) -> None:
    """As the onnx documentation has it for models with external data: all of it into one file."""
    external = any(
        tensor.HasField("data_location") for tensor in onnx.load(before, load_external_data=False).graph.initializer
    )
    if external:
        onnx.save(model, after, save_as_external_data=True, location=after.rsplit("/", 1)[1] + ".data")
    else:
        onnx.save(model, after)


@job
def onnx_load_save(before: str, after: str) -> None:
    """Nothing but reading and writing."""
    import onnx

    save(onnx, onnx.load(before), before, after)


@job
def onnx_script(before: str, after: str) -> None:
    """The script that people write."""
    import onnx

    model = onnx.load(before)
    scales = {node.input[2] for node in model.graph.node if node.op_type == "Resize"}
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in scales]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for node in [node for node in model.graph.node if node.op_type == "Constant" and node.output[0] in scales]:
        model.graph.node.remove(node)
    for name in sorted(scales):
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]))
    save(onnx, model, before, after)


@job
def graphsurgeon(before: str, after: str) -> None:
    import numpy as np
    import onnx
    import onnx_graphsurgeon as gs

    graph = gs.import_onnx(onnx.load(before))
    for node in graph.nodes:
        if node.op == "Resize":
            scales = gs.Variable(node.inputs[2].name, np.float32, [4])
            node.inputs[2] = scales
            graph.inputs.append(scales)
    save(onnx, gs.export_onnx(graph.cleanup().toposort()), before, after)


@job
def extract_model(before: str, after: str) -> None:
    import onnx
    import onnx.utils

    model = onnx.load(before, load_external_data=False)
    scales = sorted({node.input[2] for node in model.graph.node if node.op_type == "Resize"})
    inputs, outputs = ([value.name for value in side] for side in (model.graph.input, model.graph.output))
    del model
    onnx.utils.extract_model(before, after, [*inputs, *scales], outputs)


@job
def polygraphy(before: str, after: str) -> int:
    """`polygraphy surgeon extract`, told the inputs that the promoted model shall have."""
    import onnx
    from polygraphy.tools._main import main

    model = onnx.load(before, load_external_data=False)
    scales = sorted({node.input[2] for node in model.graph.node if node.op_type == "Resize"})
    inputs = [f"{value.name}:auto:auto" for value in model.graph.input] + [f"{name}:[4]:float32" for name in scales]
    external = any(tensor.HasField("data_location") for tensor in model.graph.initializer)
    del model
    sys.argv = ["polygraphy", "surgeon", "extract", before, "--inputs", *inputs, "-o", after]
    if external:
        sys.argv += ["--save-external-data", after.rsplit("/", 1)[1] + ".data"]
    return main()


@job
def onnx_ir(before: str, after: str) -> None:
    import onnx_ir as ir

    model = ir.load(before)
    for node in list(model.graph):
        if node.op_type == "Resize":
            old = node.inputs[2]
            scales = ir.Value(name=old.name, type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([4]))
            model.graph.initializers.pop(old.name, None)
            node.replace_input_with(2, scales)
            model.graph.inputs.append(scales)
            if old.producer() is not None:
                model.graph.remove(old.producer(), safe=True)
    external = any(isinstance(value.const_value, ir.ExternalTensor) for value in model.graph.initializers.values())
    ir.save(model, after, external_data=after.rsplit("/", 1)[1] + ".data" if external else None)


@job
def onnxsim(before: str, after: str) -> int:
    """As its command line."""
    from onnxsim import main

    sys.argv = ["onnxsim", before, after]
    return main()


@job
def onnxslim(before: str, after: str) -> int:
    """As its command line."""
    from onnxslim.cli import main

    sys.argv = ["onnxslim", before, after]
    return main()


@job
def version_converter(before: str, after: str) -> None:
    """To the next opset."""
    import onnx
    import onnx.version_converter

    save(onnx, onnx.version_converter.convert_version(onnx.load(before), 18), before, after)


if __name__ == "__main__":
    sys.exit(JOBS[sys.argv[1]](sys.argv[2], sys.argv[3]))
