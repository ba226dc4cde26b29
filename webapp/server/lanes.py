"""Separate threads for requests that hash a password (login, sign-up), so that others need not wait.

A crowd that logs in together waits for seconds. Uploads and pages do not wait for it.
"""

from grader.services.accounts import password_hashing

# Each begins the address of forms that take a password; a test compares them with the application.
PATHS = ("/login", "/sign-up", "/setup", "/reset", "/account/password", "/account/email", "/account/delete")
# As many as may wait or have their turn, and some that send away who is too much.
THREADS = password_hashing.AT_ONCE + password_hashing.MOST_WAITING + password_hashing.MOST_KNOWN_WAITING + 4


def hashes_a_password(method: str, path: str) -> bool:
    """Return whether a request may have to wait for its turn to hash a password."""
    return method == "POST" and any(path == each or path.startswith(f"{each}/") for each in PATHS)
