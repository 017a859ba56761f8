"""Messages of compilers for NPUs."""

from __future__ import annotations

from resizefix.messages.message import RANK, WITHOUT, Message, computed, coordinates, row

MESSAGES = (
    computed("rknn", "need to be constant! It will cause the graph to be a dynamic graph!"),
    coordinates(
        "rknn", "Not support 'tf_half_pixel_for_nn' in 'Resize'(opset-11)!", "Not support '…' in 'Resize'(opset-11)!"
    ),
    row(
        "rknn",
        WITHOUT,
        "RKNN takes no resize of this form. Another form or other operators compute the same.",
        "The follow op is not support : ['Resize']",
        "Try match layer: Resize_… failed!",
        "Try match layer: Upsample_… failed!",
        "Try match Resize_… failed, catch exception!",
        "Not match tensor Resize_",
        "The follow op is not support : ['Upsample']",
    ),
    row(
        "rknn",
        RANK,
        "RKNN upsamples images of four axes alone. Other operators compute the same for other ranks.",
        "Meet unsupported upsample input dim !=4",
    ),
    Message(
        "RKNN",
        ("Resize […] convert to Deconvolution for inference speedup, but may cause result driftting",),
        "This is a warning: RKNN computes the resize by a deconvolution, in other numbers. "
        "`optimization_level = 2` in `rknn.config` keeps the resize.",
        "docs/reference/targets.md",
        (),
    ),
)
