"""What participants do on a site over HTTP: log in, submit, read scores, download; with their exit codes."""
