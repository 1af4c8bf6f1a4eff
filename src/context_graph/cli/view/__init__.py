"""Defines `view` and `report`. ``source`` gives both their rows."""
