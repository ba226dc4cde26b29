"""Run competitions from the shell: create, change, announce, rescore, close, export."""
