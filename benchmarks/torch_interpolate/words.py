"""The words of the page in English and in Chinese; every number in them comes from the measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The sentences and headings of one language."""

    head: str
    cells: str
    messages: str
    exports: str
    counted: tuple[str, ...]
    why_left: str
    older: str
    fix: str
    mode: str
    extent: str
    node: str
    computes: str
    refused: str
    fails: str
    differs: str
    torch: str
    gives: str
    every: str
    written: str
    nothing: str
    not_run: str
    exporter: Mapping[str, str]
    sizes: Mapping[bool, str]
    extents: Mapping[str, str]


FIX_BLOCKS = """```console
$ resizefix inspect fixtures/broken/lost_pixel_torch_opset10.onnx
$ resizefix repair fixtures/broken/lost_pixel_torch_opset10.onnx thirty.onnx  # exit code 1
$ resizefix repair fixtures/broken/lost_pixel_torch_opset10.onnx thirty.onnx --prefer sizes
```

```python
import numpy as np
import onnxruntime as ort

x = np.zeros((1, 2, 29, 5), np.float32)
(lost,) = ort.InferenceSession("fixtures/broken/lost_pixel_torch_opset10.onnx").run(None, {"x": x})
(right,) = ort.InferenceSession("thirty.onnx").run(None, {"x": x})
assert lost.shape == (1, 2, 29, 9)
assert right.shape == (1, 2, 30, 9)
```"""

NOTE = "<!-- Made by `python -m benchmarks.torch_interpolate` from docs/reference/torch-interpolate.json; edit neither. -->"

ENGLISH = Words(
    head=NOTE
    + """

# What torch's F.interpolate becomes in ONNX

English | [简体中文](../zh/reference/torch-interpolate.md)

Measured with torch {torch}, onnx {onnx} and onnxruntime {onnxruntime}: every cell is an export, compared with a run of torch.
The input is 29×5, with random values from 0 to 1. Files with open height and width are also run at 8×10 and 5×29.
To measure again: `python -m benchmarks.torch_interpolate --measure`.

## The node that is written

Grouped opsets do not differ in meaning.""",
    cells="""## Whether it computes what torch computes

| sign | meaning |
|---|---|
| = | bitwise what torch computes, at every size run |
| ≈ | within 1e-5; the largest measured is 2.3e-6, from the order of float sums |
| **differs** | other numbers, by this much at most |
| **29×5 gives …** | another output size |
| ✗ (n) | the exporter refuses with message n |
| fails (n) | the file is written, and onnxruntime does not load it, with message n |

*scales* and *sizes* say what the node reads: constants, or *computed* from the input's shape by other nodes.""",
    messages="## The messages",
    exports="""## What inspect says, and what repair brings

{exports} exports in one to three dimensions, growing and shrinking, by scale and by size, were compared with torch; {refused} more
are refused by the exporters. Of those with a resize, `inspect` is wrong of {wrong} and undecided of {undecided}; of others it names no
difference. To make them again, with torch: `python -m benchmarks.torch_interpolate.exports FOLDER`, then `--exports FOLDER`.

*No Resize*: other operators.
*Brought*: within 1e-5 after `repair --prefer pytorch`.""",
    counted=("mode", "exporter", "exports", "differ", "no Resize", "brought", "left"),
    why_left="""Those left, and why:

- `nearest` by size: torch samples by float32(in/out), onnxruntime by float32(out/in). No scale has both the length and the pixels of
  torch in 64 exports. In the 48 of fixed sizes `repair` gathers the pixels. The 16 of open sizes differ at 6 or 10 of the 47 lengths
  from 2 to 48: fix the size first.
- dynamo writes `nearest-exact` and linear in one dimension as GatherND. `resizefix set IN OUT form=resize` makes all 45 files of fixed
  sizes Resize: nearest-exact bitwise, linear within 2e-6. Of open sizes it does where one scale or size holds; else it names
  the `input-size` call to make first. Two of open sizes, by 0.7, read other pixels than torch; `inspect` says so.
- `area` is adaptive average pooling. All 36 files are right at the export's size. Seven of open sizes hold its length; eight
  differ elsewhere, by up to 0.32, or fail. `adaptive_avg_pool` gives the same eight files, node for node
  (`python -m benchmarks.torch_interpolate.pooling`): no reading tells which was meant.""",
    older="""## Older exporters

Read from files that these versions wrote. Each resize ran in its own file, and today's `F.interpolate` was called on the same
tensor, by size and by scale. The last column names the calls that agree within 1e-5 for all of these nodes.""",
    fix=f"""## What follows

- **Bilinear at opset 7 to 10 is not what torch computes.** These opsets have asymmetric linear interpolation only. Export at
  opset 11 or later.
- **Half the size at opset 9 does not load**: Upsample cannot shrink. Run `resizefix repair`.
- **`size=` loses a pixel up to opset 10.** The scale is float32(30 / 29), and 29 times that is below 30.
- **Antialiasing with `scale_factor` differs** where the output size is not exactly factor × input. dynamo writes sizes, and names the
  factor in `metadata_props` alone. Without these, `inspect` leaves it undecided.
- **dynamo does not write opsets before 18 itself.** It converts down to 17 where it can, else the file stays at opset 18.
- **torch 1.3 at opset 11 writes sizes with 1 channel**; the other channels are lost.

torch stores the shape with the lost pixel, so the file admits two meanings. `repair` names both, and `--prefer` decides:

{FIX_BLOCKS}

[A pixel is lost](../how-to/a-lost-pixel.md) explains which scales are safe.""",
    mode="mode",
    extent="extent",
    node="node",
    computes="computes",
    refused="✗",
    fails="fails",
    differs="differs by",
    torch="torch",
    gives=" gives ",
    every="any",
    written="opset {opset} written",
    nothing="no call of torch",
    not_run="not run",
    exporter={"TorchScript": "TorchScript (`dynamo=False`)", "dynamo": "dynamo (`dynamo=True`)"},
    sizes={False: ", fixed sizes", True: ", open height and width"},
    extents={
        "constant scales": "scales",
        "computed scales": "computed scales",
        "constant sizes": "sizes",
        "computed sizes": "computed sizes",
    },
)

