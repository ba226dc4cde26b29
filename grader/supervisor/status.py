"""`fairboard doctor` checks for the supervisor and its queue."""

from collections.abc import Iterator

from redis.exceptions import RedisError

from grader.maintenance import doctor_checks, exporter
from grader.maintenance.doctor_checks import DoctorFinding
from grader.settings import Settings
from grader.supervisor import lock, valkey


def of_service(settings: Settings) -> Iterator[DoctorFinding]:
    """Report whether `fairboard serve` runs on the data folder, and whether the broker responds."""
    served_by, url = lock.holder(settings.data_dir), settings.redis_url()
    if served_by:
        yield doctor_checks.ok("service", f"The data folder is served by {served_by}.")
        url = url or f"unix://{(settings.data_dir / valkey.LINK).resolve()}"
    else:
        yield doctor_checks.ok("service", "`fairboard serve` is not running on this data folder.")
    try:
        if url is not None:
            exporter.ping(url)
            yield doctor_checks.ok("queue", "The broker responds.")
    except (RedisError, ValueError) as error:
        yield doctor_checks.warning(
            "queue",
            f"The broker does not respond ({error}). Until it does, only the sweeper scores submissions, "
            "with a delay of a few seconds.",
        )
