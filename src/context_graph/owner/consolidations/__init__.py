"""Runs consolidations in a process beside the owner: ``schedule`` decides when, ``queue`` in which order.

Start reading at ``queue``; ``run`` carries one out, ``aftermath`` and ``goal_identity`` use its results.
"""
