"""OpenTelemetry traces of requests and jobs, sent only if an OTLP endpoint is set.

Without an endpoint, the OpenTelemetry packages are not imported. Spans have the ids of the log's events as
attributes, and the log's events have the trace's id in `traceparent`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from grader import logs

EXPORT_MILLISECONDS = 1_000
_configured: dict[str, str] = {}


def configure(process: str, endpoint: str | None) -> None:
    """Send the traces of this process and its forks to an endpoint; exit if the packages are missing."""
    if endpoint is None:
        return
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError:
        raise SystemExit(
            "FAIRBOARD_OTLP_ENDPOINT requires OpenTelemetry, which the extra `otel` installs."
        ) from None
    _configured.update(process=process, endpoint=endpoint.rstrip("/"))


@contextmanager
def span(name: str) -> Iterator[Any]:
    """Record the block as a span; its parent is the `traceparent` among the ids of the log."""
    if not _configured:
        yield None
        return
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    propagator = TraceContextTextMapPropagator()
    parent = propagator.extract({"traceparent": str(logs.ids().get("traceparent", ""))})
    with _tracer(os.getpid()).start_as_current_span(name, context=parent) as recorded:
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        with logs.bound(**carrier):
            try:
                yield recorded
            finally:
                recorded.set_attributes(
                    {f"fairboard.{key}": value for key, value in logs.ids().items() if key != "traceparent"}
                )


@cache
def _tracer(pid: int) -> Any:  # noqa: ARG001 - a forked process needs its own sender
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(
        resource=Resource.create({"service.name": "fairboard", "fairboard.process": _configured["process"]})
    )
    exporter = OTLPSpanExporter(f"{_configured['endpoint']}/v1/traces", timeout=5)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_MILLISECONDS))
    return provider.get_tracer("fairboard")
