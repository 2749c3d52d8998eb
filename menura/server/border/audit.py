"""One line in the log for each change of what is kept: who, what, when; no name and no text."""

import logging

from fastapi import Request

from menura.server.routes import caller_of, request_id_of

_log = logging.getLogger("menura.server.audit")


def note(request: Request, did: str, which: str) -> None:
    """Nothing, after the log says what was done to which id (`voice made`, `voice removed`)."""
    told = {"key": caller_of(request).key_id, "id": which, "request_id": request_id_of(request)}
    _log.info(did, extra={"request": {name: value for name, value in told.items() if value}})
