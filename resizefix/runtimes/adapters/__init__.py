"""One file for each runtime that a model can be run in; the only file that imports it.

`version(options)` names the runtime, or raises ImportError or UnavailableError. `load(model, options)` gives a function
from feeds to outputs, in the order of the graph's; with the option `threads` set to "default" on as many as the runtime
takes unasked, else on one. Whatever they raise is the runtime's answer. These files run in
Pythons that have the runtime and numpy, and none of this package's other dependencies.
"""
