"""What the rules of every target say: the matrix of features, and each rule with its source.

make_reference.py makes targets.md of it, in English and in Chinese.
"""

from __future__ import annotations

from itertools import groupby

from feature_matrix import section, tables

from resizefix.targets.catalogue import TARGETS
from resizefix.targets.target import Effect, Target

MATRIX_LEGEND = (
    "Each cell is what the target's rules say of a small model with this resize: ✓ accepted, ≠ accepted and computed\n"
    "otherwise without an error, ✗ rejected. Where nothing else is said, the node is Resize-13 and the input's size\n"
    "is fixed. A model with ≠ or ✗ is what `legalize` rewrites.",
    "每一格是该目标的规则对一个只含这种缩放的小模型的判断：✓ 接受，≠ 接受但算出别的结果而不报错，✗ 拒绝。"
    "没有另外说明时，节点是 Resize-13，输入尺寸固定。遇到 ≠ 或 ✗，`legalize` 会改写模型。",
)
CHINESE_EFFECTS = {Effect.REJECTED: "拒绝", Effect.DIFFERENT: "结果不同", Effect.NOTED: "仅作提示"}


def page() -> str:
    """The English page without the note at its head."""
    text = ["# Targets and their rules\n", "English | [简体中文](../zh/reference/targets.md)\n"]
    text.append(
        "What `check` judges by and `legalize` aims at. A rule's source is where it was read or measured. Measured\n"
        "were onnxruntime and four releases of TensorRT-RTX, which stands in for TensorRT 10 and which `check --live`\n"
        "asks; the older cores are closed and no longer given out, so their rules are read in the source of the\n"
        "parsers, which is open, at the commits named. `check MODEL --target TARGET` prints why a rule rejects a\n"
        "node, and how to fix it.\n"
    )
    text.append(f"## What each target does with which resize\n\n{MATRIX_LEGEND[0]}\n")
    text += tables()
    releases = [target for target in TARGETS if target.runtime == "tensorrt"][::-1]
    text.append("## TensorRT\n\n| release | parser |\n|---|---|")
    text += [f"| `{target.name}` | {_in_a_cell(target.parser)} |" for target in releases]
    text.append("\n| rule | effect | releases | source |\n|---|---|---|---|")
    text += [
        f"| `{name}` | {effect} | {', '.join(target.name.removeprefix('tensorrt-') for target in having)} | {source} |"
        for (name, effect, source), having in _rules_of(releases).items()
    ]
    for target in TARGETS:
        if target.runtime != "tensorrt":
            text.append(f"\n## {target.name}\n\n{target.parser}\n\n| rule | effect | source |\n|---|---|---|")
            text += [f"| `{name}` | {effect} | {source} |" for name, effect, source in _rules_of([target])]
    return "\n".join(text).rstrip() + "\n"


def _rules_of(targets: list[Target]) -> dict[tuple[str, str, str], list[Target]]:
    """Each rule, as a row of the page shows it, with the targets that have it; `check` prints how to fix a node."""
    rows: dict[tuple[str, str, str], list[Target]] = {}
    for target in targets:
        for rule in target.rules:
            having = rows.setdefault((rule.name, rule.effect.value, _in_a_cell(rule.source)), [])
            if target not in having:
                having.append(target)
    return rows


def chinese_page() -> str:
    """The matrix in Chinese, and for each target how many rules it has; the rules themselves are in English."""
    text = ["# 目标及其规则\n", "[English](../../reference/targets.md) | 简体中文\n"]
    text.append("`check` 按这些规则判断，`legalize` 以它们为目标。规则的来源和改法逐条写在英文页面上。\n")
    text.append(f"## 各目标如何处理各种缩放\n\n{MATRIX_LEGEND[1]}\n")
    text += tables(chinese=True)
    shown = [target for target in TARGETS if target.runtime == "tensorrt"][::-1]
    shown += [target for target in TARGETS if target.runtime != "tensorrt"]
    for heading, targets in groupby(shown, key=section):
        text.append(f"## {'TensorRT' if heading == 'tensorrt' else heading}\n")
        text.append(
            f"| 目标 | 规则 | {' | '.join(CHINESE_EFFECTS.values())} |\n|---|---|{'---|' * len(CHINESE_EFFECTS)}"
        )
        for target in targets:
            effects = [rule.effect for rule in target.rules]
            counts = " | ".join(str(effects.count(effect)) for effect in CHINESE_EFFECTS)
            text.append(f"| `{target.name}` | {len(effects)} | {counts} |")
        text.append(f"\n[逐条列出（英文）](../../reference/targets.md#{heading})\n")
    return "\n".join(text).rstrip() + "\n"


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("{f.", "{")
