"""Defines the `req …` commands about requirements. Start reading at ``commands``."""
