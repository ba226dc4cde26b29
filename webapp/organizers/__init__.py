"""Pages and API of the organizers: set up, run, close, rescore, and check fair play."""
