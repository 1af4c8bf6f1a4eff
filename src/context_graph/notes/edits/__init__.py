"""Keeps what edits put in place of what, however they were made: by a tool, a command, or a script."""
