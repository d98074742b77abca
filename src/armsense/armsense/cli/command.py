"""How the commands of the suite end: with a result, with one line that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
import json
import sys
from typing import Any

from armsense.errors import ArmsenseError


def answer(name: str, work: Callable[[], dict[str, Any] | None], as_json: bool,
           interrupted: str = 'interrupted') -> int:
    """Do the work of a command; returns its exit code.

    Args:
        name: Of the command, before what goes wrong.
        work: What it does; returns its result, if it has one.
        as_json: Print the result, as the last line.
        interrupted: What Ctrl-C has left.
    """
    try:
        result = work()
    except ArmsenseError as error:
        print(f'{name}: {error}', file=sys.stderr)
        return 1
    except OSError as error:   # a missing file or folder, a full disk, a taken port
        print(f'{name}: {os_error(error)}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f'{name}: {interrupted}', file=sys.stderr)
        return 130
    if as_json:
        print(json.dumps(result))
    return 0


def os_error(error: OSError) -> str:
    """What the system refused, for a user: the file, if there is one, and why."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f'{error.filename}: {error.strerror}'
