"""The bytes two processes exchange: socket frames, spool lines, brief slots.

Bytes in, records out; nothing here opens a socket, knows a verb's meaning or keeps state.
ext/launcher/src/{wire,spool,brief}.rs are the twins; tests/golden holds both ends to one layout.
Start reading at ``frames``.
"""
