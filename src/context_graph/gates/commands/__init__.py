"""Carries out the `req` commands. Start reading at ``commands``."""
