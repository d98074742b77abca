"""One motor behind an emulated board: encoder, current loop, current sensor, winding heat.

Current loop. The board's 40 kHz loop is not stepped: its closed loop is a first-order lag of
bandwidth `w`, whose exact solution over a plant step `dt` with a held reference is
`i(dt) = r + (i0 - r) exp(-w dt)`. The torque handed to the plant is the mean over the step,
`r + (i0 - r) (1 - exp(-w dt)) / (w dt)`, so the impulse is exact as well. Both factors depend on
`dt` alone and are computed once.

Velocity. The board differentiates its counts and passes them through a first-order low-pass:
`v += (1 - exp(-w_v dt)) (dcounts / dt - v)`.

Heat. `h += (1 - exp(-dt / T)) (i^2 - h)`; above the square of the continuous current the driver
chip reports a fault (I2t protection).

Encoder. Incremental, with one index pulse per turn. The counter starts at zero wherever the shaft
stands at power-up. The reported position is relative to that zero (or the one set after
alignment), and relative to the first index pulse met once index-offset compensation is on: it
jumps at that moment.
"""

from dataclasses import dataclass
from math import exp, floor, tau

import numpy as np

from armsense.boards.protocol.messages import ROLLOVER_TURNS, TURN

References = tuple[float, ...]     # the numbers of a MotorCommand in its order

CURRENT_SENSORS = ('signed', 'unsigned14')
_NOISE_BLOCK = 4096
_LARGEST_14_BIT = 2**14 - 1


@dataclass(frozen=True)
class MotorPhysics:
    """Constants of one motor and of the board's channel for it. Default: mn4006 of thesis 004."""

    torque_constant: float = 0.022           # [Nm/A]
    resistance: float = 0.19                 # [Ohm] of one phase; assumed
    pole_pairs: int = 12
    max_current: float = 16.0                # [A] the board never drives more
    continuous_current: float = 10.0         # [A] I2t trip level; assumed
    thermal_time: float = 20.0               # [s] winding time constant; assumed
    counts_per_turn: int = 4096
    index_phase: float = 0.0                 # [rad] shaft angle of the index pulse
    current_bandwidth: float = tau * 1000.0  # [rad/s] closed current loop
    velocity_bandwidth: float = tau * 150.0  # [rad/s] low-pass of the velocity estimate
    current_noise: float = 0.02              # [A] standard deviation of a reading
    current_sensor: str = 'signed'           # or 'unsigned14': magnitude only, 14 bit
    current_full_scale: float = 32.0         # [A] of the sensor
    alignment_current: float = 3.0           # [A] direct current while aligning
    alignment_damping: float = 3e-3          # [Nm s/rad] losses while the rotor follows the field

    def __post_init__(self) -> None:
        if self.current_sensor not in CURRENT_SENSORS:
            raise ValueError(
                f'current_sensor {self.current_sensor!r}; valid: {", ".join(CURRENT_SENSORS)}')


class EmulatedMotor:
    """State of one motor; `step` advances it."""

    def __init__(self, physics: MotorPhysics, seed: int) -> None:
        self.physics = physics
        self.encoder = Encoder(physics.counts_per_turn, physics.index_phase)
        self._update_encoder = self.encoder.update
        self._noise: list[float] = []        # numbers in stock: one draw alone costs microseconds
        self._generator = np.random.default_rng(seed)
        self._unsigned = physics.current_sensor == 'unsigned14'
        # One step of the current reading [A]: 12 bit and sign, or 14 bit without.
        self._resolution = physics.current_full_scale / 2.0 ** (14 if self._unsigned else 12)
        self._torque_constant = physics.torque_constant
        self._loss = 1.5 * physics.resistance        # [Ohm] losses per squared current
        self._max_current = physics.max_current
        self.max_heat = physics.continuous_current**2      # [A^2] the I2t protection trips above
        self._dt = 0.0
        self.power_up()

    def power_up(self) -> None:
        """Start from a cold board; the winding keeps no heat."""
        self.encoder.power_up()
        self.current = 0.0               # [A] true quadrature current
        self.reference = 0.0             # [A] what the loop tracks
        self.velocity = 0.0              # [rad/s] the board's estimate
        self.measured_current = 0.0      # [A] the board's reading
        self.power = 0.0                 # [W] electrical input
        self.heat = 0.0                  # [A^2]
        self._integral = 0.0             # [rad s]

    def set_step(self, dt: float) -> None:
        """Prepare the factors for steps of `dt` [s]."""
        physics = self.physics
        lag = physics.current_bandwidth * dt
        self._dt = dt
        self._decay = exp(-lag)
        self._mean = (1.0 - self._decay) / lag
        self._velocity_gain = 1.0 - exp(-physics.velocity_bandwidth * dt)
        self._heat_gain = 1.0 - exp(-dt / physics.thermal_time)
        self._count_rate = TURN / physics.counts_per_turn / dt    # [rad/s] of one count

    def sense(self, shaft_position: float) -> None:
        """Read the encoder at the shaft's absolute angle [rad]."""
        rate = self._update_encoder(shaft_position) * self._count_rate
        self.velocity += self._velocity_gain * (rate - self.velocity)

    def drive(self, command: References | None, shaft_velocity: float) -> float:
        """Run law and current loop over one step; None switches the bridge off.

        Returns the mean torque on the shaft over the step [Nm].
        """
        if command is not None:
            reference = self._law(command)
        else:
            reference = self._integral = 0.0
        self.reference = reference
        deviation = self.current - reference
        mean = reference + deviation * self._mean
        self.current = reference + deviation * self._decay
        self.heat += self._heat_gain * (mean * mean - self.heat)
        torque = self._torque_constant * mean
        self.power = self._loss * mean * mean + torque * shaft_velocity
        if not self._noise:
            self._stock_up()
        steps = round((mean + self._noise.pop()) / self._resolution)
        if self._unsigned:
            steps = min(abs(steps), _LARGEST_14_BIT)
        self.measured_current = steps * self._resolution
        return torque

    def _law(self, command: References) -> float:
        position, velocity, current, kp, kd, limit, ki = command
        # The encoder's position is worked out only where a gain uses it.
        error = position - self.encoder.position if kp or ki else 0.0
        reference = kp * error + kd * (velocity - self.velocity) + current
        if limit > self._max_current:
            limit = self._max_current
        if ki:
            self._integral += error * self._dt
            # Anti-windup: the integral alone never asks for more than the limit.
            bound = limit / ki
            self._integral = min(max(self._integral, -bound), bound)
            reference += ki * self._integral
        else:
            self._integral = 0.0
        return limit if reference > limit else -limit if reference < -limit else reference

    def _stock_up(self) -> None:
        self._noise = self._generator.normal(
            0.0, self.physics.current_noise, _NOISE_BLOCK).tolist()


