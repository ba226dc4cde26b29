"""Use cases: functions that flush but never commit, because the caller owns the transaction."""
