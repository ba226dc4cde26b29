"""`fairboard doctor` checks for the supervisor and its queue."""

from collections.abc import Iterator

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from grader.maintenance import doctor_checks
from grader.maintenance.doctor_checks import DoctorFinding
from grader.settings import PREFIX, Settings
from grader.supervisor import lock, valkey

TIMEOUTS = {"socket_timeout": 2, "socket_connect_timeout": 2}


def of_service(settings: Settings) -> Iterator[DoctorFinding]:
    """Report whether `fairboard serve` runs on the data folder."""
    served_by = lock.holder(settings.data_dir)
    yield doctor_checks.ok(
        "service",
        f"The data folder is served by {served_by}."
        if served_by
        else "`fairboard serve` is not running on this data folder.",
    )


def of_broker(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that the broker responds."""
    url = settings.redis_url()
    if settings.broker_url is None and lock.holder(settings.data_dir):
        url = f"unix://{(settings.data_dir / valkey.LINK).resolve()}"
    if url is None:
        message = "No broker is set: `serve` starts its own, and the sweeper needs none."
        yield doctor_checks.ok("queue", message)
        return
    try:
        with Redis.from_url(url, retry=Retry(NoBackoff(), 0), **TIMEOUTS) as redis:
            redis.ping()
    except (RedisError, ValueError) as error:
        hint = (
            f"Check that it is running and that {PREFIX}BROKER_URL is correct."
            if settings.broker_url is not None
            else f"{settings.data_dir / 'valkey' / 'valkey.log'} may contain the reason."
        )
        yield doctor_checks.warning(
            "queue",
            f"The broker does not respond ({error}). {hint} Until it does, only the sweeper scores "
            "submissions, with a delay of a few seconds.",
        )
    else:
        yield doctor_checks.ok("queue", "The broker responds.")
