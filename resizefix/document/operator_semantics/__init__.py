"""What an ai.onnx operator makes of operands that are known: numbers, or expressions over the sizes of tensors.

One row per operator (`table`), asked for the values of constants, for expressions, and for what can be folded. A row
gives what onnxruntime computes, bit by bit, or raises UntraceableError: where the answer is the runtime's choice,
such as a cast out of range, there is none. The tests run every row in onnxruntime.
"""
