"""Webhooks of teams and organizers: who may have which, what each event says, changes of rank, deadlines."""
