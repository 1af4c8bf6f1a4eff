"""Encodes and decodes what two processes exchange: socket frames, spool lines, brief slots.

Bytes in, records out; except in ``client``, nothing here opens a socket, knows a verb's meaning or keeps
state. ext/launcher/src/{wire,spool,brief}.rs are the twins; tests/golden holds both to one layout. Start
reading at ``frames``.
"""
