"""Kaggle protocol: support for the official `kaggle` command."""
