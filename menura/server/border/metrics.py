"""Numbers for Prometheus: requests, waiting and spoken rows, first audio, real-time factor.

Labels hold only route templates and names that this server serves, never a client's words.
"""

from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from menura.server.border.request_log import RequestNotes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from menura.server.models.model_pool import LoadedModel

MEDIA_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 5.0, 10.0)


class Metrics:
    """The server's numbers; one object a server, so that tests do not share them."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "menura_requests", "Requests answered.", ("route", "method", "status"),
            registry=registry,
        )  # fmt: skip
        self._request_s = Histogram(
            "menura_request_seconds", "From a request's head to its answer's end.", ("route",),
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self._bytes_out = Counter(
            "menura_response_bytes", "Bytes of answers.", ("route",), registry=registry
        )
        self._wrong_keys = Counter("menura_wrong_keys", "Wrong keys given.", registry=registry)
        self._finished = Counter(
            "menura_speeches", "Speeches by why they ended.", ("model", "finish"),
            registry=registry,
        )  # fmt: skip
        self._audio_s = Counter(
            "menura_audio_seconds", "Seconds of audio made.", ("model",), registry=registry
        )
        self._first_audio_s = Histogram(
            "menura_first_audio_seconds", "From a request to its first audio.", ("model",),
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self._real_time_factor = Histogram(
            "menura_real_time_factor", "Seconds of speaking for a second of audio.", ("model",),
            buckets=_FACTORS, registry=registry,
        )  # fmt: skip
        self._rows = Gauge(
            "menura_rows", "Utterances that are spoken now.", ("model",), registry=registry
        )
        self._queue = Gauge(
            "menura_queue_depth", "Requests that wait.", ("model",), registry=registry
        )
        self._memory = Gauge(
            "menura_model_memory_bytes", "Memory of a model's process.", ("model",),
            registry=registry,
        )  # fmt: skip
        self._restarts = Gauge(
            "menura_model_restarts", "Times that a model's process was started again.",
            ("model",), registry=registry,
        )  # fmt: skip
        self._state = Gauge(
            "menura_model_state", "1 for the state that a model is in.", ("model", "state"),
            registry=registry,
        )  # fmt: skip

    def observe(self, notes: RequestNotes) -> None:
        """Nothing, after a finished request was counted."""
        self._requests.labels(notes.route, notes.method, str(notes.status)).inc()
        self._request_s.labels(notes.route).observe(notes.seconds)
        self._bytes_out.labels(notes.route).inc(notes.bytes_out)
        if not notes.model:
            return
        if notes.finish:
            self._finished.labels(notes.model, notes.finish).inc()
        if notes.audio_s:
            self._audio_s.labels(notes.model).inc(notes.audio_s)
            if notes.speaking_s is not None:
                self._real_time_factor.labels(notes.model).observe(notes.speaking_s / notes.audio_s)
        if notes.first_audio_s is not None:
            self._first_audio_s.labels(notes.model).observe(notes.first_audio_s)

    def count_wrong_key(self) -> None:
        """Nothing, after one more wrong key was counted."""
        self._wrong_keys.inc()

    def page(self, models: "Sequence[LoadedModel]") -> bytes:
        """The numbers as Prometheus reads them, with those of the models as they are now."""
        for gauge in (self._rows, self._queue, self._memory, self._restarts, self._state):
            gauge.clear()  # a model that was unloaded has no numbers
        for model in models:
            self._rows.labels(model.name).set(model.rows)
            self._queue.labels(model.name).set(model.queue)
            self._memory.labels(model.name).set(model.rss_bytes)
            self._restarts.labels(model.name).set(model.n_restarts)
            self._state.labels(model.name, model.state).set(1)
        return generate_latest(self._registry)
