"""OpenAPI document of the API, and its page."""
