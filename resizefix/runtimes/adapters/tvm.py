"""TVM on the CPU: its ONNX importer for Relax, compiled by LLVM. The importer needs the package onnx."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from resizefix.runtimes.adapters import AdapterRefusedError, Arrays, ModelToLoad, Options, Run


def version(options: Options) -> str:
    """The package's version."""
    import_module("onnx")
    return f"TVM {import_module('tvm').__version__}"


def load(model: ModelToLoad, options: Options) -> Run:
    """Imported and compiled."""
    tvm: Any = import_module("tvm")
    onnx: Any = import_module("onnx")
    relax: Any = import_module("tvm.relax")
    module = import_module("tvm.relax.frontend.onnx").from_onnx(onnx.load(model.path), keep_params_in_input=False)
    wanted = len(module["main"].params)
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())

    def run(feeds: Arrays) -> Sequence[Any]:
        if wanted != len(feeds):
            raise AdapterRefusedError(f"the importer kept {wanted} of {len(feeds)} inputs")
        outputs = machine["main"](*(tvm.runtime.tensor(value) for value in feeds.values()))
        return [result.numpy() for result in ([outputs] if hasattr(outputs, "numpy") else outputs)]

    return run
