"""HTTP server for web processes, resistant to slow clients.

Gunicorn manages the processes. In each, waitress receives requests in one event loop and processes them in
threads. This package adds deadlines, limits per address, and body limits that the application derives from
the headers.
"""
