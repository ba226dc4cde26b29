"""The pages and the JSON API: thin over `grader.services`."""
