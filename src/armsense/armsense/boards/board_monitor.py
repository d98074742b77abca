"""Watches what one board answers and says when it can no longer be trusted."""

from armsense.boards.mode import Fault, FaultKind
from armsense.boards.protocol.messages import BoardError, BoardState, RESISTANCE_PER_OHM
from armsense.boards.transport.link import Exchange, Outcome
from armsense.model import ArmConfig

_BOARD_FAULTS = {
    BoardError.ENCODER_1: FaultKind.ENCODER,
    BoardError.ENCODER_2: FaultKind.ENCODER,
    BoardError.RECEIVE_TIMEOUT: FaultKind.WATCHDOG,
    BoardError.CRITICAL_TEMPERATURE: FaultKind.DRIVER_CHIP,
    BoardError.POSITION_CONVERSION: FaultKind.ROLLOVER,
    BoardError.ROLLOVER: FaultKind.ROLLOVER,
    BoardError.OTHER: FaultKind.DRIVER_CHIP,
    BoardError.LINK_FAILURE: FaultKind.BUS_OFF,
}
_HIGHEST_RESISTANCE = 0xFFFF / RESISTANCE_PER_OHM     # [ohm] that fits on the wire
LOSSES = 5       # replies in a row without a fresh state
REJECTIONS = 5   # commands in a row that the board did not accept
RESISTANCE_TOLERANCE = 0.5   # share; coil resistances tell swapped boards
JUMP = 0.02      # [rad] joint side, beyond what the top speed explains
LONGEST_GAP = 0.05           # [s] by a board's clock; longer ones are the clock's wrap
REPLY_LAG = 2    # exchanges: a reply was made before the board read the command of its exchange
BY_HAND = 3.0    # times a motor's top speed: so fast may people turn a motor without current
_LOSS_FAULTS = {
    Outcome.DROP: FaultKind.BOARD_LOST,
    Outcome.CRC: FaultKind.BOARD_CORRUPT,
    Outcome.MALFORMED: FaultKind.BOARD_CORRUPT,
    Outcome.STALE: FaultKind.BOARD_STALE,
}


class BoardMonitor:
    """State and health of one board."""

    def __init__(self, number: int, config: ArmConfig, period: float) -> None:
        self.number = number
        self.state: BoardState | None = None
        self.fresh = False                # the newest exchange gave a state
        self.was_driving = False          # the board drove its motors when it was last heard
        self.lost_zero: Fault | None = None   # why positions are wrong; the driver removes it
        #                                       once the arm is at home
        self._was_ready = False           # all motors with a joint, when last heard without error
        self._losses = 0
        self._rejections = 0
        self._last_loss = Outcome.DROP
        self._resistance: list[float | None] = [None, None]
        # [rad] and [rad/s], motor side: what a reading may jump, and how fast the motor turns
        self._jump: list[tuple[float, float] | None] = [None, None]
        self._period = period
        self._asked = 0            # exchanges since the motors were asked on; 0: off
        self._heard = 0            # [ns] host time of the newest state
        for joint in config.joints.values():
            if joint.slot is not None and joint.slot.board == number:
                if joint.resistance is not None:
                    self._resistance[joint.slot.motor - 1] = min(joint.resistance,
                                                                 _HIGHEST_RESISTANCE)
                self._jump[joint.slot.motor - 1] = (joint.gear_ratio * JUMP,
                                                    joint.gear_ratio * joint.peak_velocity)

    def ask(self, on: bool) -> None:
        """What the next exchange tells the board: motors on or off."""
        self._asked = self._asked + 1 if on else 0

    def observe(self, exchange: Exchange, now: int, driving: bool,
                position_may_jump: bool) -> Fault | None:
        """Take one exchange; what makes the board untrustworthy, if anything.

        `now` is the host's monotonic time [ns]; `driving`: the driver believes that the motors are
        on; `position_may_jump`: the encoder's zero is being moved on purpose.
        """
        state = exchange.state
        self.fresh = exchange.outcome is Outcome.OK and state is not None
        if not self.fresh or state is None:
            self._losses += 1
            self._last_loss = exchange.outcome
            return self.trouble()
        ready, error = self._all_ready(state), state.status.error
        drives = state.status.system_enabled and ready and not error
        if self.state is not None and self._was_ready and ready and not position_may_jump:
            self._check_jump(self.state, state, self._longest_way(state, now, driving and drives))
        if not error:      # with one a board may forget *ready*, too, but not its position
            # A motor that is not ready any more will be aligned and zeroed where it stands then.
            stopped = driving and self._asked > REPLY_LAG and self.was_driving and not drives
            if (self._was_ready and not ready) or stopped:
                self.lost_zero = Fault(FaultKind.BOARD_RESET, f'board {self.number}')
            self._was_ready = ready
        self.was_driving = drives
        self.state = state
        self._heard = now
        self._losses = 0
        self._rejections = 0 if exchange.accepted else self._rejections + 1
        return self.trouble()

    def trouble(self) -> Fault | None:
        """Why the board cannot be trusted now."""
        where = f'board {self.number}'
        if self._losses >= LOSSES or self.state is None:
            return Fault(_LOSS_FAULTS.get(self._last_loss, FaultKind.BOARD_LOST),
                         f'{where}, {self._losses} periods')
        error = self.state.status.error
        if error is not BoardError.NONE:
            return Fault(_BOARD_FAULTS[error], f'{where} reports {error.name.lower()}')
        if self.lost_zero is not None:
            return self.lost_zero
        if self._rejections >= REJECTIONS:
            return Fault(FaultKind.BOARD_REJECTS, where)
        return self._swapped(where)

    def forget(self) -> None:
        """After the user has cleared a fault; a lost zero is not forgotten by that alone."""
        self._rejections = 0

    def _all_ready(self, state: BoardState) -> bool:
        ready = state.status.motor_ready
        return all(ready[m] for m in (0, 1) if self._jump[m] is not None)

    def _longest_way(self, now: BoardState, time: int, drives: bool) -> float:
        """How long a motor may have turned at its top speed since the state before [s]."""
        before = self.state.timestamp_ms if self.state else now.timestamp_ms
        clock = ((now.timestamp_ms - before) & 0xFFFF) * 1e-3
        # A host that stood still reads late; the board's own clock tells how late.
        gap = max((self._losses + 1) * self._period, min(clock, LONGEST_GAP))
        if drives:
            return gap
        return BY_HAND * max(gap, 1e-9 * (time - self._heard))

    def _check_jump(self, before: BoardState, now: BoardState, gap: float) -> None:
        for motor, limits in enumerate(self._jump):
            if limits is None:
                continue
            jump, top_speed = limits
            step = now.motors[motor].position - before.motors[motor].position
            if abs(step) > jump + top_speed * gap:
                self.lost_zero = Fault(
                    FaultKind.JUMP, f'board {self.number} motor {motor + 1}: {step:+.2f} rad')

    def _swapped(self, where: str) -> Fault | None:
        if self.state is None or self.state.is_blank:
            return None
        for motor, expected in enumerate(self._resistance):
            measured = self.state.motors[motor].resistance
            if expected is None or measured == 0.0:   # not stated, or not reported (CAN)
                continue
            if abs(measured - expected) > RESISTANCE_TOLERANCE * expected:
                return Fault(FaultKind.BOARD_SWAPPED,
                             f'{where} motor {motor + 1} has {measured:.3f} ohm, the arm file '
                             f'says {expected:.3f}')
        return None
