"""The MCP server: JSON-RPC, the protocol's life cycle, the memory tools, streamable HTTP.

It knows neither the socket nor the stores: whoever serves it (the owner) gives it lines of bytes and a
`host.Host`. Start reading at ``endpoint``.
"""
