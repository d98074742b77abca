import pytest
import yaml

from armsense.boards.emulator.rack import ArmRack
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.sim.scenario import Scenario, Stage


def read(tmp_path, events):
    path = tmp_path / 'scenario.yaml'
    path.write_text(yaml.safe_dump({'events': events}))
    return Scenario.read(path)


def test_events_happen_when_they_are_due(tmp_path):
    scenario = read(tmp_path, [
        {'time': 2.0, 'remove': 'wall'},
        {'time': 1.0, 'place': {'name': 'wall', 'position': [0.0, 0.8, 0.3], 'radius': 0.05}},
        {'time': 3.0, 'fault': {'name': 'drop_burst', 'board': 1}},
        {'time': 4.0, 'payload': {'mass': 0.2}},
    ])
    config = Arm.load('laas4').config
    plant, rack = make_plant(config), ArmRack(config).rack
    plant.reset(config.home)
    stage = Stage(scenario, plant, rack)
    stage.advance(0.5)
    assert list(plant.obstacles) == []
    stage.advance(1.0)
    assert list(plant.obstacles) == ['wall']
    stage.advance(2.5)
    assert list(plant.obstacles) == []
    stage.advance(3.0)
    rack.step(0.001, [0.0] * 4, [0.0] * 4)
    assert [event.fault.name for event in rack.events] == ['drop_burst']
    before = plant.model.body_mass.sum()
    stage.advance(4.0)
    assert plant.model.body_mass.sum() - before == pytest.approx(0.2)


def test_a_hand_comes_moves_and_goes(tmp_path):
    scenario = read(tmp_path, [
        {'time': 1.0, 'hand': {'position': [0.0, 0.8, 0.3]}},
        {'time': 2.0, 'move': {'name': 'hand', 'position': [0.0, 0.7, 0.3]}},
        {'time': 3.0, 'remove': 'hand'}])
    config = Arm.load('laas4').config
    plant = make_plant(config)
    stage = Stage(scenario, plant, ArmRack(config).rack)
    stage.advance(1.0)
    assert plant.obstacles['hand'].mass == 0.6
    stage.advance(2.0)
    assert plant.obstacles['hand'].position.tolist() == [0.0, 0.7, 0.3]
    stage.advance(3.0)
    assert plant.obstacles == {}


@pytest.mark.parametrize(('event', 'message'), [
    ({'time': 1.0}, 'needs one of place, hand, move, remove, push, payload, fault'),
    ({'time': 1.0, 'remove': 'a', 'payload': {'mass': 1.0}}, 'this one has remove, payload'),
    ({'time': -1.0, 'remove': 'a'}, r'events\[0\].time is -1.0; it must be >= 0'),
    ({'time': 1.0, 'plaec': {}}, "unknown key 'plaec'.*did you mean 'place'"),
    ({'time': 1.0, 'push': {'link': 'link4'}}, "'force' is missing"),
])
def test_bad_events_are_named(tmp_path, event, message):
    with pytest.raises(ArmsenseError, match=message):
        read(tmp_path, [event])
