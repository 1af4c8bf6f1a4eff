"""Reads requirements.yaml: ``config`` loads the cascade of files, ``fields`` defines keys, ``schema``
checks.
"""
