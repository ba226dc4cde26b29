"""Use cases: functions that flush but never commit; callers own the transaction."""
