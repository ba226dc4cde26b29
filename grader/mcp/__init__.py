"""A site for agents: the tools of a participant over the Model Context Protocol, on standard streams."""
