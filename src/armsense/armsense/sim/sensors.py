"""Strain gauges on the links and load cells under the base. Seeded.

What the motor boards measure (encoders, currents) is emulated with the boards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm_config import ArmConfig, LoadCellsConfig
from armsense.schema import check_known, quantity
from armsense.types import Array

NOISE_BLOCK = 4096   # numbers drawn at a time: one alone costs microseconds
FAULTS = ('unplugged', 'stuck', 'offset', 'swapped')   # of a load cell


class StrainGauges:
    """Strain gauges with amplifier noise and a converter."""

    def __init__(self, config: ArmConfig, seed: int, *, noise: float = 2e-6,
                 full_scale: float = 2e-3, bits: int = 16) -> None:
        """Standard deviation and largest strain that the amplifier passes [1], bits: assumed."""
        self._present = [joint.strain is not None for joint in config.joints.values()]
        self._none = not any(self._present)
        self._rng = np.random.default_rng(seed)
        self._noise: list[float] = []
        self._deviation, self._full_scale = noise, full_scale
        self._step = 2.0 * full_scale / 2**bits

    def read(self, strain: Sequence[float]) -> list[float]:
        """Readings, (n,); 0 where there is no gauge."""
        if self._none:
            return [0.0] * len(strain)
        return [self._reading(float(value)) if present else 0.0
                for value, present in zip(strain, self._present, strict=True)]

    def _reading(self, strain: float) -> float:
        if not self._noise:
            self._noise = self._rng.normal(0.0, self._deviation, NOISE_BLOCK).tolist()
        value = round((strain + self._noise.pop()) / self._step) * self._step
        return float(min(max(value, -self._full_scale), self._full_scale))


@dataclass(frozen=True, kw_only=True)
class CellErrors:
    """What the cells do to the truth; the defaults are good cells."""

    noise: float | None = quantity(None, unit='N', low=0, text="None: that of the arm's yaml")
    bits: int = quantity(24, low=4, high=32, text='of the converter, over twice the capacity')
    lag: float = quantity(0.0, unit='s', low=0, text='time constant of the amplifier')
    delay: float = quantity(0.0, unit='s', low=0, text='dead time until a reading is seen')
    multiplexed: bool = False
    switch_time: float = quantity(0.5, unit='s', above=0, text='per cell, where multiplexed')
    plane_bias: float = quantity(0.0, unit='N', low=0, text='of cells that are not in one plane')
    drift: float = quantity(0.0, unit='N/h', low=0, text='of a cell as the room warms up')
    resonance: float = quantity(0.0, unit='Hz', low=0, text='of the arm on its cells; 0: rigid')
    damping: float = quantity(0.02, above=0, text='ratio, of the resonance')
    base_mass: float = quantity(0.0, unit='kg', low=0, text='of what stands still on the cells')


class SimulatedCells:
    """What cheap cells and their amplifiers do to the wrench on the base, step by step.

    The base stands on springs: it swings (resonance), shares its load among the cells, and forces
    them against each other where they do not stand in one plane. Behind each cell come noise,
    drift with temperature, an amplifier that lags, a converter with steps and an end, and perhaps
    one multiplexer for all. Shares no mathematics with `armsense`.
    """

    def __init__(self, config: LoadCellsConfig, seed: int = 0,
                 errors: CellErrors = CellErrors()) -> None:   # noqa: B008 (frozen)
        if config.kind != 'vertical':
            raise BadValue('kind of load cells', config.kind, "'vertical' in simulation")
        if len(config.positions) < 3:
            raise ArmsenseError(f'{len(config.positions)} load cells; a base needs at least 3')
        self.config, self.errors = config, errors
        self._rng = np.random.default_rng(seed)
        x, y = np.array(config.positions).T
        self._m = len(x)
        # Springs of equal stiffness under a rigid plate: the least-squares share of the load.
        self._share = -np.linalg.pinv(np.array([np.ones(self._m), y, -x]))    # (m, 3)
        null = np.eye(self._m) - self._share @ np.linalg.pinv(self._share)
        random = null @ self._rng.standard_normal(self._m)
        size = float(np.abs(random).max())
        self._bias = errors.plane_bias * random / size if size > 1e-9 else np.zeros(self._m)
        self._drift = errors.drift / 3600.0 * self._rng.uniform(-1.0, 1.0, self._m)   # [N/s]
        self._noise = config.noise if errors.noise is None else errors.noise
        self._step = 2.0 * config.capacity / 2.0**errors.bits
        self._order = list(range(self._m))
        self._faults: dict[int, tuple[str, float]] = {}
        self.reset()

    def reset(self) -> None:
        """At rest at the next wrench."""
        self._time = 0.0
        self._felt: Array | None = None           # wrench behind the resonance, (3,)
        self._rate = np.zeros(3)
        self._amplified = np.zeros(self._m)
        self._held = np.zeros(self._m)            # last reading of each cell
        self._queue: list[tuple[float, Array]] = []

    def fail(self, fault: str, cell: int, value: float = 0.0) -> None:
        """Let a cell fail; `value`: [N] of an offset, or the cell that it is swapped with."""
        check_known('fault of a load cell', fault, FAULTS)
        if not 0 <= cell < self._m:
            raise BadValue('load cell', cell, f'0 ... {self._m - 1}')
        if fault == 'swapped':
            other = int(value)
            self._order[cell], self._order[other] = self._order[other], self._order[cell]
        else:
            self._faults[cell] = (fault, value)

    def step(self, base_wrench: Array, dt: float) -> Array:
        """Reported compression of each cell [N], (m,), `dt` [s] after the step before.

        The wrench is that of the moving links on their support, base frame [N, Nm], (6,).
        """
        self._time += dt
        truth = self._share @ self._swing(self._on_cells(base_wrench), dt) + self._bias
        share = -math.expm1(-dt / self.errors.lag) if self.errors.lag > 0.0 else 1.0
        first = self._time == dt
        self._amplified = truth if first else self._amplified + share * (truth - self._amplified)
        signal = (self._amplified + self._drift * self._time
                  + self._noise * self._rng.standard_normal(self._m))
        reading = np.round(np.clip(signal, -self.config.capacity, self.config.capacity)
                           / self._step) * self._step
        return self._late(self._break(self._multiplex(reading, first)))

    def _on_cells(self, W: Array) -> Array:
        """Fz, Mx, My at the height of the cells, with the weight of the base."""
        h = self.config.height
        return np.array([W[2] - 9.81 * self.errors.base_mass, W[3] + h * W[1], W[4] - h * W[0]])

    def _swing(self, felt: Array, dt: float) -> Array:
        """Second-order resonance, exact for a wrench that is constant over the step."""
        if self._felt is None:
            self._felt = felt
        if self.errors.resonance <= 0.0:
            self._felt = felt
            return felt
        w0, z = 2.0 * math.pi * self.errors.resonance, self.errors.damping
        w, decay = w0 * math.sqrt(1.0 - z * z), math.exp(-z * w0 * dt)
        c, s = math.cos(w * dt), math.sin(w * dt)
        x, v = self._felt - felt, self._rate
        self._felt = felt + decay * (c * x + s / w * (v + z * w0 * x))
        self._rate = decay * (c * v - s / w * (w0 * w0 * x + z * w0 * v))
        return self._felt

    def _multiplex(self, reading: Array, first: bool) -> Array:
        if not self.errors.multiplexed or first:
            self._held = reading
            return reading
        # One converter for all: only one cell is read at a time, the others are held.
        turn = int(self._time / self.errors.switch_time) % self._m
        held = self._held.copy()
        held[turn] = reading[turn]
        self._held = held
        return held

    def _break(self, reading: Array) -> Array:
        out = reading[self._order]
        for cell, (fault, value) in self._faults.items():
            if fault == 'unplugged':
                out[cell] = self.config.capacity   # an open input floats to the end of the range
            elif fault == 'stuck':
                if math.isnan(value) or value == 0.0:
                    self._faults[cell] = (fault, value := float(out[cell]))
                out[cell] = value
            else:
                out[cell] += value
        return out

    def _late(self, reading: Array) -> Array:
        if self.errors.delay <= 0.0:
            return reading
        self._queue.append((self._time, reading))
        while len(self._queue) > 1 and self._queue[1][0] <= self._time - self.errors.delay + 1e-9:
            self._queue.pop(0)
        return self._queue[0][1]
