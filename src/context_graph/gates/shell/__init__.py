"""Reads shell commands without running them. ``shell`` parses, ``runs`` finds what runs in the end and
where.
"""
