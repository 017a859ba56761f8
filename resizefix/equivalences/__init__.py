"""Which rewrites keep the meaning: the numbered equivalences, and the shortest chain of them.

Everything here works on the canonical form alone and edits no graph. "Exact" means bit for bit in onnxruntime's CPU
kernels, as the tests prove; an inexact equivalence states its measured bound.
"""
