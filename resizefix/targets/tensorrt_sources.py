"""Where the rules for TensorRT were read or measured.

"onnx-tensorrt <commit>" is that commit of the repository onnx/onnx-tensorrt, where the importers of Upsample and Resize
stand in builtin_op_importers.cpp (from 10.0 on onnxOpImporters.cpp). What the core computes is not in the repository:
where an importer's later comment or fix says that an accepted node came out wrong, the rule's effect is DIFFERENT, and
its source names that commit.
"""

MEASURED = "measured on TensorRT-RTX 1.4.0, 1.5.0, 1.6.1, 1.7.1"
"""Four releases whose parser is that of TensorRT 10."""
