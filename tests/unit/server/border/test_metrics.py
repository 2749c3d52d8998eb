from typing import TYPE_CHECKING, cast

from menura.server.border.metrics import Metrics
from menura.server.border.request_log import RequestNotes
from tests.unit.server.http_parts import ShownModel

if TYPE_CHECKING:
    from menura.server.models.model_pool import LoadedModel


def page(metrics: Metrics, *models: ShownModel) -> str:
    return metrics.page(cast("list[LoadedModel]", list(models))).decode()


def notes(**values: object) -> RequestNotes:
    made = RequestNotes("req_1", "POST", route="/v1/audio/speech", status=200, bytes_out=10)
    for name, value in values.items():
        setattr(made, name, value)
    return made


def test_a_speech_is_counted_with_its_times() -> None:
    metrics = Metrics()
    metrics.observe(notes(model="m", finish="stop", audio_s=4.0, first_audio_s=0.3, speaking_s=1.0))
    text = page(metrics)
    for line in (
        'menura_requests_total{method="POST",route="/v1/audio/speech",status="200"} 1.0',
        'menura_response_bytes_total{route="/v1/audio/speech"} 10.0',
        'menura_speeches_total{finish="stop",model="m"} 1.0',
        'menura_audio_seconds_total{model="m"} 4.0',
        'menura_first_audio_seconds_bucket{le="0.25",model="m"} 0.0',
        'menura_first_audio_seconds_bucket{le="0.5",model="m"} 1.0',
        'menura_real_time_factor_sum{model="m"} 0.25',
    ):
        assert line in text


def test_what_is_not_known_is_not_counted() -> None:
    metrics = Metrics()
    metrics.observe(notes())
    metrics.observe(notes(model="m", audio_s=0.0, speaking_s=1.0))
    text = page(metrics)
    assert 'model="m"' not in text


def test_a_model_that_was_unloaded_has_no_numbers() -> None:
    metrics = Metrics()
    assert 'menura_model_state{model="builtin",state="ready"} 1.0' in page(metrics, ShownModel())
    assert 'model="builtin"' not in page(metrics)


def test_a_model_shows_its_rows_its_queue_and_its_restarts() -> None:
    text = page(Metrics(), ShownModel())
    for line in ("menura_rows", "menura_queue_depth", "menura_model_restarts"):
        assert f'{line}{{model="builtin"}} ' in text
    assert 'menura_model_restarts{model="builtin"} 2.0' in text


def test_a_model_is_in_one_state() -> None:
    metrics = Metrics()
    page(metrics, ShownModel())
    text = page(metrics, ShownModel(state="restarting"))
    assert 'state="restarting"} 1.0' in text
    assert 'state="ready"' not in text


def test_wrong_keys_are_counted_and_no_version_is_told() -> None:
    metrics = Metrics()
    metrics.count_wrong_key()
    text = page(metrics)
    assert "menura_wrong_keys_total 1.0" in text
    assert "python_info" not in text


def test_two_servers_in_one_process_count_for_themselves() -> None:
    first = Metrics()
    first.count_wrong_key()
    assert "menura_wrong_keys_total 0.0" in page(Metrics())
