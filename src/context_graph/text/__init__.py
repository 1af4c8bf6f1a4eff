"""Reads plain text for the layers above: words, sentences and phrases, and what texts mean.

Start reading at `paraphrase`, which compares texts; `meaning` and `english` serve it. `patterns` is the only
access to RE2.
"""
