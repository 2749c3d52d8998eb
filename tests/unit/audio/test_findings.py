from menura.audio.findings import Finding, Severity


def test_severities_go_from_the_worst_to_the_least() -> None:
    assert list(Severity) == ["refuse", "warn", "note"]


def test_a_finding_has_no_places_unless_it_names_them() -> None:
    assert Finding("quiet", Severity.WARN, "It is quiet.", "Speak up.").spans == ()
