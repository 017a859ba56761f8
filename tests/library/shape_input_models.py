"""Models of published structures whose float inputs decide sizes, with small random weights."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_text

WEIGHTS = np.random.default_rng(7)


def listed(*shape: int) -> str:
    return ", ".join(f"{value:.4f}" for value in (WEIGHTS.standard_normal(shape) * 0.3).reshape(-1))


def mask_decoder() -> onnx.ModelProto:
    """The end of SAM's decoder: masks are enlarged, cut to what is no padding, and resized to `orig_im_size`."""
    half = '<mode = "linear", coordinate_transformation_mode = "half_pixel">'
    graph = f"""(float[1,1,16,16] low, float[2] orig_im_size) => (float[1,1,h,w] masks)
    <float[1,1,3,3] k = {{{listed(1, 1, 3, 3)}}}, float[4] s4 = {{1, 1, 4, 4}}, float side = {{64}},
     float half = {{0.5}}, int64[1] i0 = {{0}}, int64[1] i1 = {{1}}, int64[1] i2 = {{2}}, int64[1] i3 = {{3}},
     int64[2] nc = {{1, 1}}>
    {{
      [conv] c = Conv <pads = [1, 1, 1, 1]> (low, k)
      [enlarge] big = Resize {half} (c, , s4)
      [longest] longest = ReduceMax <keepdims = 0> (orig_im_size)
      scale = Div (side, longest)
      scaled = Mul (orig_im_size, scale)
      rounded = Add (scaled, half)
      floor = Floor (rounded)
      before_pad = Cast <to = 7> (floor)
      ph = Slice (before_pad, i0, i1, i0)
      pw = Slice (before_pad, i1, i2, i0)
      [cut_rows] rows = Slice (big, i0, ph, i2, i1)
      [cut_columns] cut = Slice (rows, i0, pw, i3, i1)
      size = Cast <to = 7> (orig_im_size)
      sizes = Concat <axis = 0> (nc, size)
      [to_original] masks = Resize {half} (cut, , , sizes)
    }}"""
    return onnx_text.model(graph, 17)


def matting() -> onnx.ModelProto:
    """RobustVideoMatting: the image is made smaller by a fed ratio, a recurrent state is added, and alpha is resized to
    the image."""
    half = '<mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel">'
    graph = f"""(float[batch,3,height,width] src, float[batch,c,height,width] r1i, float[1] downsample_ratio)
     => (float[batch,1,height,width] pha, float[batch,4,height,width] r1o)
    <float[4,3,3,3] k1 = {{{listed(4, 3, 3, 3)}}}, float[1,4,3,3] k2 = {{{listed(1, 4, 3, 3)}}},
     float[2] ones = {{1, 1}}, int64[1] i0 = {{0}}, int64[1] i2 = {{2}}, int64[1] i4 = {{4}}>
    {{
      scales = Concat <axis = 0> (ones, downsample_ratio, downsample_ratio)
      [shrink] small = Resize {half} (src, , scales)
      e = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (small, k1)
      she = Shape (e)
      state = Expand (r1i, she)
      r1o = Add (e, state)
      p = Conv <pads = [1, 1, 1, 1]> (r1o, k2)
      shp = Shape (p)
      nc = Slice (shp, i0, i2, i0)
      shs = Shape (src)
      hw = Slice (shs, i2, i4, i0)
      sizes = Concat <axis = 0> (nc, hw)
      [to_image] pha = Resize {half} (p, , , sizes)
    }}"""
    return onnx_text.model(graph, 12)


def depth_anything() -> onnx.ModelProto:
    """Depth-Anything: learned positions are resized by floor(size / 14) + 0.1, and added to the patches."""
    graph = f"""(float[1,3,height,width] image) => (float[1,4,ph,pw] y)
    <float[4,3,14,14] k = {{{listed(4, 3, 14, 14)}}}, float[1,4,5,5] table = {{{listed(1, 4, 5, 5)}}},
     float[2] ones = {{1, 1}}, float k14 = {{14}}, float tenth = {{0.1}}, float five = {{5}},
     int64[1] i0 = {{0}}, int64[1] i2 = {{2}}, int64[1] i4 = {{4}}>
    {{
      p = Conv <strides = [14, 14]> (image, k)
      s = Shape (image)
      hw = Slice (s, i2, i4, i0)
      hwf = Cast <to = 1> (hw)
      many = Div (hwf, k14)
      patches = Floor (many)
      more = Add (patches, tenth)
      ratio = Div (more, five)
      scales = Concat <axis = 0> (ones, ratio)
      [positions] table_there = Resize <mode = "cubic", coordinate_transformation_mode = "pytorch_half_pixel">
        (table, , scales)
      [add] y = Add (p, table_there)
    }}"""
    return onnx_text.model(graph, 17)
