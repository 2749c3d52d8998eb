import pytest

from menura.audio.findings import Finding, Severity
from menura.audio.recording import RecordingReport
from menura.cli.findings import figures, report_as_json, show_report, words_of

REPORT = RecordingReport(
    seconds=8.42, peak_db=-3.2, loudness_lufs=-21.4, noise_db=-62.0, snr_db=41.4, speech_s=7.9
)


def finding(*spans: tuple[float, float], severity: Severity = Severity.WARN) -> Finding:
    return Finding("clipped", severity, "It is clipped.", "Record it lower.", spans)


def test_the_figures_stand_on_one_line() -> None:
    assert figures(REPORT) == (
        "8.4 s · 7.9 s of speech · loudness -21 LUFS · peak -3.2 dB · noise 41 dB below the speech"
    )
    assert figures(RecordingReport(2.0)) == "2.0 s"


@pytest.mark.parametrize(
    ("spans", "where"),
    [
        ([], ""),
        ([(1.0, 1.25)], " (1.0-1.2 s)"),
        ([(float(i), i + 0.5) for i in range(5)], " (0.0-0.5 s, 1.0-1.5 s, 2.0-2.5 s and 2 more)"),
    ],
)
def test_a_finding_says_where_it_is(spans: list[tuple[float, float]], where: str) -> None:
    assert words_of(finding(*spans)) == f"It is clipped{where}. Record it lower."


def test_each_finding_is_a_line_with_its_weight(capsys: pytest.CaptureFixture[str]) -> None:
    found = tuple(finding(severity=severity) for severity in Severity)
    show_report(REPORT.with_findings(found))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[1:] == [
        "no: It is clipped. Record it lower.",
        "note: It is clipped. Record it lower.",
        "good to know: It is clipped. Record it lower.",
    ]


def test_the_answer_has_numbers_and_findings() -> None:
    answer = report_as_json(REPORT.with_findings((finding((1.0, 2.0)),)))
    assert answer == {
        "seconds": 8.42, "speech_s": 7.9, "peak_db": -3.2, "loudness_lufs": -21.4,
        "noise_db": -62.0, "snr_db": 41.4, "silence_start_s": 0.0, "silence_end_s": 0.0,
        "bandwidth_hz": 0.0,
        "findings": [
            {
                "code": "clipped", "severity": "warn", "says": "It is clipped.",
                "do": "Record it lower.", "spans": [[1.0, 2.0]],
            }
        ],
    }  # fmt: skip
