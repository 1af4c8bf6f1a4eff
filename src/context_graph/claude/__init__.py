"""Adapts to Claude Code: its hooks' JSON (`hooks`), its settings files (`settings`), `setup` (`install`).

`hosts` makes the hooks of other clients Claude Code's.
"""
