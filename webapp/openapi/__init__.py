"""OpenAPI document of the API."""
