"""The worked examples of CONTRIBUTING.md run as they stand there."""

from pathlib import Path
import re

import numpy as np
import pytest
import yaml

from armsense.boards.protocol.messages import BoardCommand, MotorCommand
from armsense.boards.protocol.spi import SPI_PROTOCOLS
from armsense.control.config import ControllerConfig
from armsense.control.laws import LAWS
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.observer import MomentumObserver, OBSERVERS
from armsense.sim.closed_loop import ClosedLoop
from armsense.watch.collision_monitor import CollisionMonitor

TEXT = Path(__file__).parents[1].joinpath('CONTRIBUTING.md').read_text()


def block(title, kind='python'):
    """The first code block below a heading."""
    part = TEXT.split(f'### {title}\n')[1].split('\n### ')[0]
    return re.search(rf'```{kind}\n(.*?)```', part, re.DOTALL)[1]


def run(title):
    names = {'__name__': 'example'}
    exec(compile(block(title), title, 'exec'), names)     # as if it stood in a file
    return names


def test_the_law_holds_an_arm(monkeypatch):
    law = run('A control law')['PdPlain']
    monkeypatch.setitem(LAWS, law.name, law)
    model = Arm.load('laas4')
    config = ControllerConfig.of(model)
    config.laws.update(yaml.safe_load(block('A control law', 'yaml')))
    arm = ClosedLoop(model, controller=MotionController(model, config, law='pd_plain'))
    home = arm.plant.state.joint_position.copy()
    arm.run(1.0)
    sag = np.abs(arm.plant.state.joint_position - home).max()
    assert 1e-3 < sag < 0.2


def test_the_observer_feels_a_push(monkeypatch):
    monkeypatch.setitem(OBSERVERS, 'mean', (MomentumObserver, run('An observer')['MeanFilter']))
    model = Arm.load('laas4')
    arm = ClosedLoop(model, monitor=CollisionMonitor(model, observer='mean'))
    arm.run(0.5)
    arm.plant.apply_force('link4', [0.0, 0.0, 0.0], [0.0, 0.0, -20.0], 0.2)
    assert any(arm.step().result.detection is not None for _ in range(200))


def test_the_protocol_carries_a_command():
    protocol = run('A board protocol')['MY_BOARD']
    assert protocol.name not in SPI_PROTOCOLS
    other = SPI_PROTOCOLS['udriver_spi']
    assert len(protocol.encode_command(_command())) == len(other.encode_command(_command()))
    assert protocol.decode_command(protocol.encode_command(_command())) == _command()


def _command():
    motor = MotorCommand(current=0.5, current_limit=8.0)
    return BoardCommand(enable=True, motors=(motor, motor))


@pytest.mark.parametrize('line', re.findall(r'`(src/[^`]*|control/[^`]*\.py|observer/[^`]*\.py)`',
                                            TEXT))
def test_files_that_are_named_are_there(line):
    root = Path(__file__).parents[1]
    named = root / line if line.startswith('src') else root / 'src/armsense/armsense' / line
    assert named.exists() or line.endswith('pd_plain.py')
