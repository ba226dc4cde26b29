"""MCP server for agents: the tools of a participant on standard streams."""
