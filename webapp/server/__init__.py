"""HTTP front of a web process: receive requests in full, within time and size limits.

Gunicorn runs the processes; in each of them waitress receives in one loop and works with threads. This
package adds what neither has: deadlines, bounds for each address, and the question to the application how
large a body may be, asked with the head alone.
"""
