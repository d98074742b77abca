"""What the simulator says of itself."""

from types import SimpleNamespace

import pytest

from armsense.boards.protocol.messages import BoardError
from armsense_node.health import Level
from armsense_sim.simulator_health import SimulatorHealth


def board(error=BoardError.NONE, unsafe=0):
    return SimpleNamespace(error=error, unsafe=SimpleNamespace(total=unsafe, last='too much'))


@pytest.mark.parametrize(('lockstep', 'steps', 'level', 'message'), [
    (False, 1000, Level.OK, 'keeps up with real time'),
    (False, 800, Level.WARN, 'only 80 % of real time: the machine is too busy'),
    (True, 800, Level.OK, 'lock-step, 0.80 times real time'),
    (True, 0, Level.WARN, 'stands still: no driver exchanges frames')])
def test_it_compares_simulated_and_real_time(lockstep, steps, level, message):
    health = SimulatorHealth([], 0.001, lockstep)
    assert health.look(500, now=10.0) == []         # nothing to compare with yet
    time, = health.look(500 + steps, now=11.0)
    assert (time.part, time.level, time.message) == ('time', level, message)
    assert time.values['simulated [s]'] == pytest.approx(0.5 + 0.001 * steps)


def test_it_tells_of_tripped_boards_and_unsafe_frames():
    parts = SimulatorHealth([board(), board(BoardError.RECEIVE_TIMEOUT), board(unsafe=3)], 0.001,
                            False).look(0, now=0.0)
    assert [(part.part, part.level, part.message) for part in parts] == [
        ('emulated board 0', Level.OK, 'well'),
        ('emulated board 1', Level.WARN, 'tripped: receive_timeout'),
        ('emulated board 2', Level.ERROR, '3 unsafe frames, the last: too much')]
