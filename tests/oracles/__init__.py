"""Computes what the kernels compute, in readable Python: what they are tested against.

One module per kernel of ext/kernels; `form`, `scripts`, `spaces` and `text` are parts of `tokens`, and
`vectors` holds the oscillators too. Start reading at `vectors`.
"""