CHINESE = Words(
    head=NOTE
    + """

# torch 的 F.interpolate 在 ONNX 里变成什么

[English](../../reference/torch-interpolate.md) | 简体中文

用 torch {torch}、onnx {onnx} 和 onnxruntime {onnxruntime} 实测：每一格都是一次真实的导出，并与 torch 的结果对比。输入是 29×5，取 0 到 1 的随机值；高宽不固定的文件还在 8×10 和 5×29 上运行。重新测量：`python -m benchmarks.torch_interpolate --measure`。

## 写出的节点

合并在一列的 opset，算子版本可能不同，含义相同。""",
    cells="""## 结果是否与 torch 相同

| 符号 | 含义 |
|---|---|
| = | 在运行过的每个尺寸上与 torch 逐位相同 |
| ≈ | 相差不超过 1e-5；实测最大 2.3e-6，来自浮点求和的次序 |
| **相差** | 数值不同，最多相差这么多 |
| **29×5 得到 …** | 输出尺寸不同 |
| ✗ (n) | 导出器拒绝，报出第 n 条消息 |
| 无法加载 (n) | 文件写出来了，但 onnxruntime 无法加载，报出第 n 条消息 |

scales 和 sizes 说明节点读取哪一个；“计算的”表示由其它节点根据输入的形状算出。""",
    messages="## 消息原文",
    exports="""## inspect 说什么，repair 修复什么

一维到三维、放大与缩小、按倍率与按尺寸的 {exports} 个导出文件与 torch 逐一比较；另有 {refused} 个被导出器拒绝。对其中有 Resize 的文件，`inspect` 说错 {wrong} 个，无法判定 {undecided} 个；对其余文件它不报差异。重新导出（需要 torch）：`python -m benchmarks.torch_interpolate.exports FOLDER`，然后 `--exports FOLDER`。

*无 Resize*：由其他算子组成。*已修复*：`repair --prefer pytorch` 之后差别不超过 1e-5。""",
    counted=("模式", "导出器", "文件", "不同", "无 Resize", "已修复", "保留"),
    why_left="""保留的文件及原因：

- 按尺寸的 `nearest`：torch 用 float32(in/out) 采样，onnxruntime 用 float32(out/in)。有 64 个文件，没有一个倍率能同时给出 torch 的长度和像素。其中 48 个尺寸固定，`repair` 用 Gather 取出这些像素；16 个尺寸开放，在 2 到 48 的 47 个长度中有 6 个或 10 个不同：请先固定尺寸。
- dynamo 把 `nearest-exact` 和一维线性插值写成 GatherND。尺寸固定时，`resizefix set IN OUT form=resize` 把全部 45 个文件写成 Resize：nearest-exact 逐位相同，线性不超过 2e-6。尺寸开放时，若一个倍率或尺寸对所有尺寸都成立，一步即可；否则会指出要先运行的 `input-size` 命令。有两个尺寸开放、倍率 0.7 的文件取的像素与 torch 不同，`inspect` 会说明。
- `area` 就是自适应平均池化，不是 Resize。全部 36 个文件在导出时的尺寸上都正确。尺寸开放的文件中，7 个写死了导出时的长度；8 个在别的尺寸上结果不同（最多 0.32）或不能运行。`adaptive_avg_pool` 导出的正是同样的 8 个文件，逐个节点相同（`python -m benchmarks.torch_interpolate.pooling`）：从文件无法看出原来是哪一个。""",
    older="""## 较早的导出器

取自这些版本写出的文件。每个节点都在自己的文件里运行，再对同一个张量按尺寸和按倍率调用今天的 `F.interpolate`。最后一列是对所有这些节点都相差不超过 1e-5 的调用。""",
    fix=f"""## 由此可知

- **opset 7 到 10 的双线性与 torch 的结果不同。** 这些 opset 只有 asymmetric 的线性插值。请用 opset 11 或更高版本导出。
- **opset 9 的缩小一半无法加载**：Upsample 不能缩小。请用 opset 10 或更高版本导出，或者运行 `resizefix repair`。
- **opset 10 及以下的 `size=` 会少一个像素。** 倍率是 float32(30 / 29)，乘以 29 小于 30。
- **带 `scale_factor` 的抗锯齿结果不同**，只要输出尺寸不恰好等于倍率乘以输入：dynamo 写的是 sizes，倍率只写在 `metadata_props` 里。没有它们，`inspect` 无法判定。
- **dynamo 不直接写 18 以前的 opset。** 能降到 17 就降，否则文件仍是 opset 18。
- **torch 1.3 在 opset 11 写出的 sizes 只有 1 个通道**，其余通道丢失。

torch 存下的形状里也少了这个像素，所以文件有两种含义。`repair` 列出两种含义，由 `--prefer` 决定：

{FIX_BLOCKS}

[少了一个像素](../how-to/a-lost-pixel.md)说明哪些倍率是安全的。[转换器弄坏了什么](../repair.md)列出 `repair` 能修复的问题。""",
    mode="模式",
    extent="尺寸来源",
    node="节点",
    computes="等同于",
    refused="✗",
    fails="无法加载",
    differs="相差",
    torch="torch 是 ",
    gives=" 得到 ",
    every="任意",
    written="写成 opset {opset}",
    nothing="与 torch 的任何调用都不同",
    not_run="没有运行",
    exporter={"TorchScript": "TorchScript (`dynamo=False`)", "dynamo": "dynamo (`dynamo=True`)"},
    sizes={False: "，固定尺寸", True: "，高宽不固定"},
    extents={
        "constant scales": "常量 scales",
        "computed scales": "计算的 scales",
        "constant sizes": "常量 sizes",
        "computed sizes": "计算的 sizes",
    },
)
