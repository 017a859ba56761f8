"""What is said of targets."""

SENTENCES = {
    "targets.no-such-target": "there is no target {name!r}; there are {by_name}",
    "targets.tensorrt-rtx-not-installed": "TensorRT-RTX is not installed: pip install 'resizefix[tensorrt]' (NVIDIA's packages tensorrt-rtx-cu12-libs and tensorrt-rtx-cu12-bindings, proprietary licence; no GPU is needed)",
    "targets.tensorrt-rtx-elsewhere": "TensorRT-RTX runs on x86-64 Linux alone; this machine is {here}",
    "targets.parser-crashes": "{parser} crashes when it is started",
}
