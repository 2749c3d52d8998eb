"""A store's process that does on purpose what a real one may do; the model's name says what.

It tells its own process id where a real one tells the file that it is at.
"""

import os
import sys

from menura.server.models import frames

PROGRAM = (sys.executable, "-P", __file__)


def tell(**head: object) -> None:
    sys.stdout.buffer.write(frames.pack(head))
    sys.stdout.buffer.flush()


def main() -> None:
    job = frames.read(sys.stdin.buffer)
    assert job is not None
    tell(phase="download", file=str(os.getpid()), done_bytes=3, total_bytes=10)
    match job.text("model").partition("-")[0]:
        case "good":
            tell(done={"ok": True, "files": [], "told": dict(job.head)})
        case "empty":
            tell(done={})
        case "bad":
            tell(error="the hub cannot be reached.")
        case "garbage":
            sys.stdout.buffer.write(b"hello, I am no frame at all")
        case "slow":
            os.read(0, 1)  # until the server closes its line, or kills this


if __name__ == "__main__":
    main()
