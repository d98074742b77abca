"""`load_cells`: the cells under the base as one topic.

Simulated cells do not pass through here: the simulator publishes `load_cells` itself, in step
with the plant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
import sys
import threading
import time
from typing import Any

from std_srvs.srv import Trigger

from armsense.base.cell_calibration import CalibrationFile, CellCalibration
from armsense.base.cell_layout import CellLayout
from armsense.boards.load_cells.cell_monitor import CellMonitor, MonitorOptions
from armsense.boards.load_cells.sources import CellSource, CellWiring, open_source
from armsense.errors import ArmsenseError
from armsense.model.arm_config import ArmConfig
from armsense.schema import quantity, same_as
from armsense_msgs.msg import LoadCells
from armsense_msgs.srv import SetString
from armsense_node.health import Health, Level
from armsense_node.lifecycle import LoopNode
from armsense_node.loop import PacedLoop, run_node, StreamPublisher
from armsense_node.parameters import ArmParameters, declare, LifecycleParameters

COMPLAIN_EVERY = 5.0   # [s]


@dataclass(frozen=True, kw_only=True)
class Settings(LifecycleParameters, CellWiring, ArmParameters):
    """Parameters."""

    calibration: str = quantity('', text='yaml file of gains and offsets, read and written; '
                                'empty: one newton per count')
    stale_time: float = same_as(MonitorOptions, 'stale_time')


class LoadCellsNode(LoopNode):
    """Lifecycle shell around `CellMonitor` and a source."""

    def __init__(self) -> None:
        super().__init__('load_cells')
        self._settings = declare(self, Settings)
        self._lock = threading.Lock()          # services against the loop
        self._source: CellSource | None = None
        for kind, name, act in ((Trigger, 'tare', self._tare),
                                (Trigger, 'clear_tare', self._clear_tare),
                                (SetString, 'calibrate', self._calibrate)):
            self.create_service(kind, f'~/{name}', self._service(act))
        if self._settings.autostart:
            self.autostart()

    # -- lifecycle ---------------------------------------------------------------------------

    def configure(self) -> None:
        config = ArmConfig.load(self._settings.arm)
        layout = CellLayout.of_config(config.load_cells)
        assert config.load_cells is not None
        self._rate = config.load_cells.rate
        self.monitor = CellMonitor(self._read_calibration(layout.cells), MonitorOptions(
            capacity=config.load_cells.capacity, noise=config.load_cells.noise,
            stale_time=self._settings.stale_time))
        self._source = open_source(self._settings, layout.cells)
        self._stream = StreamPublisher(self, LoadCells, 'load_cells', layout.cells,
                                       frame_id='base_link')
        self._problems: tuple[str, ...] = ()

    def make_loop(self) -> PacedLoop:
        self.get_logger().info(f'{len(self.monitor.calibration.cells)} load cells on '
                               f'{self._settings.source} at {self._rate:g} Hz')
        return PacedLoop(1.0 / self._rate, self._step)

    def close(self) -> None:
        if self._source is not None:
            self._source.close()

    def _read_calibration(self, cells: int) -> CalibrationFile:
        path = self._settings.calibration
        if path and Path(path).exists():
            return CalibrationFile.read(path, cells)
        self.get_logger().warning('the cells are not calibrated: one newton per count')
        return CalibrationFile(cells=(CellCalibration(gain=1.0),) * cells)

    # -- the loop ----------------------------------------------------------------------------

    def _step(self, tick: int) -> None:
        assert self._source is not None
        counts = self._source.read()
        now = time.monotonic()
        with self._lock:
            if counts is not None:
                self.monitor.take(counts, now)
            state = self.monitor.state(now)
        message = self._stream.message
        message.seq, message.stamp_ns = tick, time.time_ns()
        message.force, message.valid = state.force, state.valid
        self._stream.publish()
        if state.problems != self._problems:
            self._problems = state.problems
            if state.problems:
                self.get_logger().error('; '.join(state.problems),
                                        throttle_duration_sec=COMPLAIN_EVERY)

    # -- services and health -----------------------------------------------------------------

    def _tare(self, request: Trigger.Request) -> str:
        return self.monitor.tare(time.monotonic())

    def _clear_tare(self, request: Trigger.Request) -> str:
        self.monitor.clear_tare()
        return 'the cells report all that they carry'

    def _calibrate(self, request: SetString.Request) -> str:
        """Takes 'CELL LOAD' (from 1, newtons) for every known load, then 'finish'."""
        words = request.data.split()
        if words == ['finish']:
            return self._finish_calibration()
        try:
            cell, load = int(words[0]), float(words[1])
        except (ValueError, IndexError):
            raise ArmsenseError(f"{request.data!r} is neither 'CELL LOAD' nor 'finish'") from None
        return f'cell {cell}: {self.monitor.sample_load(cell, load):.1f} counts at {load:g} N'

    def _finish_calibration(self) -> str:
        file = self.monitor.calibrate()
        if self._settings.calibration:
            file.write(self._settings.calibration)
        return '; '.join(
            f'cell {k}: {c.gain:.4g} N per count, linearity {100 * c.linearity:.2f} %, '
            f'hysteresis {100 * c.hysteresis:.2f} %' for k, c in enumerate(file.cells, start=1)
            if c.largest_load > 0.0)

    def _service(self, act: Callable[[Any], str]) -> Callable[[Any, Any], Any]:
        def serve(request: Any, response: Any) -> Any:
            try:
                if self._source is None:
                    raise ArmsenseError('not configured')
                with self._lock:
                    response.message = act(request)
                response.success = True
            except ArmsenseError as error:
                response.success, response.message = False, str(error)
            return response
        return serve

    def health(self) -> list[Health]:
        if self._source is None:
            return []
        found = self._source.problems
        said = [*self._problems]
        if said and (bad := found.get('last bad line')):
            said.append(f'last bad line: {bad}')
        return [Health('cells', '; '.join(said) or 'all cells are well',
                       Level.ERROR if said else Level.OK, found)]


def main() -> int:
    return run_node(LoadCellsNode)


if __name__ == '__main__':
    sys.exit(main())
