"""The node on a pseudo-terminal in the place of a microcontroller."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import threading
import time
import tty
from types import SimpleNamespace

from node_process import call, finish, own_node, PATIENCE, start
import pytest
from std_srvs.srv import Trigger
import yaml

from armsense.boards.load_cells.serial_source import SerialSource
from armsense_driver.load_cells_node import LoadCellsNode
from armsense_msgs.msg import LoadCells
from armsense_msgs.srv import SetString
from armsense_node.loop import DirectSubscription, stream_qos
from bench.cell_lines import encode_line

NODE = 'armsense_driver.load_cells_node'


class Microcontroller:
    """Sends lines at 200 Hz; the readings can be changed, garbled and stopped."""

    def __init__(self):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        self.port = os.ttyname(slave)
        os.set_blocking(self.master, False)     # a wire does not wait for its reader
        self._slave = slave
        self.values = [1000, 2000, 3000, 4000]
        self.garbage = b''
        self.stopped = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        seq = 0
        while not self.stopped:
            jitter = seq % 3
            line = encode_line(seq, tuple(None if v is None else v + jitter for v in self.values))
            with contextlib.suppress(BlockingIOError):
                os.write(self.master, self.garbage + line)
            seq += 1
            time.sleep(0.005)

    def close(self):
        self.stopped = True
        self._thread.join()
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture(scope='module')
def tester():
    with own_node() as node:
        yield node


@pytest.fixture
def microcontroller():
    device = Microcontroller()
    yield device
    device.close()


def wait_for(subscription, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        message = subscription.wait(0.2)
        if message is not None and condition(message):
            return message
    raise AssertionError('the expected message did not come')


def test_health_says_what_was_wrong_with_the_last_line(microcontroller):
    source = SerialSource(microcontroller.port, 1_000_000, 4)
    microcontroller.garbage = b'LC,9,1*\n'
    deadline = time.monotonic() + PATIENCE
    while not source.problems['bad lines'] and time.monotonic() < deadline:
        source.read()
        time.sleep(0.01)
    health, = LoadCellsNode.health(SimpleNamespace(_source=source, _problems=('cell 1: silent',)))
    source.close()
    assert health.message == "cell 1: silent; last bad line: not a reading: b'LC,9,1*'"
    assert health.values['last bad line'] == "not a reading: b'LC,9,1*'"


@pytest.mark.timing
def test_readings_tare_fault_and_calibration(tester, microcontroller, tmp_path):
    file = tmp_path / 'cells.yaml'
    file.write_text('cells:\n' + '- {gain: 0.01, offset: 1000.0}\n' * 4)
    process = start(NODE, 'arm:=laas4', f'port:={microcontroller.port}', f'calibration:={file}')
    cells = DirectSubscription(tester, LoadCells, 'load_cells', stream_qos())
    try:
        message = wait_for(cells, lambda m: all(m.valid))
        assert list(message.force) == pytest.approx([0, 10, 20, 30], abs=0.05)
        time.sleep(0.6)
        answer = call(tester, Trigger, 'load_cells/tare', Trigger.Request())
        assert answer.success, answer.message
        wait_for(cells, lambda m: max(map(abs, m.force)) < 0.05)
        microcontroller.values[1] = None                       # unplugged
        message = wait_for(cells, lambda m: not m.valid[1])
        assert list(message.valid) == [True, False, True, True]
        answer = call(tester, Trigger, 'load_cells/tare', Trigger.Request())
        assert not answer.success
        assert 'cell 2: no reading' in answer.message
        microcontroller.values[1] = 2000
        microcontroller.garbage = b'\xff\x00LC,9,1*\n'
        wait_for(cells, lambda m: all(m.valid))                # among garbage, too
        microcontroller.garbage = b''
        for load in (0, 10, 20, 10, 0):
            microcontroller.values[0] = 500 + 50 * load
            time.sleep(0.7)
            answer = call(tester, SetString, 'load_cells/calibrate',
                          SetString.Request(data=f'1 {load}'))
            assert answer.success, answer.message
        answer = call(tester, SetString, 'load_cells/calibrate', SetString.Request(data='finish'))
        assert 'cell 1: 0.02 N per count, linearity 0.' in answer.message
        saved = yaml.safe_load(file.read_text())['cells'][0]
        assert saved['gain'] == pytest.approx(0.02, rel=1e-3)
        bad = call(tester, SetString, 'load_cells/calibrate', SetString.Request(data='one kilo'))
        assert bad.message == "'one kilo' is neither 'CELL LOAD' nor 'finish'"
    finally:
        _, errors, code = finish(process, signal.SIGINT)
        cells.destroy()
    assert code == 0
    assert 'cell 2: no reading' in errors
    assert 'Traceback' not in errors


@pytest.mark.parametrize(('parameters', 'text'), [
    (['port:=/dev/ttyNOWHERE'], 'cannot open serial port /dev/ttyNOWHERE'),
    (['source:=usb'], "parameter load_cells.source: unknown value 'usb'; known: serial"),
    (['arm:=biorob'], 'no load cells')])
def test_a_bad_set_up_is_said_in_one_line(parameters, text):
    process = start(NODE, *parameters)
    _, errors, code = finish(process)
    assert code == 1
    assert text in errors
    assert 'Traceback' not in errors
