"""The models that every tool is given, made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import onnx

from benchmarks.performance.networks import Built, branches, chain, convolutional, nested, transformer
from benchmarks.performance.streaming import write_embedded, write_external


@dataclass(frozen=True)
class Input:
    """A row: what the model is, how it is built, whether its weights lie in a file of their own."""

    name: str
    what: str
    build: Callable[[], Built]
    external: bool = False

    def write(self, folder: Path) -> Path:
        """Makes the file, unless it is there."""
        path = folder / f"{self.name}.onnx"
        if path.exists():
            return path
        model, weights = self.build()
        if self.external:
            write_external(model, weights, path)
        elif weights:
            write_embedded(model, weights, path)
        else:
            onnx.save(model, path)
        return path


INPUTS = (
    Input("conv-10MB", "convolutional, 10 MB", partial(convolutional, 128, 17)),
    Input("transformer-10MB", "transformer, 10 MB", partial(transformer, 128, 13)),
    Input("conv-200MB", "convolutional, 200 MB", partial(convolutional, 512, 21)),
    Input("transformer-200MB", "transformer, 200 MB", partial(transformer, 512, 16)),
    Input("conv-1.5GB", "convolutional, 1.5 GB", partial(convolutional, 1024, 40)),
    Input("transformer-1.5GB", "transformer, 1.5 GB", partial(transformer, 1024, 30)),
    Input("transformer-3GB", "transformer, 3 GB in a data file", partial(transformer, 2048, 15), external=True),
    Input("nodes-100000", "100,000 nodes, 10 of them Resize", partial(chain, 100_000)),
    Input("sites-1000", "1,000 Resize nodes", partial(branches, 1000)),
    Input("nested-24", "If in If, 24 deep, a Resize in each body", partial(nested, 24)),
)
