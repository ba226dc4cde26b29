"""The API's description: its OpenAPI document, and a page made of it."""
