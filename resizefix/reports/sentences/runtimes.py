"""What is said of runtimes."""

SENTENCES = {
    "runtimes.crashed": "{runtime} {ended} while it {doing} the model",
    "runtimes.does-not-start": "{runtime} does not start: {reason}. Install it with: pip install {install}. To use another Python: --runtime-python {name}=PATH, or set {variable}",
    "runtimes.does-not-start-apart": "{runtime} does not start: {reason}. In another environment: pip install {install} numpy. Then name its Python: --runtime-python {name}=PATH, or set {variable}",
    "runtimes.too-slow": "{parser} did not answer within {time_limit:g} s",
    "runtimes.input-is-no-tensor-of-numbers": "{runtime} was not run: input {name!r} is not a tensor of a numpy number type",
    "runtimes.no-such-runtime": "there is no runtime {name!r}; known are {known}",
    "runtimes.not-installed": "{runtime} is not installed. Install it with: pip install {install}. To use another Python: --runtime-python {name}=PATH, or set {variable}",
    "runtimes.not-installed-apart": "{runtime} is not installed. In another environment: pip install {install} numpy. Then name its Python: --runtime-python {name}=PATH, or set {variable}",
    "runtimes.python-does-not-start": "{runtime}: {python} does not start: {error}",
    "runtimes.time-is-up": "time was up after {seconds:g} s (--timeout)",
    "runtimes.not-built": "the engine was not built within {time_limit:g} s",
    "runtimes.cannot-run": "{label} cannot be run{where}: {why}",
    "runtimes.custom-op": "onnxruntime cannot load {label}: {why}. Give its library with --custom-op-library.",
    "runtimes.no-implementation": "no implementation of {operators} is registered",
    "runtimes.unchanged-layout": "large weights were run in the layout they are stored in, without onnxruntime's copies of them",
    "runtimes.default-level-not-run": "not compared at the default optimisation level, at which onnxruntime does not run {which}: {why}",
    "runtimes.ended-with-code": "ended with exit code {status}",
    "runtimes.aborted": "aborted",
    "runtimes.crashed-by": "crashed ({signal})",
    "runtimes.ended-by-signal": "was ended by signal {signal}",
}
