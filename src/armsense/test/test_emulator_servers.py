"""Boards in one process, host in another: the wire is real, time is the emulator's."""

from __future__ import annotations

import contextlib
from multiprocessing import get_context
import os

import can
import pytest

from armsense.boards.emulator.board import EmulatedBoard
from armsense.boards.emulator.can_board import EmulatedCanBoard
from armsense.boards.emulator.core import profile_by_name
from armsense.boards.emulator.faults import Injection
from armsense.boards.emulator.rack import BoardRack
from armsense.boards.emulator.servers import CanServer, SpiServer
from armsense.boards.protocol import udriver_can as wire
from armsense.boards.protocol.messages import BoardCommand, BoardError, MotorCommand
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.can_bus import open_can_bus
from armsense.boards.transport.link import Outcome, SpiLink
from armsense.boards.transport.seqpacket import SeqpacketTransport, socket_paths

DT = 1e-3
SPAWN = get_context('spawn')


def spi_rack(*faults):
    profile = profile_by_name('uomodri', alignment_duration=0.02, alignment_motion=False)
    return BoardRack([EmulatedBoard(profile, seed=n) for n in range(2)], faults)


def spi_host(paths, cycles, pipe):
    """Talk to two boards for some cycles and report what was seen."""
    links = [SpiLink(by_name('uomodri'), SeqpacketTransport(path, 10.0, 10.0)) for path in paths]
    motor = MotorCommand(current=1.0, current_limit=5.0)
    seen = []
    for _ in range(cycles):
        for link in links:
            result = link.exchange(BoardCommand(True, (motor, motor), timeout_ms=20))
            stamp = result.state.timestamp_ms if result.state else None
            seen.append((result.outcome.value, stamp))
    pipe.send(seen)
    pipe.recv()      # stay until told to go


def run_spi(tmp_path, cycles, *faults):
    rack = spi_rack(*faults)
    paths = socket_paths(tmp_path, 2)
    server = SpiServer(rack, paths)
    ours, theirs = SPAWN.Pipe()
    host = SPAWN.Process(target=spi_host, args=(paths, cycles, theirs))
    host.start()
    for _ in range(cycles):
        rack.step(DT, [0.0] * 4, [0.0] * 4)
        assert server.wait_all(30.0)
    seen = ours.recv()
    return rack, server, host, ours, seen


def test_lock_step_is_repeatable_and_dropped_frames_cost_no_time(tmp_path):
    faults = (Injection('board_lost', board=1, start=0.05, duration=0.01),
              Injection('reply_bit_flip', board=0, start=0.07, duration=0.005))
    runs = []
    for _ in range(2):
        _, server, host, pipe, seen = run_spi(tmp_path, 150, *faults)
        pipe.send('go')
        host.join()
        server.close()
        runs.append(seen)
    assert runs[0] == runs[1]
    outcomes = [outcome for outcome, _ in runs[0]]
    assert outcomes.count('drop') == 10
    assert outcomes.count('crc') == 5
    assert outcomes.count('ok') == 285
    stamps = [stamp for _, stamp in runs[0][::2] if stamp is not None]
    assert stamps[0] == 0                              # blank before the first command
    assert stamps[-1] == 150
    assert not any(tmp_path.iterdir())


def test_killed_host_trips_the_watchdog_and_a_new_host_is_heard(tmp_path):
    rack, server, host, _, _ = run_spi(tmp_path, 60)
    assert rack.boards[0].status().motor_ready == (True, True)
    assert rack.step(DT, [0.0] * 4, [0.0] * 4)[0] == pytest.approx(0.022)
    host.kill()
    host.join()
    assert server.poll(1.0) == []
    for _ in range(30):
        server.poll(0.0)
        torque = rack.step(DT, [0.0] * 4, [0.0] * 4)
    assert server.connected == [False, False]
    assert all(board.error is BoardError.RECEIVE_TIMEOUT for board in rack.boards)
    assert torque == pytest.approx([0.0] * 4, abs=1e-9)
    link = SpiLink(by_name('uomodri'), SeqpacketTransport(socket_paths(tmp_path, 2)[1], 0.01))
    server.poll(0.0)
    assert link.exchange(BoardCommand()).outcome is Outcome.DROP      # nobody polled meanwhile
    assert server.poll(0.0) == [1]
    server.close()


def test_wait_all_gives_up_in_time(tmp_path):
    server = SpiServer(spi_rack(), socket_paths(tmp_path, 2))
    assert not server.wait_all(0.01)
    server.close()


def test_number_of_paths_must_fit(tmp_path):
    with pytest.raises(ValueError, match='3 paths; expected 2'):
        SpiServer(spi_rack(), socket_paths(tmp_path, 3))


def test_stale_socket_file_is_replaced(tmp_path):
    for path in socket_paths(tmp_path, 2):
        open(path, 'w').close()
    server = SpiServer(spi_rack(), socket_paths(tmp_path, 2))
    server.close()
    assert os.listdir(tmp_path) == []


