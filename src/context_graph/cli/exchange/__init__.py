"""Defines `sync` and the `hub …` commands: memories between machines."""
