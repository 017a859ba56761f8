"""The process that holds TensorRT: reads models on stdin, answers on stdout. tensorrt.py starts it.

A request is a line of JSON, `{"size": N, "path": "…", "build": bool, "profile": {…}}`, then N bytes of model. The
answer is several lines of JSON, each flushed before the next step, because a later step may crash the process:
`ready` (send a request), `parsed`, `built` (if asked for), `done`; or `unavailable` once, at the start.
TensorRT parses and builds ahead of time without a GPU. Weights in external files are mapped from the folder of `path`,
so a light model costs a few MB however large its weights are; building reads them.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

MODULE = "tensorrt_rtx_bindings"
Say = Callable[..., None]


def main() -> None:
    """Answer requests until stdin ends."""
    # TensorRT writes to file descriptor 1 too; answers go to a copy of it, and fd 1 to where complaints go.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(stage: str, **fields: object) -> None:
        answers.write(json.dumps({"stage": stage, **fields}) + "\n")
        answers.flush()

    try:
        trt = importlib.import_module(MODULE)
        logger = _logger(trt)
        builder = trt.Builder(logger)
    except (ImportError, OSError, RuntimeError, TypeError) as error:
        say("unavailable", reason=f"{MODULE} does not load: {error}")
        return
    say("started", parser=f"TensorRT-RTX {trt.__version__}")
    while True:
        say("ready")
        request = sys.stdin.buffer.readline()
        if not request:
            break
        _answer(trt, builder, logger, json.loads(request), sys.stdin.buffer, say)


def _answer(trt: Any, builder: Any, logger: Any, request: dict[str, Any], stdin: BinaryIO, say: Say) -> None:
    model = stdin.read(request["size"])
    logger.lines.clear()
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    accepted = bool(parser.parse(model, request["path"]))
    del model
    say(
        "parsed",
        accepted=accepted,
        errors=[_error(parser.get_error(index)) for index in range(parser.num_errors)],
        layers=[network.get_layer(index).type.name for index in range(network.num_layers)] if accepted else [],
        inputs=[_input(network.get_input(index)) for index in range(network.num_inputs)] if accepted else [],
    )
    if accepted and request["build"]:
        logger.lines.clear()
        _build(trt, builder, network, request["profile"], logger, say)
    say("done")


def _build(trt: Any, builder: Any, network: Any, profile: dict[str, Any], logger: Any, say: Say) -> None:
    config = builder.create_builder_config()
    try:
        _add_profile(builder, config, network, profile)
        plan = builder.build_serialized_network(network, config)
    except (ValueError, RuntimeError, TypeError) as error:  # pybind's ways to say that an argument does not fit
        say("built", built=False, errors=[str(error), *logger.lines])
        return
    say("built", built=plan is not None, errors=[] if plan is not None else list(logger.lines))


def _add_profile(builder: Any, config: Any, network: Any, profile: dict[str, Any]) -> None:
    if not profile:
        return
    ranges = builder.create_optimization_profile()
    inputs = {network.get_input(index).name: network.get_input(index) for index in range(network.num_inputs)}
    for name, given in profile.items():
        if name not in inputs:
            raise ValueError(f"the network has no input {name!r}; it has {', '.join(inputs)}")
        # The values of an input that decides shapes; the dimensions of any other.
        fix = ranges.set_shape_input if inputs[name].is_shape_tensor else ranges.set_shape
        fix(name, given["min"], given["opt"], given["max"])
    config.add_optimization_profile(ranges)


def _input(tensor: Any) -> dict[str, object]:
    dims = [None if size < 0 else size for size in tensor.shape]
    return {"name": tensor.name, "dims": dims, "decides_shapes": bool(tensor.is_shape_tensor)}


def _error(error: Any) -> dict[str, object]:
    return {
        "index": error.node(),
        "name": error.node_name(),
        "op_type": error.node_operator(),
        "message": error.desc().strip(),
    }


def _logger(trt: Any) -> Any:
    class Logger(trt.ILogger):  # type: ignore[misc]  # the base is only known once the bindings are there
        """Keeps what TensorRT complains of: a failed build says why in its log alone."""

        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.lines: list[str] = []

        def log(self, severity: Any, message: str) -> None:
            """Called by TensorRT."""
            if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
                self.lines.append(message.strip())

    return Logger()


if __name__ == "__main__":
    main()
