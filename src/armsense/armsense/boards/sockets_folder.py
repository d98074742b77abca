"""Where driver and simulator meet when nobody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path
import tempfile


def socket_folder(namespace: str) -> str:
    """A folder of this user, DDS domain and namespace; made if it is not there."""
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    name = f'armsense-{os.getuid()}-{domain}{namespace.strip("/").replace("/", "-")}'
    folder = Path(tempfile.gettempdir(), name)
    folder.mkdir(mode=0o700, exist_ok=True)
    return str(folder)
