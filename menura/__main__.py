"""The command `menura`, and `python -m menura`: the process that `menura.cli.process` guards."""

from menura.cli.process import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
