"""Process supervisor of `fairboard serve`: web server, workers, sweeper and Valkey.

Jobs are database rows, so any process may be killed at any time. The supervisor restarts it. If the
supervisor itself is killed, a guardian ends the remaining processes.
"""
