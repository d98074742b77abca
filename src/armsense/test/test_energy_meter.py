import math

import pytest

from armsense.boards.energy_meter import EnergyMeter

DT = 0.01


def run(meter, seconds, power, speed):
    for _ in range(round(seconds / DT)):
        meter.step(power, [0.0, speed], DT)


def test_energy_of_a_motion_is_power_times_its_time():
    meter = EnergyMeter()
    run(meter, 1.0, 2.0, 0.0)        # at rest, holding
    run(meter, 3.0, 10.0, 0.5)       # one motion of 30 J
    run(meter, 1.0, 2.0, 0.0)
    assert meter.motions == 1
    # The motion ends a rest time (0.2 s) after the last movement.
    assert meter.motion == pytest.approx(30.0 + 0.2 * 2.0, abs=0.1)
    assert meter.total == pytest.approx(2.0 + 30.0 + 2.0)


def test_a_short_stop_does_not_split_a_motion():
    meter = EnergyMeter()
    run(meter, 1.0, 10.0, 0.5)
    run(meter, 0.1, 10.0, 0.0)
    run(meter, 1.0, 10.0, 0.5)
    assert meter.motions == 1
    run(meter, 0.5, 0.0, 0.0)
    run(meter, 0.1, 10.0, 0.5)
    assert meter.motions == 2


def test_boards_without_power_measurement_count_nothing():
    meter = EnergyMeter()
    run(meter, 1.0, math.nan, 0.5)
    assert meter.total == 0.0
    assert math.isnan(meter.power)
