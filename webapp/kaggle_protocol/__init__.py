"""The protocol of the official `kaggle` command, served by the same services as the pages and the API."""
