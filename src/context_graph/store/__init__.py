"""Keeps one project's database: sessions, events, requests and memories, durable before a call returns.

It knows RocksDB, keys and records, but not what the numbers mean. Only the owner and in-process users of the
library open one. Start reading at `sessions.sessions` and `graph.graph`. `layout` describes what is on
disk, `engine` is the only access to RocksDB, to which `schema` describes the column families, and `salvage`
copies a damaged database into a new one.
"""
