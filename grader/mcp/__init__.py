"""MCP server for AI agents: participant tools on standard input and output."""
