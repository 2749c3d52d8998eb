"""What was found in a recording, in lines for people: what it is, where, and what to do."""

from menura.audio.findings import Finding, Severity
from menura.audio.recording import RecordingReport
from menura.cli.quantities import duration
from menura.cli.terminal import accent, dim, note, visible

_WORDS = {Severity.REFUSE: "no:", Severity.WARN: "note:", Severity.NOTE: "good to know:"}
_SHOWN_PLACES = 3


def show_report(report: RecordingReport, *, but: Severity | None = None) -> None:
    """Nothing; the recording's figures and each finding, `but` those, stand on stderr."""
    note(dim(figures(report), "stderr"))
    for finding in report.findings:
        if finding.severity is but:
            continue
        label = accent(_WORDS[finding.severity], "stderr")
        note(f"{label} {visible(words_of(finding))}")


def figures(report: RecordingReport) -> str:
    """The recording in numbers, on one line; only its length where nothing was measured."""
    facts = [duration(report.seconds)]
    if report.speech_s > 0:
        facts += [
            f"{report.speech_s:.1f} s of speech",
            f"loudness {report.loudness_lufs:.0f} LUFS",
            f"peak {report.peak_db:.1f} dB",
            f"noise {report.snr_db:.0f} dB below the speech",
        ]
    return " · ".join(facts)


def words_of(finding: Finding) -> str:
    """A finding's sentences, with the first places in the recording where there are some."""
    shown = [f"{start:.1f}-{end:.1f} s" for start, end in finding.spans[:_SHOWN_PLACES]]
    n_more = len(finding.spans) - len(shown)
    more = f" and {n_more} more" if n_more else ""
    where = f" ({', '.join(shown)}{more})" if shown else ""
    return f"{finding.says.rstrip('.')}{where}. {finding.do}".rstrip()


def report_as_json(report: RecordingReport) -> dict[str, object]:
    """What --json tells of a recording."""
    numbers = ("seconds", "speech_s", "peak_db", "loudness_lufs", "noise_db", "snr_db",
               "silence_start_s", "silence_end_s", "bandwidth_hz")  # fmt: skip
    return {name: round(float(getattr(report, name)), 3) for name in numbers} | {
        "findings": [
            {
                "code": finding.code,
                "severity": str(finding.severity),
                "says": finding.says,
                "do": finding.do,
                "spans": [list(span) for span in finding.spans],
            }
            for finding in report.findings
        ]
    }
