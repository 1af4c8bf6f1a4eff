"""Defines the `memory …` commands. Start reading at ``actions``; ``table`` lists their options."""
