"""Adapts to Claude Code: its hooks' JSON (`hooks`), its settings files (`settings`), `setup` (`install`)."""
