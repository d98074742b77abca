"""`config/robots/<robot>.yaml`: a robot that is ready to use, and what is known of it.

Its URDF stays where others publish it. What a URDF cannot say stands here: the rate of its
states, what its efforts are, how much of it is known and from where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from armsense import schema, share
from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm_config import ArmConfig, FrictionConfig, JointConfig
from armsense.model.description_places import find_description
from armsense.model.robot_description import urdf_arm
from armsense.schema import quantity

EFFORTS = {'link_torque': 'torque sensors behind the gears [Nm]',
           'motor_torque': 'motor torque on the joint side [Nm]',
           'current': 'motor current [A]'}


@dataclass(frozen=True, kw_only=True)
class UrdfPlace:
    """One of the places that publish the URDF."""

    at: str                                     # as for `find_description`
    arguments: dict[str, str] = quantity({})    # of a xacro file


@dataclass(frozen=True, kw_only=True)
class ReadyRobot:
    """Content of the file."""

    robot: str
    title: str
    urdf: tuple[UrdfPlace, ...]                 # the first that is there counts
    joints: tuple[str, ...]
    rate: float = quantity(unit='Hz', above=0, text='of the joint states')
    effort: str = quantity(choices=tuple(EFFORTS), text='what the joint states call effort')
    gains: tuple[float, ...] = quantity((), unit='Nm per unit of effort',
                                        text='one for all or one per joint; signs too')
    viscous: tuple[float, ...] = quantity((), unit='Nm s/rad', low=0)
    coulomb: tuple[float, ...] = quantity((), unit='Nm', low=0)
    effort_limits: tuple[float, ...] = quantity((), unit='Nm', above=0, text="if not the URDF's")
    home: tuple[float, ...] = quantity((), unit='rad')
    tool_frame: str = ''
    known: tuple[str, ...] = ()                 # with the source of each
    assumed: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> ReadyRobot:
        robot = schema.load(cls, schema.read_yaml(path), path.name)
        n = len(robot.joints)
        for name in ('gains', 'viscous', 'coulomb', 'effort_limits', 'home'):
            if (size := len(getattr(robot, name))) not in ({0, 1, n} if name == 'gains' else
                                                           {0, n}):
                raise BadValue(f'{path.name}: length of {name}', size, f'{n}, one per joint')
        return robot

    @property
    def effort_gains(self) -> tuple[float, ...]:
        """Torque per unit of effort, (n,); empty: nobody knows it."""
        if self.gains:
            return self.gains * len(self.joints) if len(self.gains) == 1 else self.gains
        return () if self.effort == 'current' else (1.0,) * len(self.joints)

    def place(self) -> tuple[Path, UrdfPlace]:
        """The URDF of the first place that has it."""
        lacks = []
        for place in self.urdf:
            try:
                return find_description(place.at), place
            except ArmsenseError as error:
                lacks.append(str(error))
        raise ArmsenseError(f'{self.robot}: no URDF is installed: {"; or ".join(lacks)}')

    def config(self) -> ArmConfig:
        """The arm that observers and identification work with."""
        path, place = self.place()
        found = urdf_arm(path, place.arguments, self.joints, self.effort_limits)
        joints = {name: self._joint(k, joint) for k, (name, joint) in
                  enumerate(found.joints.items())}
        return replace(found, arm=self.robot, title=self.title, rate=self.rate, joints=joints,
                       home=self.home or found.home, effort_gains=self.effort_gains,
                       effort=self.effort, tool_frame=self.tool_frame or found.tool_frame)

    def _joint(self, k: int, joint: JointConfig) -> JointConfig:
        return replace(joint, friction=FrictionConfig(
            viscous=self.viscous[k] if self.viscous else 0.0,
            coulomb=self.coulomb[k] if self.coulomb else 0.0))


def ready_robots() -> dict[str, Path]:
    """Files of all robots, by name."""
    return {path.stem: path for folder in reversed(share.share_folders())
            for path in sorted((folder / 'config' / 'robots').glob('*.yaml'))
            if path.is_file()}   # a workspace keeps links to what has gone
