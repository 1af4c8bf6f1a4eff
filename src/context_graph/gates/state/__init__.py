"""Reads and writes what is satisfied, by branch and session; reads git's own files. Start at ``state``."""
