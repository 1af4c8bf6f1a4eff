"""Renders answers as text: ``tables`` for JSON answers, one module each for `status` and `doctor`."""
