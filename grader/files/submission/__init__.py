"""Read a submission file: header, predictions, missing ids, and its problems."""
