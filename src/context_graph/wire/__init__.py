"""Holds what clients and owner share: socket frames, the files of the `run` folder, and the ``client``.

Except in ``client``, nothing here opens a socket, knows a verb's meaning or keeps state. The twins are in
ext/launcher/src; tests/golden holds both to one layout. Start reading at ``frames``.
"""
