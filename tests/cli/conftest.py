"""What the tests of the command line share."""

import pytest

from separatrix.cli import main


@pytest.fixture
def refused(capfd):
    """Function from a command to the one line by which it is refused."""

    def line_of(*command):
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in command])
        assert stopped.value.code == 2
        (line,) = capfd.readouterr().err.splitlines()
        return line

    return line_of
