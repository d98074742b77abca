"""`config/controllers.yaml`: laws, gains, tolerances and reactions of every arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from armsense import schema, share
from armsense.control.drivetrain import Drivetrain
from armsense.control.law import Gain, Law
from armsense.control.laws import find_law, LAWS
from armsense.errors import BadValue
from armsense.model import Arm
from armsense.reaction.options import ReactionOptions
from armsense.schema import quantity, spread
from armsense.trajectory import Tolerances


@dataclass(frozen=True, kw_only=True)
class ControllerConfig:
    """Control of one arm."""

    law: str = quantity(choices=tuple(LAWS), text='active at the start')
    laws: dict[str, Any] = quantity(text='gains by law')
    switch_time: float = quantity(0.3, unit='s', above=0, text='of a change of law or payload')
    max_gap: float = quantity(0.05, unit='s', above=0, text='without states, then safe state')
    floor: float | None = quantity(None, unit='m', text='no link goes below; none: no floor')
    self_distance: float = quantity(0.01, unit='m', low=0)
    path_tolerance: Gain = quantity((0.3,), unit='rad', low=0, text='0: not watched')
    goal_tolerance: Gain = quantity((0.05,), unit='rad', low=0, text='0: not watched')
    goal_time: float = quantity(1.0, unit='s', low=0)
    hold_tolerance: Gain = quantity((0.03,), unit='rad', above=0, text='between an arm that has '
                                    'given up and where it is held; beyond: held where it is')
    hold_torque: float = quantity(0.05, above=0, high=1, text='of the torque limits, beyond the '
                                  'weight; an arm that has given up presses with no more')
    longest_goal: float = quantity(600.0, unit='s', above=0, high=86400, text='of a trajectory')
    target_timeout: float = quantity(0.1, unit='s', above=0, high=1, text='without a target for '
                                     'the tool, then the arm brakes')
    target_directions: tuple[str, ...] = quantity((), text='that such targets count in, of x y z '
                                                  'rx ry rz; empty: as many as the arm can serve')
    home_speed: float = quantity(0.3, above=0, high=1, text='fraction of the velocity limits')
    reaction: ReactionOptions = field(default_factory=ReactionOptions)

    @classmethod
    def of(cls, model: Arm, path: str | Path | None = None) -> ControllerConfig:
        """Block of an arm in a file of one's own, or in `config/controllers.yaml`.

        An arm without one gets gains from its inertia.
        """
        file = Path(path) if path is not None else share.find('config/controllers.yaml')
        blocks = schema.read_yaml(file)
        if model.name not in blocks:
            return from_inertia(model)
        config = schema.load(cls, blocks[model.name], f'{file.name}: {model.name}')
        for law in (*config.laws, config.law):
            config.gains(law)
        return config

    def gains(self, law: str) -> Any:
        kind = find_law(law)
        if law not in self.laws:
            raise BadValue('control law', law, f'one that controllers.yaml gives gains for: '
                                               f'{", ".join(self.laws)}')
        return schema.load(kind.Gains, self.laws[law], f'controllers.yaml: laws.{law}')

    def make(self, law: str, model: Arm) -> Law:
        return find_law(law)(model, self.gains(law))

    def tolerances(self, n: int) -> Tolerances:
        """Of trajectories that bring none of their own."""
        return Tolerances(path=spread('path_tolerance', self.path_tolerance, n),
                          goal=spread('goal_tolerance', self.goal_tolerance, n),
                          goal_time=self.goal_time)


def from_inertia(model: Arm, frequency: float = 20.0) -> ControllerConfig:
    """Moderate gains for any arm: critically damped joints of a natural frequency [rad/s]."""
    q = np.array(model.config.home or [0.0] * model.n)
    inertia = model.mass_matrix(q).diagonal() + Drivetrain(model).rotor
    kp, kd = (inertia * frequency**2).tolist(), (2.0 * inertia * frequency).tolist()
    velocity_loop = {'proportional': kd, 'integral': kp}
    laws = {
        'pi_velocity': velocity_loop,
        'pid_position': {'kp': kp, 'kd': kd, 'ki': (inertia * frequency**3 / 4).tolist()},
        'kinematic_joint': {'position': [frequency / 2], **velocity_loop},
        'kinematic_cartesian': {'position': frequency / 2, **velocity_loop},
        'pd_gravity': {'kp': kp, 'kd': kd},
        'computed_torque': {'kp': [frequency**2], 'kd': [2.0 * frequency]},
        'joint_impedance': {'stiffness': (inertia * frequency**2 / 4).tolist(),
                            'damping_ratio': [1.0]},
        'float': {'kd': (0.5 * inertia).tolist()},
    }
    return ControllerConfig(law='computed_torque', laws=laws)
