"""One project's database: sessions, events and requests, durable before a call returns.

It knows RocksDB, keys and records, and nothing of what the numbers mean. Only the owner and in-process users
of the library open one. Start reading at `sessions`; `layout` says what is on disk, `engine` is the door to
RocksDB, `repair` salvages a damaged database into a new one.
"""
