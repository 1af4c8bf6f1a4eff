"""Serves MCP: JSON-RPC, the protocol's life cycle, the memory tools.

It knows neither sockets nor stores: the owner, which serves it, gives it lines of bytes and a host with the
store. Start reading at ``endpoint``; ``tools`` makes the tools, ``rpc`` the messages.
"""
