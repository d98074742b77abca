"""Arms whose links tell their torque by strain: one weight between joint and gauge for all.

A gauge feels what acts beyond it. The joint's torque is greater by dtau, which depends on the
masses that are identified (paper 001, eqs. 6-10). Recordings are read with those of the arm file,
nodes know the identified ones: the fit is repeated with dtau of its own result until both agree.
Then the model predicts the strains themselves, whatever EI / y_b really is: a wrong one scales
the masses.
"""

from collections.abc import Sequence

import numpy as np

from armsense.drive import GravityOffset
from armsense.identify.estimation.training import Options
from armsense.identify.identify import identify
from armsense.identify.model import IdentifiedModel
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.types import Array, Progress

AGREED = 1e-3    # [Nm] of dtau
MOST = 5         # fits; each comes closer by the ratio of gauge position and link length


def has_gauges(arm: Arm) -> bool:
    """Whether strain gauges tell some of its torques."""
    return any(joint.strain is not None for joint in arm.config.joints.values())


def referred(recording: Recording, before: Arm, after: Arm) -> Recording:
    """Torques with dtau of one model in the place of another's."""
    shift = offsets(after, recording.q) - offsets(before, recording.q)
    return Recording(recording.t, recording.q, recording.tau + shift, recording.dq, recording.name)


def offsets(arm: Arm, q: Array) -> Array:
    """What an arm has between joints and gauges [Nm], (N, n), at joint positions of that shape."""
    offset = GravityOffset(arm, arm.config)
    return np.array([offset(row) for row in q])


def identify_gauged(recordings: Sequence[Recording], arm: Arm, options: Options,
                    progress: Progress = lambda share, step: None) -> IdentifiedModel:
    """A model whose own dtau made the torques that it was fitted to.

    Args:
        recordings: With dtau of `arm`.
        arm: Nominal.
        options: Of the fit.
        progress: Told of every step.
    """
    model, before = identify(recordings, arm, options, progress), arm
    for _ in range(MOST - 1):
        after = model.model
        sample = np.concatenate([recording.q[::50] for recording in recordings])
        if np.abs(offsets(after, sample) - offsets(before, sample)).max() < AGREED:
            break
        model = identify([referred(r, arm, after) for r in recordings], arm, options, progress)
        before = after
    return model
