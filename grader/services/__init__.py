"""Use cases: functions (session, *, …, now) that flush and never commit; the edge opens the transaction."""
