"""The command line, as ``python -m separatrix``."""

from separatrix.cli import main

main()
