"""Nearest by a whole factor as a depthwise deconvolution with a kernel of ones, as deconvolution tutorials have it."""

from __future__ import annotations

import math

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.lowerings.conditions import up_to, why_no_channel_count, why_not_image_axes, why_too_large
from resizefix.lowerings.lowering import Lowering
from resizefix.lowerings.repeat import LONGEST_REPEATED, why_not_repeated


def _why_not(subject: ResizeSpec) -> str | None:
    reason = why_not_repeated(subject) or why_not_image_axes(subject) or why_no_channel_count(subject)
    factors = math.prod(axis.factor or 1 for axis in subject.axes[2:])
    return reason or why_too_large((subject.axes[1].size or 1) * factors)


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    channels = subject.axes[1].size
    assert channels is not None
    factors = [axis.factor or 1 for axis in subject.axes[2:]]
    ones = builder.value(np.ones([channels, 1, *factors]), "ones", np.float32)
    builder.add("ConvTranspose", x, ones, group=channels, kernel_shape=factors, strides=factors)
    note = Diagnostic("lowerings.equal-numbers-all")
    return ErrorBound(exact=False, note=note, conditions=up_to(subject, LONGEST_REPEATED))


DEPTHWISE_CONV_TRANSPOSE = Lowering(
    "depthwise_conv_transpose", frozenset({"ConvTranspose"}), _why_not, _write, computes=True, first_full_axis=1
)
