"""Opt-in: importing this module gives every `gs.Graph` methods that fix its resizes.

    import onnx_graphsurgeon as gs
    import resizefix.graphsurgeon

    graph = gs.import_onnx(onnx.load("frozen_x3.onnx"))
    graph.promote_resize_scales(form="factor")
    onnx.save(gs.export_onnx(graph), "any_scale.onnx")

Each takes the options of the library call it stands for and gives back its result. Like graphsurgeon's own methods they
change the graph they are called on (`result.model` is that graph); its nodes and tensors are new objects afterwards. An
error, such as a change that is not proven, leaves the graph as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import onnx_graphsurgeon as gs

from resizefix.library.check import check
from resizefix.library.freeze_scales import freeze_scales
from resizefix.library.inspect import inspect
from resizefix.library.legalize import legalize
from resizefix.library.promote_scales import promote_scales
from resizefix.library.result import Result
from resizefix.library.trt_legacy import trt_legacy

METHODS: dict[str, Callable[..., Any]] = {
    "inspect_resizes": inspect,
    "check_resizes": check,
    "promote_resize_scales": promote_scales,
    "freeze_resize_scales": freeze_scales,
    "legalize_resizes": legalize,
    "to_trt_legacy": trt_legacy,
}


def _method(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def method(graph: gs.Graph, **options: Any) -> Any:
        result = call(graph, **options)
        if not isinstance(result, Result):
            return result
        # All but the counter that keeps apart the names which the graph's user makes with graph.layer.
        vars(graph).update({**vars(result.model), "name_idx": graph.name_idx})
        return replace(result, model=graph)

    method.__name__ = name
    return method


for _name, _call in METHODS.items():
    gs.Graph.register()(_method(_name, _call))
