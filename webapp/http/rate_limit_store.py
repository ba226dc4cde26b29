"""The web's connection to Redis or Valkey: address and short timeouts."""

from grader.settings import Settings

TIMEOUTS = {"socket_timeout": 0.2, "socket_connect_timeout": 0.2}


def broker_url(settings: Settings) -> str | None:
    """Return the broker's URL, None where there is none."""
    if settings.broker_url is None:
        return None
    return settings.broker_url.get_secret_value().replace("redis+socket://", "unix://", 1)
