"""The runtimes that a model can be run in, as rows: name, how it is installed, and the adapter that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resizefix.diagnostics import UsageError
from resizefix.words import nearest, proposal


@dataclass(frozen=True)
class RuntimeRow:
    """One runtime. `name` is that of its target, where it has one; `adapter` the file in runtimes/adapters.

    `install`: what to give pip. `apart`: in an environment of its own, since another row wants another version of the
    same package.
    """

    name: str
    title: str
    adapter: str
    install: str
    apart: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The target whose rules speak of it."""
        engine = self.options.get("engine")
        return self.name.removesuffix(f"-{engine}") if engine else self.name

    @property
    def variable(self) -> str:
        """The environment variable that names the Python which has this runtime."""
        return f"RESIZEFIX_{self.name.upper().replace('-', '_')}_PYTHON"


_OPENCV_4 = "'opencv-python-headless==4.*'"
_OPENCV_5 = "'resizefix[opencv]'"
ROWS = (
    RuntimeRow("onnxruntime", "onnxruntime", "onnxruntime", "onnxruntime"),
    RuntimeRow("openvino", "OpenVINO", "openvino", "'resizefix[openvino]'"),
    RuntimeRow("opencv-4", "OpenCV 4", "opencv", _OPENCV_4, True, {"major": "4"}),
    # Which engine reads a model is OpenCV's own choice unless one is named: the new one, else the classic one.
    RuntimeRow("opencv-5", "OpenCV 5", "opencv", _OPENCV_5, False, {"major": "5"}),
    RuntimeRow("opencv-5-new", "OpenCV 5", "opencv", _OPENCV_5, False, {"major": "5", "engine": "new"}),
    RuntimeRow("opencv-5-classic", "OpenCV 5", "opencv", _OPENCV_5, False, {"major": "5", "engine": "classic"}),
    RuntimeRow("ncnn", "ncnn", "ncnn", "'resizefix[ncnn]' && pip install --no-deps pnnx"),
    RuntimeRow("mnn", "MNN", "mnn", "'resizefix[mnn]'"),
    RuntimeRow("tract", "tract", "tract", "'resizefix[tract]'"),
    RuntimeRow("tvm", "TVM", "tvm", "'resizefix[tvm]'"),
)
RUNTIMES: Mapping[str, RuntimeRow] = {row.name: row for row in ROWS}
_NEWEST = {"opencv": "opencv-5"}


def runtime_named(name: str) -> RuntimeRow:
    """The row of a name in any case; a runtime's name alone is its newest release: `opencv` is `opencv-5`.

    Raises UsageError, which lists them and proposes a near one.
    """
    wanted = name.strip().lower() if isinstance(name, str) else ""
    row = RUNTIMES.get(_NEWEST.get(wanted, wanted))
    if row is None:
        near = nearest(wanted, [*_NEWEST, *RUNTIMES], 0.75)
        raise UsageError("runtimes.no-such-runtime", name=name, proposal=proposal([near]), known=", ".join(RUNTIMES))
    return row
