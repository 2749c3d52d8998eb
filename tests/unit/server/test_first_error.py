from menura.server.first_error import first_error


def test_the_first_error_is_found_inside_groups() -> None:
    error = ValueError("this one")
    inner = ExceptionGroup("inner", [error, KeyError("another")])
    assert first_error(ExceptionGroup("outer", [inner, OSError()])) is error
