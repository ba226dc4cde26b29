"""Model Context Protocol server for AI agents: participants' tools over standard streams."""
