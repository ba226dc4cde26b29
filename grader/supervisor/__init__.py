"""Process supervisor of `fairboard serve`: web server, workers, sweeper and Valkey.

Jobs are database rows, so any process may be killed at any time. The supervisor restarts it. If the
supervisor itself is killed, the kernel kills its children.
"""
