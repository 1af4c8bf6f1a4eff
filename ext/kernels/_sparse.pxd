"""Dimensions of sparse event vectors, shared by the kernels that make them and those that compare them."""

cdef enum:
    N_BAGS = 14
    N_BUCKETS = 4096  # a power of two: a bucket is the low bits of a CRC-32
