"""Services of `base_reaction`: offset, trust, sensitivity, thresholds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from armsense import schema
from armsense.base.base_monitor import BaseMonitor
from armsense.detector import fixed_thresholds, Thresholds
from armsense_node.services import served


class BaseServices:
    """Answers requests with what the monitor says."""

    def __init__(self, node: Node, settings: Any, monitor: Callable[[], BaseMonitor],
                 pose: Callable[[], np.ndarray]) -> None:
        """Offer the services.

        Args:
            node: The node.
            settings: Its parameters `thresholds` and `rate_per_hour`.
            monitor: The monitor, once the node is configured.
            pose: Joint positions now [rad], (n,).
        """
        self._settings, self._monitor, self._pose = settings, monitor, pose
        for name, act in (('zero', self._zero), ('trust_cells', self._trust),
                          ('detectable_force', self._detectable)):
            node.create_service(Trigger, f'~/{name}', served(act))
        node.create_service(SetBool, '~/learn_thresholds', served(self._learn))

    def _zero(self, request: Any) -> str:
        return self._monitor().zero()

    def _trust(self, request: Any) -> str:
        self._monitor().trust_cells()
        return 'all cells are used again'

    def _detectable(self, request: Any) -> str:
        force = self._monitor().detectable(self._pose())
        x, y, z = force.axis
        return (f'at the tool: {x:.1f} N along x, {y:.1f} N along y, {z:.1f} N along z, '
                f'{force.worst:.1f} N in the worst direction')

    def _learn(self, request: Any) -> str:
        """True begins to collect residuals of free motion, False fits the thresholds."""
        monitor = self._monitor()
        if request.data:
            monitor.record_residuals()
            return 'collecting; nothing must touch the arm'
        thresholds = monitor.fit_thresholds(self._settings.rate_per_hour)
        if self._settings.thresholds:
            schema.write_yaml(thresholds, Path(self._settings.thresholds))
        values = ', '.join(f'{name} {value:.3g}' for name, value in zip(
            monitor.layout.names, thresholds.constant, strict=True))
        return '; '.join([values, *thresholds.warnings])


def read_thresholds(path: str) -> Thresholds | None:
    """From a file that may not exist yet: as learned, or `constant` values alone."""
    if not path or not Path(path).exists():
        return None
    data = schema.read_yaml(Path(path))
    if set(data) == {'constant'}:
        return fixed_thresholds(data['constant'])
    return schema.load(Thresholds, data, Path(path).name)
