"""`python -m menura` is the command `menura`."""

from menura.cli.main import main

main()
