"""Blocks of networks as exporters write them, each with the numbers of one input size.

`two_sizes.py` draws from them. `FAMILIES` has the names of each file's blocks.
"""

from size_blocks import attention, cuts, decoders, filters, joins, layers, places, sampling
from size_blocks.net import BLOCKS, Map, Net

FAMILIES = {
    module.__name__.rpartition(".")[2]: [name for name, one in BLOCKS.items() if one.__module__ == module.__name__]
    for module in (layers, places, cuts, attention, sampling, filters, joins, decoders)
}

__all__ = ["BLOCKS", "FAMILIES", "Map", "Net"]
