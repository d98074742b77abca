"""Parameters of a node are the fields of a dataclass."""

from dataclasses import dataclass

import pytest
import rclpy
from rclpy.exceptions import InvalidParameterValueException
from rclpy.parameter import Parameter

from armsense.errors import ArmsenseError
from armsense.schema import quantity, same_as
from armsense_node.parameters import ArmParameters, declare, LifecycleParameters


@dataclass(frozen=True, kw_only=True)
class Options:
    gain: float = quantity(40.0, unit='1/s', above=0, text='of the low pass')
    lag: float = quantity(0.0, unit='s', low=0, high=1)


@dataclass(frozen=True, kw_only=True)
class Settings(LifecycleParameters, ArmParameters):
    gain: float = same_as(Options, 'gain')
    lag: float = same_as(Options, 'lag')
    count: int = quantity(3, low=1, high=9)
    bus: str = quantity('spi', choices=('spi', 'can'))
    places: tuple[float, float] = quantity((1.0, 2.0), unit='m')


@pytest.fixture
def make(ros):
    nodes = []

    def node(**values):
        nodes.append(rclpy.create_node('subject', context=ros, parameter_overrides=[
            Parameter(name, value=value) for name, value in values.items()]))
        return nodes[-1]
    yield node
    for made in nodes:
        made.destroy_node()


@pytest.fixture
def ros():
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    context.try_shutdown()


def test_values_are_those_of_the_dataclass_or_given(make):
    assert declare(make(), Settings) == Settings()
    given = declare(make(arm='tudor', autostart=False, gain=2.0, places=[3.0, 4.0]), Settings)
    assert given == Settings(arm='tudor', autostart=False, gain=2.0, places=(3.0, 4.0))


def test_ranges_and_meanings_can_be_asked_for(make):
    node = make()
    declare(node, Settings)
    declare(node, Settings)           # once more changes nothing
    gain, lag, count, bus = (node.describe_parameter(name)
                             for name in ('gain', 'lag', 'count', 'bus'))
    assert (gain.description, gain.additional_constraints) == ('[1/s] of the low pass', '> 0')
    assert lag.floating_point_range[0].to_value == 1.0
    assert (count.integer_range[0].from_value, count.integer_range[0].to_value) == (1, 9)
    assert bus.additional_constraints == 'spi, can'


@pytest.mark.parametrize(('values', 'text'), [
    ({'gain': 0.0}, r'parameter subject\.gain is 0\.0; it must be > 0 1/s'),
    ({'bus': 'usb'}, r"parameter subject\.bus: unknown value 'usb'; known: spi, can"),
    ({'places': [1.0]}, r'parameter subject\.places .* a list of 2')])
def test_bad_values_are_named(make, values, text):
    with pytest.raises(ArmsenseError, match=text):
        declare(make(**values), Settings)


def test_what_ros_can_check_it_checks(make):
    with pytest.raises(InvalidParameterValueException, match='count'):
        declare(make(count=10), Settings)


def test_what_is_read_once_is_not_said_to_have_been_set(make):
    node = make()
    declare(node, Settings)
    for name, value in (('arm', 'tudor'), ('gain', 2.0), ('count', 4), ('places', [3.0, 4.0])):
        answer, = node.set_parameters([Parameter(name, value=value)])
        assert not answer.successful
        assert 'read-only' in answer.reason
        assert node.get_parameter(name).value != value
