"""Analysis of a submission: diagnosis, histograms."""
