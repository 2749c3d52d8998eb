"""A workshop's process that does what its job's `file` says, without any decoder."""

import os
import sys
import time

from menura.server.models import frames

if __name__ == "__main__":
    job = frames.read(sys.stdin.buffer)
    assert job is not None
    what = job.text("file")
    if what == "crash":
        os.abort()
    if what == "exit":
        sys.exit(3)
    if what == "noise":
        os.write(1, b"noise on the wire")
        sys.exit(0)
    if what == "hang":
        os.write(2, b"hangs\n")
        time.sleep(600)
    status, _, code = what.partition(" ")
    if status.isdigit():
        error = {"status": int(status), "code": code, "message": "words", "param": "label"}
        os.write(1, frames.pack({"error": {**error, "needs": ""}}))
    else:
        os.write(1, frames.pack({"said": what, "pid": os.getpid()}))
    sys.stdin.buffer.read()  # until the server has had enough
