"""Annotations of a data set: how identities and labels go together, before there is a model."""
