"""Use cases: functions that flush and never commit; the caller opens the transaction."""
