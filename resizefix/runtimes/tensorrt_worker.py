"""The process that holds TensorRT: parses and builds one model for each request. tensorrt.py asks it.

A request is `{"model": bytes, "path": "…", "build": bool, "profile": {…}}`. The answer comes in stages, each sent
before the next step, because a later step may crash the process: `started` (or `unavailable`, and nothing more),
`parsed`, `built` (if asked for).
TensorRT parses and builds ahead of time without a GPU. Weights in external files are mapped from the folder of `path`,
so a light model costs a few MB however large its weights are; building reads them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

MODULE = "tensorrt_rtx_bindings"
Say = Callable[..., None]


def work(request: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
    """Answer one request."""

    def say(stage: str, **fields: object) -> None:
        send({"stage": stage, **fields})

    try:
        trt, builder, logger = _loaded()
    except (ImportError, OSError, RuntimeError, TypeError) as error:
        say("unavailable", reason=f"{MODULE} does not load: {error}")
        return
    say("started", parser=f"TensorRT-RTX {trt.__version__}")
    logger.lines.clear()
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    accepted = bool(parser.parse(request["model"], request["path"]))
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


@lru_cache(maxsize=1)
def _loaded() -> tuple[Any, Any, Any]:
    """TensorRT, its builder and its logger."""
    trt = importlib.import_module(MODULE)
    logger = _logger(trt)
    return trt, trt.Builder(logger), logger


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
