"""Analysis of one submission: diagnosis, histograms, leak budget."""
