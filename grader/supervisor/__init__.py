"""Supervisor of `fairboard serve`: starts and restarts web, worker, sweeper and Valkey on one machine.

The database row is the job, so every process here may be killed at any time: the supervisor starts it
again, and when the supervisor itself is killed its guardian ends what is left.
"""
