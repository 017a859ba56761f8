"""Which rewrites keep the meaning: the numbered equivalences (table.py), and the shortest chain of them (chain.py).

Everything here works on the canonical form alone and edits no graph. "Exact" means bit for bit in onnxruntime's CPU
kernels, as the tests prove; an inexact equivalence states its measured bound.
"""
