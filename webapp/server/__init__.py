"""HTTP server of a web process, which survives slow clients.

Gunicorn runs the processes. In each of them waitress receives requests in one loop and runs threads. This
package adds deadlines, limits per address, and body limits that the application sets for the headers.
"""
