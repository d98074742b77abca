"""The web monitor beside the demo: one page that sees both runs and their bags."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from pathlib import Path
import re
from typing import NamedTuple

from armsense.errors import ArmsenseError
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor

PATIENCE = 60.0   # [s] for the page


class Page(NamedTuple):
    """Where the demo can be watched."""

    url: str
    token: str    # unlocks its buttons


@contextlib.contextmanager
def web_monitor(arm: str, launch_file: Path, bags: Path, port: int = 8080) -> Iterator[Page]:
    """Serve the page until the end of the block.

    Args:
        arm: That is shown.
        launch_file: `arm.launch.xml`, of which only the monitor is started.
        bags: Folder of the bag picker.
        port: Of the page, or the next free one.
    """
    plan = load(launch_file, {'arm': arm, 'monitor': 'web', 'bags': str(bags.resolve()),
                              'web_port': str(port)})
    with Supervisor([process for process in plan if process.name == 'web_monitor']) as supervisor:
        try:
            url = supervisor.wait_for_line('page: http', PATIENCE).text
            token = supervisor.wait_for_line('token to control', PATIENCE).text
            yield Page(re.sub('.*page: ', '', url), token.rsplit(' ', 1)[-1])
        except TimeoutError:
            words = '\n'.join(line.text for line in supervisor.lines[-5:])
            raise ArmsenseError(f'the monitor did not start:\n{words}') from None
