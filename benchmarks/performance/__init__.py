"""Measures resizefix beside the tools that people use for the same jobs: `python -m benchmarks.performance`."""
