"""Signals of another joint or of the wrong sign, found from the motion.

Each joint alone is fitted with what its drive must give, all coefficients of the right sign:

    tau_j = a rigid_j + f_v dq_j + f_c sign(dq_j) + J ddq_j + offset,    a, f_v, f_c, J >= 0

where `rigid` is the torque of the nominal masses. A torque of the wrong sign would need negative
friction, one of another joint fits that joint. So the same fit is made as if a sign were turned or
two joints were exchanged; where it then misses far less, that is the likely cause. A gravity that
was found from wrong torques is wrong itself, so the nominal and the opposite one have their trial.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import nnls

from armsense.identify.signals.filters import low_pass, Motion, settled
from armsense.model.arm import Arm
from armsense.types import Array, Flags

CLEAR = 0.3          # share of the squared error that the likely cause may leave
LEAST = 0.1          # share of a torque that must be missed before a cause is looked for
SMOOTHING = 0.01     # [rad/s] over which friction changes its sign
SAMPLES = 4.0        # per period of the cut-off


class Wiring:
    """Motions and torques of an arm of nominal masses, in a band."""

    def __init__(self, model: Arm, motions: Sequence[Motion], torques: Sequence[Array],
                 cutoff: float) -> None:
        """Smooth motions and their torques [Nm], (N, n); the band [Hz]."""
        self._names, self._model, self._cutoff = model.joint_names, model, cutoff
        self._motions, self._torques = motions, torques
        self._same = list(range(model.n))

    def faults(self, found: Array, nominal: Array) -> tuple[str, ...]:
        """What seems to be connected wrongly, with its remedy; the clearest cause of a joint only.

        Gravity [m/s^2] as found from the same torques, and as it would be on a floor, (3,) each.
        """
        now, turned = self._signs(found)
        best = np.where(turned[1], turned[0], now)
        for other in {tuple(g): g for g in (nominal, -found)}.values():
            plain, (missed, which) = self._signs(other)
            signed = np.where(which, missed, plain)
            if which.any() and signed.sum() < CLEAR * best.sum():
                best, turned = signed, (missed, which)
        if turned[1].any() and best[turned[1]].max() < CLEAR:
            return self._sign_words(turned[1])
        return self._exchanged(found, now)

    def _signs(self, gravity: Array) -> tuple[Array, tuple[Array, Flags]]:
        """Share that each joint misses as it is, and turned; which are clearly turned, (n,)."""
        plain, minus = (self._missed(gravity, sign=s) for s in (1.0, -1.0))
        return plain, (minus, (plain > LEAST ** 2) & (minus < CLEAR * plain))

    def _sign_words(self, turned: Flags) -> tuple[str, ...]:
        names = [name for name, wrong in zip(self._names, turned, strict=True) if wrong]
        if len(names) == len(self._names) > 1:
            return ('the torques of all joints have the wrong sign (remedy: drive.gains of -1)',)
        return tuple(f'the torque of {name} has the wrong sign (remedy: a negative drive.gains '
                     'for it)' for name in names)

    def _exchanged(self, gravity: Array, now: Array) -> tuple[str, ...]:
        clear = []
        for j, k in combinations(self._same, 2):
            if now[[j, k]].max() <= LEAST ** 2:
                continue
            swapped = list(self._same)
            swapped[j], swapped[k] = k, j
            pair = f'{self._names[j]} and {self._names[k]}'
            for what, motion in ((f'the torques of {pair} are exchanged', self._same),
                                 (f'{pair} are exchanged', swapped)):
                missed = self._missed(gravity, motion, swapped)
                ratio = float(missed[[j, k]].sum() / now[[j, k]].sum())
                if ratio < CLEAR:
                    clear.append((ratio, {j, k}, f'{what} (remedy: their order in the robot file '
                                  'or in source.names)'))
        found: list[tuple[set[int], str]] = []
        for _, joints, text in sorted(clear, key=lambda guess: guess[0]):
            if not any(joints & other for other, _ in found):
                found.append((joints, text))
        return tuple(text for _, text in found)

    def _missed(self, gravity: Array, motion: list[int] | None = None,
                torque: list[int] | None = None, sign: float = 1.0) -> Array:
        """Share of each joint's squared torque that its own fit misses, (n,).

        Each joint with the motion and torque of the named ones.
        """
        motion, torque = motion or self._same, torque or self._same
        model = self._model.replace(gravity=gravity)
        columns, sides = [], []
        for moving, tau in zip(self._motions, self._torques, strict=True):
            q, dq, ddq = (x[:, motion] for x in (moving.q, moving.dq, moving.ddq))
            parts = np.stack([model.inverse_dynamics_batch(q, dq, ddq), dq,
                              np.tanh(dq / SMOOTHING), ddq], axis=2)              # (N, n, 4)
            keep = slice(*settled(len(q), self._cutoff, moving.rate).indices(len(q))[:2],
                         max(1, int(moving.rate / (SAMPLES * self._cutoff))))
            flat = low_pass(parts.reshape(len(q), -1), self._cutoff, moving.rate)[keep]
            columns.append(flat.reshape(-1, model.n, 4))
            sides.append(low_pass(tau, self._cutoff, moving.rate)[keep][:, torque])
        A, y = np.concatenate(columns), sign * np.concatenate(sides)
        ones = np.ones((len(y), 1))
        out = np.empty(model.n)
        for j in range(model.n):
            own = np.hstack([A[:, j], ones, -ones])         # an offset may have either sign
            scale = np.maximum(np.linalg.norm(own, axis=0), 1e-300)
            out[j] = nnls(own / scale, y[:, j])[1] ** 2 / max(float(y[:, j] @ y[:, j]), 1e-300)
        return out
