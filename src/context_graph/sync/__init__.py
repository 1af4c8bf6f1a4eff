"""Carries changes of memories and links from one machine's store to another's.

A store needs no other: what is here runs apart from hooks, and what it reads was written by others.
"""