class Encoder:
    """Counts, zero, index and rollover of one motor shaft, as the board counts them."""

    def __init__(self, counts_per_turn: int, index_phase: float) -> None:
        """Make an encoder; the index pulse is at this shaft angle, modulo one turn [rad]."""
        self.counts_per_turn = counts_per_turn
        self.counts_per_rad = counts_per_turn / TURN
        self.index_hidden = False          # fault: pulses are not seen
        self.raw = 0                       # counts of the shaft's absolute angle
        self._rad_per_count = TURN / counts_per_turn
        self._index_phase = round(index_phase * self.counts_per_rad) % counts_per_turn
        self._half_range = ROLLOVER_TURNS * counts_per_turn
        self.power_up()

    def power_up(self) -> None:
        """Forget everything; the next angle of the shaft becomes zero."""
        self._started = False              # the shaft's angle has been seen
        self.index_detected = False        # since power-up
        self.index_toggle = False
        self._compensated = False
        self._index_raw = 0                # first pulse since power-up
        self._last_index_raw = 0
        self._find_turn()
        self.set_zero()

    def set_zero(self) -> None:
        """Make the present angle zero (after alignment)."""
        self._zero = self.raw
        self._slip = 0                     # counts lost or added by faults
        self._find_origin()

    def update(self, shaft_position: float) -> int:
        """Count up to the shaft's absolute angle [rad]; return how many counts were passed."""
        raw = floor(shaft_position * self.counts_per_rad)
        before = self.raw
        if raw == before and self._started:
            return 0
        self.raw = raw
        if not self._started:
            self._started = True
            self._find_turn()
            self.set_zero()
            return 0
        if not self._turn_begin <= raw < self._turn_end:
            self._pass_index()
        return raw - before

    def slip(self, counts: int) -> None:
        """Add `counts` that the shaft did not turn."""
        self._slip += counts
        self._find_origin()

    def compensate(self, on: bool) -> None:
        """Report positions from the first index pulse, if it has been met."""
        if on != self._compensated:
            self._compensated = on
            self._find_origin()

    @property
    def last_index_position(self) -> float:
        """Uncompensated position of the newest index pulse [rad]; 0 before the first."""
        if not self.index_detected:
            return 0.0
        return (self._last_index_raw - self._zero) * self._rad_per_count

    @property
    def counts(self) -> int:
        """Reported counts before they wrap."""
        return self.raw - self._origin

    @property
    def rolled_over(self) -> bool:
        """The counter has left +-128 turns."""
        return not -self._half_range <= self.raw - self._origin < self._half_range

    @property
    def position(self) -> float:
        """Reported position, wrapped into +-128 turns [rad]."""
        counts = self.raw - self._origin
        if not -self._half_range <= counts < self._half_range:
            counts = (counts + self._half_range) % (2 * self._half_range) - self._half_range
        return counts * self._rad_per_count

    @property
    def origin_angle(self) -> float:
        """Shaft angle at which an encoder without slip would report zero [rad]."""
        return (self._origin + self._slip) * self._rad_per_count

    def _find_origin(self) -> None:
        base = self._index_raw if self._compensated and self.index_detected else self._zero
        self._origin = base - self._slip

    def _find_turn(self) -> None:
        """Between which two index pulses the shaft is."""
        self._turn_begin = self.raw - (self.raw - self._index_phase) % self.counts_per_turn
        self._turn_end = self._turn_begin + self.counts_per_turn

    def _pass_index(self) -> None:
        before = self._turn_begin
        self._find_turn()
        if self.index_hidden:
            return
        self.index_toggle = not self.index_toggle
        self._last_index_raw = max(before, self._turn_begin)
        if not self.index_detected:
            self.index_detected = True
            self._index_raw = self._last_index_raw
            self._find_origin()
