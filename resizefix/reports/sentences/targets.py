"""What is said of targets."""

SENTENCES = {
    "targets.no-such-target": "there is no target {name!r}; {proposal}{page} has all",
    "targets.file-not-opened": "the target's file {path} cannot be opened: {why}",
    "targets.file-not-toml": "{path} is not valid TOML: {why}",
    "targets.file-unknown-key": "{path}: {place} has no key {key!r}; {proposal}",
    "targets.file-missing-key": "{path}: {place} needs the key {key!r}",
    "targets.file-wrong-value": "{path}, {place}: {key} cannot be {value}; {takes}",
    "targets.file-rule-twice": "{path}: two rules have the name {name!r}",
    "targets.file-empty-rule": "{path}: rule {name} states no condition; give it `where`, `needs` or `computes`",
    "targets.file-needs-and-computes": "{path}: rule {name} has `needs` and `computes`; with `computes`, write `where`",
    "targets.file-name-taken": "{path}: the name {name!r} is that of a target of this package; choose another",
    "targets.tensorrt-rtx-not-installed": "TensorRT-RTX is not installed: pip install 'resizefix[tensorrt]' (NVIDIA's packages tensorrt-rtx-cu12-libs and tensorrt-rtx-cu12-bindings, proprietary licence; no GPU is needed)",
    "targets.tensorrt-rtx-elsewhere": "TensorRT-RTX runs on x86-64 Linux alone; this machine is {here}",
    "targets.parser-crashes": "{parser} crashes when it is started",
}
