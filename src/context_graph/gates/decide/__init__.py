"""Decides the answer to each of the client's hooks while requirements are unmet. Start reading at
``hooks``.
"""
