"""What some tests measure belongs to a version: with an older one they are skipped, and the reason is printed."""

from importlib.metadata import version

import pytest

# The part of a test's name, the package, the first version that behaves as measured, and how older ones behave.
MEASURED_ON = (
    ("test_the_simulated_indices_are_those_onnxruntime_reads", "onnxruntime", (1, 24), "ties were compared exactly"),
    ("test_e13_other_samples_give_other_bits", "onnxruntime", (1, 24), "ties were compared exactly"),
    ("test_a_policy_over_axes_from_the_end", "onnxruntime", (1, 24), "the policy was computed otherwise"),
    ("test_e18_refuses_axes_from_the_end", "onnxruntime", (1, 24), "the policy was computed otherwise"),
    ("test_light_model.py", "onnxruntime", (1, 24), "sparse indices could not lie in a file"),
    ("test_a_row_computes_what_onnxruntime_computes[Pow--]", "onnxruntime", (1, 24), "kernel of another rounding"),
    ("test_a_row_computes_what_onnxruntime_computes[ReduceSum--1]", "onnxruntime", (1, 24), "kernel without this form"),
    ("test_onnxs_rule_is_what_shape_inference_says", "onnx", (1, 20), "inference multiplied in float32"),
    ("test_five_to_nine_is_where", "onnx", (1, 20), "inference multiplied in float32"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part, package, first, otherwise in MEASURED_ON:
            installed = tuple(int(number) for number in version(package).split(".")[:2])
            if part in item.nodeid and installed < first:
                reason = f"measured on {package} ≥ {'.'.join(map(str, first))}; in {version(package)} {otherwise}"
                item.add_marker(pytest.mark.skip(reason=reason))
