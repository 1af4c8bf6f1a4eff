"""Finds memories: terms, vectors and columns in memory, and their snapshot on disk.

Start reading at `index`; `blend` scores, `file` saves and loads, `derived` keeps index and metrics up to
date.
"""
