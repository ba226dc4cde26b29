"""Everything between a request and a page: login, security, errors, parameters, caching, confirmation."""
