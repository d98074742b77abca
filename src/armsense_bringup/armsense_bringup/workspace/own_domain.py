"""A ROS domain where a simulation neither hears nor disturbs an arm that runs already."""

from __future__ import annotations

import os
import socket
import sys

from armsense.errors import ArmsenseError

REACH = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
FIRST_PORT = 7410        # of the first participant of domain 0, by the standard of DDS
PARTICIPANTS = 20        # that are looked for: the first ones may have gone
DOMAINS = range(10, 40)  # those above are left to tests


def keep_apart() -> None:
    """Stay on this machine, and in the domain of the environment if nobody else talks there."""
    if os.environ.get(REACH, 'SUBNET') == 'SUBNET':      # ROS's own default
        os.environ[REACH] = 'LOCALHOST'
    domain = int(os.environ.get('ROS_DOMAIN_ID') or 0)
    if in_use(domain):
        os.environ['ROS_DOMAIN_ID'] = str(free_domain())
        sys.stderr.write(f'somebody talks in ROS domain {domain}: this simulation runs in '
                         f'{os.environ["ROS_DOMAIN_ID"]}\n')


def free_domain() -> int:
    """A domain that nobody on this machine talks in.

    Raises:
        ArmsenseError: There is none.
    """
    first = os.getpid() % len(DOMAINS)       # not the same for all who ask at the same time
    for domain in (*DOMAINS[first:], *DOMAINS[:first]):
        if not in_use(domain):
            return domain
    raise ArmsenseError(f'every ROS domain from {DOMAINS[0]} to {DOMAINS[-1]} is in use')


def in_use(domain: int) -> bool:
    """Whether somebody on this machine talks in a domain: listens where its participants do."""
    return any(_taken(FIRST_PORT + 250 * domain + 2 * k) for k in range(PARTICIPANTS))


def _taken(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return True
    return False
