"""A command as it is typed, for the tests of what commands write."""

import pytest

from resizefix.cli import main


@pytest.fixture
def call(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(done.value.code or 0), captured.out, captured.err

    return run
