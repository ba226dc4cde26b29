"""Request handling: login, security, errors, parameters, caching, confirmation."""
