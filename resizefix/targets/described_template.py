"""A file to begin a target of one's own with: valid as written, with a comment for each thing that can be stated."""

from __future__ import annotations

import textwrap

from resizefix.targets.described import EFFECTS, QUOTED
from resizefix.targets.described_computation import PROPERTIES
from resizefix.targets.described_conditions import CONDITIONS

_WIDTH = 100
_HEAD = """\
# A target for `resizefix check` and `resizefix legalize`: --target {name}.toml
# Each rule says which Upsample/Resize nodes your device does not take, or computes otherwise.
# Change the examples below to what your device's documentation says, and delete the others.

# What answers call the target: lower-case letters, digits, - and .
name = "{name}"
# The device, its compiler and the version that the rules are about.
title = "{name} (documentation, not run here)"
# Where you read the rules, so that somebody can read them again: a page, or a file and a commit.
source = "the documentation of {name}"

# A rule refuses every node that does not meet `needs`.
[[rule]]
name = "nearest-or-linear"
because = "mode is {{mode}}; the device has nearest and linear"
needs = {{ mode = ["nearest", "linear"] }}

# With `where`, it is asked of some nodes only: here of those with mode nearest.
# `fix` is what helps; left out, it is "replace the node".
[[rule]]
name = "nearest-floor"
because = "nearest_mode is {{nearest_mode}}; the device rounds down"
fix = "write asymmetric with floor where that is the same, or replace the node"
where = {{ mode = "nearest" }}
needs = {{ nearest_mode = "floor" }}

# Without `needs`, every node of `where` is refused.
[[rule]]
name = "extent-is-constant"
because = "the {{extent}} come from {{source}}; the compiler wants constants"
fix = "freeze the scales"
where = {{ fed = true }}

# A list of tables: one of them is enough. All conditions of a table hold together.
[[rule]]
name = "whole-factors"
because = "the {{extent}} are {{values}}; linear takes whole factors, or halves"
where = {{ mode = "linear" }}
needs = [{{ factors = "whole" }}, {{ factor = 0.5 }}]

"""
_EFFECTS = """\
# `effect` is one of {effects}:
#   rejected   the device refuses the node (what a rule says that names no effect)
#   different  it takes the node and computes something else
#   noted      it takes the node and computes the same; the user should know something
#
# With `computes` the device takes the node, and the rule is broken where a sample differs from ONNX's:
# [[rule]]
# name = "half-pixel-always"
# because = "coordinate_transformation_mode is {{coordinate_transformation_mode}}, and half_pixel is computed"
# computes = {{ coordinate_transformation_mode = "half_pixel" }}
#
# Operators that the device does not have, so that `legalize` uses others:
# [[limit]]
# operators = ["Gather", "Tile"]
#
# Sentences may quote the node:
"""


def template(name: str) -> str:
    """The text of a new file for a target of that name."""
    quoted = ", ".join(f"{{{word}}}" for word in QUOTED)
    text = [_HEAD.format(name=name), _EFFECTS.format(effects=", ".join(EFFECTS)), _comment(quoted)]
    text.append("#\n# What `where` and `needs` may state. What is not known of a node breaks no rule.\n")
    text += [_entry(one.name, one.says, one.kind.takes) for one in CONDITIONS]
    text.append("#\n# What `computes` may state:\n")
    text += [_entry(one.name, one.says, one.kind.takes) for one in PROPERTIES]
    return "".join(text)


def _entry(name: str, says: str, takes: str) -> str:
    return f"#   {name}\n{_comment(f'{says}: {takes}')}"


def _comment(text: str) -> str:
    return (
        textwrap.fill(text, _WIDTH, initial_indent="#     ", subsequent_indent="#     ", break_on_hyphens=False) + "\n"
    )
