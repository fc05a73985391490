"""The command line, as ``python -m separatrix.cli``."""

from separatrix.cli import main

main()