def test_wait_all_goes_on_with_the_same_cycle(tmp_path):
    server = SpiServer(spi_rack(), socket_paths(tmp_path, 2))
    links = [SpiLink(by_name('uomodri'), SeqpacketTransport(path, 0.001))
             for path in socket_paths(tmp_path, 2)]
    server.poll(0.0)
    links[0].exchange(BoardCommand())
    assert not server.wait_all(0.01)
    links[1].exchange(BoardCommand())
    assert server.wait_all(0.01)
    server.close()


def can_host(path, cycles, pipe):
    """Enable a CAN board, send a current in every cycle, report what it streams."""
    bus = open_can_bus('seqpacket', path, connect_timeout=10.0)
    code = wire.CommandCode

    def send(arbitration_id, data):
        bus.send(can.Message(arbitration_id=arbitration_id, data=data, is_extended_id=False))

    for each in (code.SEND_ALL, code.SYSTEM_ENABLE, code.MOTOR_1_ENABLE, code.MOTOR_2_ENABLE):
        send(wire.ID_COMMAND, wire.encode_command(each, 1))
    currents = []
    for _ in range(cycles):
        send(wire.ID_CURRENT_REFERENCE, wire.encode_pair(
        wire.ID_CURRENT_REFERENCE, 1.0, -1.0))
        while (message := bus.recv(10.0)).arbitration_id != wire.ID_ADC:
            if message.arbitration_id == wire.ID_CURRENT:
                currents.append(wire.decode_pair(wire.ID_CURRENT, bytes(message.data)))
    pipe.send(currents)
    bus.shutdown()


def test_can_lock_step_over_a_python_can_bus(tmp_path):
    profile = profile_by_name('udriver_can', alignment_duration=0.02, alignment_motion=False)
    rack = BoardRack([EmulatedCanBoard(profile)])
    server = CanServer(rack, socket_paths(tmp_path, 1))
    ours, theirs = SPAWN.Pipe()
    host = SPAWN.Process(target=can_host, args=(socket_paths(tmp_path, 1)[0], 60, theirs))
    host.start()
    for _ in range(60):
        assert server.wait_all(30.0)
        torque = rack.step(DT, [0.0, 0.0], [0.0, 0.0])
        server.flush()
    currents = ours.recv()
    host.join()
    server.close()
    assert len(currents) == 60
    assert currents[-1] == pytest.approx((1.0, -1.0), abs=0.1)
    assert torque == pytest.approx([0.022, -0.022], rel=1e-3)
    assert rack.boards[0].error is BoardError.NONE


class CanBench:
    """A CAN board behind a server and a bus, all in this process."""

    def __init__(self, tmp_path, *faults):
        profile = profile_by_name('udriver_can', alignment_duration=0.02, alignment_motion=False)
        self.rack = BoardRack([EmulatedCanBoard(profile)], faults)
        self.server = CanServer(self.rack, socket_paths(tmp_path, 1))
        self.bus = open_can_bus('seqpacket', socket_paths(tmp_path, 1)[0])
        self.server.poll(0.0)

    def send(self, arbitration_id, data):
        self.bus.send(can.Message(
            arbitration_id=arbitration_id, data=data, is_extended_id=False))

    def close(self):
        self.bus.shutdown()
        self.server.close()


def test_can_enable_sequence_is_one_cycle(tmp_path):
    bench = CanBench(tmp_path)
    bench.send(wire.ID_COMMAND, wire.encode_command(wire.CommandCode.SYSTEM_ENABLE, 1))
    bench.send(wire.ID_CURRENT_REFERENCE, wire.encode_pair(
        wire.ID_CURRENT_REFERENCE, 0.0, 0.0))
    bench.send(wire.ID_COMMAND, wire.encode_command(wire.CommandCode.MOTOR_1_ENABLE, 1))
    assert not bench.server.wait_all(0.01)
    assert bench.rack.boards[0].status().motor_enabled == (True, False)
    bench.send(wire.ID_CURRENT_REFERENCE, wire.encode_pair(
        wire.ID_CURRENT_REFERENCE, 0.0, 0.0))
    assert bench.server.wait_all(1.0)
    bench.close()


def test_can_bus_off_keeps_lock_step_going(tmp_path):
    bench = CanBench(tmp_path, Injection('can_bus_off', start=0.005, duration=0.005))
    bench.send(wire.ID_COMMAND, wire.encode_command(wire.CommandCode.SEND_ALL, 1))
    heard = []
    for _ in range(20):
        with contextlib.suppress(can.CanOperationError):
            bench.send(wire.ID_CURRENT_REFERENCE, wire.encode_pair(
        wire.ID_CURRENT_REFERENCE, 0.0, 0.0))
        assert bench.server.wait_all(1.0)
        bench.rack.step(DT, [0.0, 0.0], [0.0, 0.0])
        bench.server.flush()
        heard.append(sum(bench.bus.recv(0.0) is not None for _ in range(8)))
    bench.close()
    # Streams and the first status, streams, the error frame, silence, restart and streams.
    assert heard == [5, 4, 4, 4, 1, 0, 0, 0, 0, 5] + [4] * 10
