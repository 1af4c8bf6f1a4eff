"""Computes what the compiled kernels compute, in readable Python: the reference that they are tested against.

One module per kernel of ext/kernels; `form`, `scripts`, `spaces` and `text` are parts of `tokens`. Start
reading at `vectors`.
"""
