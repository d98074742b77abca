"""Incremental encoder with one index pulse per turn, as the board counts it."""

from __future__ import annotations

from math import floor

from armsense.boards.protocol.units import ROLLOVER_TURNS, TURN


class Encoder:
    """Counts, zero, index and rollover of one motor shaft.

    The counter starts at zero wherever the shaft stands at power-up. The reported position is
    relative to that zero (or the one set after alignment), and relative to the first index pulse
    met once index-offset compensation is on: it jumps at that moment.
    """

    def __init__(self, counts_per_turn: int, index_phase: float) -> None:
        """Make an encoder.

        Args:
            counts_per_turn: resolution.
            index_phase: shaft angle of the index pulse, modulo one turn [rad].
        """
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
