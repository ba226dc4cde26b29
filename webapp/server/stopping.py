"""Whether this web process is ending: requests that wait end with it."""

import threading

begun = threading.Event()
