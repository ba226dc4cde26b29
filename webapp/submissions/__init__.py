"""Pages of a team's submissions: submit, list, select, compare, receipts."""
