"""Protocol of the official `kaggle` command, on the services of the pages and the API."""
