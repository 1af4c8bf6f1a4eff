"""What tools/numbers.py measures: one module a number, each with ``tables(data)``."""
