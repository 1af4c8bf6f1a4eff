"""Holds what all commands share: the request to the owner, options, times, and what is printed."""
