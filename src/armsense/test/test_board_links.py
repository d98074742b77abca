"""Buses that are not there: one line says which, and what to do."""

from __future__ import annotations

from node_process import finish, start
import pytest

from armsense.boards.board_links import open_links, Wiring
from armsense.errors import ArmsenseError
from armsense.model import ArmConfig

MISSING = {'can': 'ip link set nocan0 up', 'spi': '/dev/spidev99.0'}


@pytest.fixture
def arm(tmp_path):
    """laas4 with boards where no machine has any."""
    text = (ArmConfig.load('laas4').folder / 'laas4.yaml').read_text()
    text = text.replace('[can0, can1]', '[nocan0, nocan1]').replace('spi_bus: 0', 'spi_bus: 99')
    file = tmp_path / 'unplugged.yaml'
    file.write_text(text)
    return file


@pytest.mark.parametrize(('hardware', 'text'), MISSING.items())
def test_a_missing_bus_is_an_error_that_a_user_can_mend(arm, hardware, text):
    with pytest.raises(ArmsenseError, match=text):
        open_links(ArmConfig.load(arm), Wiring(hardware=hardware))


@pytest.mark.parametrize(('hardware', 'text'), MISSING.items())
def test_motor_board_names_a_missing_bus_and_ends(arm, hardware, text):
    process = start('armsense_driver.motor_board_node', f'arm:={arm}', f'hardware:={hardware}')
    _, errors, code = finish(process)
    assert code == 1
    assert text in errors
    assert 'Traceback' not in errors
