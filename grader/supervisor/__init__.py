"""Process supervisor of `fairboard serve`: web, worker, sweeper and Valkey on one machine.

The database row is the job, so each process may be killed at any time: the supervisor restarts it, and a
guardian ends the remaining processes of a killed supervisor.
"""
