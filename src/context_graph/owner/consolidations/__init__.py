"""Runs consolidations in a process beside the owner: ``schedule`` decides when, ``queue`` in which order.

Start reading at ``queue``; ``run`` carries one out, ``aftermath`` uses its results.
"""
