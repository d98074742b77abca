"""What `config/arms/<arm>.yaml` says about an arm: joints, drives, sensors, boards, limits.

Kinematics, inertias and position/velocity limits stand in the URDF; everything a URDF cannot
say stands here. All quantities of a drive are on the joint side of the gear unless the name says
motor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import Any

from armsense import schema, share
from armsense.errors import ArmsenseError, BadValue
from armsense.schema import quantity

DRIVES = ('rigid', 'elastic_joint', 'strain_link')
MOST_CURRENT = 1000.0   # [A] of a motor that drives an arm; files that say more mean mA
PROTOCOLS = ('udriver_spi', 'uomodri', 'laas_inhouse', 'udriver_can')


@dataclass(frozen=True, kw_only=True)
class FrictionConfig:
    """Friction torque of one joint, opposing its motion."""

    viscous: float = quantity(0.0, unit='Nm s/rad', low=0)
    coulomb: float = quantity(0.0, unit='Nm', low=0)
    stribeck: float = quantity(0.0, unit='Nm', low=0, text='extra torque at standstill')
    stribeck_velocity: float = quantity(0.05, unit='rad/s', above=0)
    smoothing: float = quantity(0.01, unit='rad/s', above=0,
                                text='velocity over which the sign changes')
    asymmetry: float = quantity(0.0, unit='Nm', text='offset of the friction characteristic')
    # What identification may find beside these; see `drive.friction`.
    sqrt: float = quantity(0.0, unit='Nm (s/rad)^0.5', text='grows with the root of the speed')
    quadratic: float = quantity(0.0, unit='Nm s^2/rad^2', text='grows with the squared speed')
    load: float = quantity(0.0, text='dry friction per torque on the link')
    load_viscous: float = quantity(0.0, unit='s/rad', text='viscous friction per torque')

    @property
    def plain(self) -> bool:
        """Whether there is nothing but viscous and Coulomb friction."""
        return not any((self.stribeck, self.asymmetry, self.sqrt, self.quadratic, self.load,
                        self.load_viscous))


@dataclass(frozen=True, kw_only=True)
class CouplingConfig:
    """A shaft that turns with several joints, such as a wrist motor that drives two."""

    ratios: tuple[float, ...]     # its speed per speed of each joint, (n,)
    inertia: float = quantity(0.0, unit='kg m^2', low=0, text='joint side')
    friction: FrictionConfig = FrictionConfig()


@dataclass(frozen=True, kw_only=True)
class ElasticConfig:
    """Spring between motor and link."""

    stiffness: float = quantity(unit='Nm/rad', above=0)
    damping: float = quantity(0.0, unit='Nm s/rad', low=0)
    # Cable coupling: the rest position of the spring follows another joint,
    # theta - q - ratio q_j.
    coupled_to: str | None = None
    coupling_ratio: float = quantity(0.0)
    link_damping: float = quantity(0.0, unit='Nm s/rad', low=0,
                                   text='viscous friction of the bearing behind the spring')


@dataclass(frozen=True, kw_only=True)
class StrainConfig:
    """Beam with a strain gauge: torque = EI / y_b * strain + offset."""

    bending_stiffness: float = quantity(unit='Nm^2', above=0, text='EI')
    surface_distance: float = quantity(unit='m', above=0, text='y_b, neutral axis to gauge')
    gauge_position: float = quantity(unit='m', low=0, text='from the joint axis along the link')
    length: float = quantity(unit='m', above=0)
    linear_density: float = quantity(0.0, unit='kg/m', low=0, text='rho_b of the bare beam')
    damping_ratio: float = quantity(0.01, low=0, high=1)
    adc_scale: float = quantity(1e-7, unit='1 per LSB', above=0,
                                text='of the board input that reads the gauge')


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    counts: int = quantity(4096, low=2, text='per turn of the shaft it sits on')


@dataclass(frozen=True, kw_only=True)
class BoardSlot:
    """Which motor of which board drives the joint."""

    board: int = quantity(low=0)
    motor: int = quantity(low=1, high=2)


@dataclass(frozen=True, kw_only=True)
class CurrentSensorConfig:
    noise: float = quantity(0.0, unit='A', low=0, text='standard deviation')
    bits: int = quantity(16, low=2, high=24)
    unsigned: bool = False


@dataclass(frozen=True, kw_only=True)
class JointConfig:
    """Drive and sensors of one joint."""

    drive: str = quantity(choices=DRIVES)
    gear_ratio: float = quantity(unit='motor turns per joint turn', above=0)
    torque_constant: float | None = quantity(None, unit='Nm/A', above=0)
    kv: float | None = quantity(None, unit='rpm/V', above=0,
                                text='gives the torque constant where none is stated')
    efficiency: float = quantity(1.0, above=0, high=1)
    rotor_inertia: float = quantity(0.0, unit='kg m^2', low=0, text='motor side')
    current_limit: float = quantity(unit='A', above=0)
    acceleration_limit: float = quantity(30.0, unit='rad/s^2', above=0)
    jerk_limit: float = quantity(1000.0, unit='rad/s^3', above=0)
    peak_velocity: float = quantity(10.0, unit='rad/s', above=0,
                                    text='no reading of a sound encoder moves faster')
    direction: int = quantity(1, text='1 or -1: sense of the motor against the joint')
    offset: float | None = quantity(
        None, unit='rad',
        text='joint angle where the motor encoder reads zero; the home pose where none is stated')
    safe_damping: float = quantity(1.0, unit='Nm s/rad', low=0,
                                   text='brakes the joint in the safe state')
    backlash: float = quantity(0.0, unit='rad', low=0)
    resistance: float | None = quantity(
        None, unit='ohm', above=0,
        text='of one phase as the boards report it; tells swapped boards where it is stated')
    friction: FrictionConfig = FrictionConfig()
    motor_encoder: EncoderConfig = EncoderConfig()
    joint_encoder: EncoderConfig | None = None
    current_sensor: CurrentSensorConfig = CurrentSensorConfig()
    slot: BoardSlot | None = None
    elastic: ElasticConfig | None = None
    strain: StrainConfig | None = None

    def __post_init__(self) -> None:
        if self.direction not in (1, -1):
            raise BadValue('direction', self.direction, '1 or -1')
        if self.torque_constant is None and self.kv is None:
            raise ArmsenseError('a drive needs torque_constant or kv')
        if (self.drive == 'elastic_joint') != (self.elastic is not None):
            raise ArmsenseError(f"drive {self.drive!r}: 'elastic' belongs to elastic_joint")
        if self.drive == 'elastic_joint' and self.joint_encoder is None:
            raise ArmsenseError("drive 'elastic_joint' needs a joint_encoder: the motor's tells "
                                'nothing about a link behind a spring')
        if (self.drive == 'strain_link') != (self.strain is not None):
            raise ArmsenseError(f"drive {self.drive!r}: 'strain' belongs to strain_link")

    @property
    def motor_torque_constant(self) -> float:
        """Torque per quadrature current [Nm/A]; from Kv by thesis 004, eq. 4.3."""
        if self.torque_constant is not None:
            return self.torque_constant
        assert self.kv is not None
        return 1.5 / math.sqrt(3.0) * 60.0 / (2.0 * math.pi) / self.kv

    @property
    def torque_per_ampere(self) -> float:
        """Joint-side torque per motor current [Nm/A]."""
        return self.motor_torque_constant * self.gear_ratio * self.efficiency

    @property
    def reflected_inertia(self) -> float:
        """Rotor inertia seen at the joint [kg m^2]."""
        return self.rotor_inertia * self.gear_ratio**2

    @property
    def armature(self) -> float:
        """Reflected inertia that the link-side torque must accelerate too [kg m^2].

        Behind a spring or a strain gauge the torque is known on the link side of the rotor.
        """
        return self.reflected_inertia if self.drive == 'rigid' else 0.0

    @property
    def torque_limit(self) -> float:
        """Joint-side torque at the current limit [Nm]."""
        return self.torque_per_ampere * self.current_limit


@dataclass(frozen=True, kw_only=True)
class BoardsConfig:
    """How the motor boards are reached."""

    protocol: str = quantity('uomodri', choices=PROTOCOLS)
    spi_bus: int = quantity(0, low=0)
    spi_devices: tuple[int, ...] = (0, 1)
    spi_clock: int = quantity(8_000_000, unit='Hz', above=0)
    spi_mode: int = quantity(0, low=0, high=3)
    can_channels: tuple[str, ...] = ('can0', 'can1')
    timeout_ms: int = quantity(50, low=0, high=255, text='watchdog of the board; 0: off')
    index_search: bool = False     # `offset` of a joint is then its angle at the index pulse


@dataclass(frozen=True, kw_only=True)
class LoadCellsConfig:
    """Load cells under the base."""

    kind: str = quantity('vertical', choices=('vertical', 'six_axis'))
    positions: tuple[tuple[float, float], ...] = ()   # [m] x, y in the base frame
    height: float = quantity(0.0, unit='m', text='of the cells in the base frame')
    capacity: float = quantity(50.0, unit='N', above=0)
    noise: float = quantity(0.05, unit='N', low=0)
    rate: float = quantity(1000.0, unit='Hz', above=0)


@dataclass(frozen=True, kw_only=True)
class ArmConfig:
    """One arm."""

    arm: str
    title: str
    urdf: str
    joints: dict[str, JointConfig]
    tool_frame: str = 'tool'
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)   # [m/s^2] in the base frame
    rate: float = quantity(1000.0, unit='Hz', above=0)
    home: tuple[float, ...] = ()                               # [rad]
    boards: BoardsConfig | None = None
    load_cells: LoadCellsConfig | None = None
    couplings: tuple[CouplingConfig, ...] = ()
    # Of a robot that somebody else drives: what its joint states call effort.
    effort: str = 'motor_torque'
    effort_gains: tuple[float, ...] = quantity((), unit='Nm per unit of effort', text='signs too')
    urdf_arguments: dict[str, str] = quantity({}, text='of a xacro file')
    package_dirs: tuple[str, ...] = quantity((), text='where packages of its meshes stand')
    folder: Path | None = None                                 # of the yaml file
    file: Path | None = None         # yaml or URDF of an arm that no name stands for

    def __post_init__(self) -> None:
        if not self.joints:
            raise ArmsenseError('an arm needs at least one joint')
        if self.home and len(self.home) != len(self.joints):
            raise BadValue('home', self.home, f'a list of {len(self.joints)}')
        if self.effort_gains and len(self.effort_gains) != len(self.joints):
            raise BadValue('effort_gains', self.effort_gains, f'a list of {len(self.joints)}')
        for coupling in self.couplings:
            if len(coupling.ratios) != len(self.joints):
                raise BadValue('ratios of a coupling', coupling.ratios,
                               f'a list of {len(self.joints)}')
        for name, joint in self.joints.items():
            target = joint.elastic.coupled_to if joint.elastic else None
            if target is not None and target not in self.joints:
                raise BadValue(f'joints.{name}.elastic.coupled_to', target,
                               f'one of {", ".join(self.joints)}')
        without = [name for name, joint in self.joints.items() if joint.offset is None]
        if self.boards is not None and self.boards.index_search and without:
            raise ArmsenseError('boards.index_search needs the offset of every joint, its angle '
                                f'at the index pulse; none is stated for {", ".join(without)}')

    @classmethod
    def plain(cls, arm: str, title: str, efforts: dict[str, float],
              armature: Sequence[float] | None = None, **more: Any) -> ArmConfig:
        """Rigid joints without gears whose efforts stand for motor torques.

        Limits by joint [Nm], 0: none is known; rotor inertias [kg m^2], (n,); other fields.
        """
        inertia = [0.0] * len(efforts) if armature is None else armature
        joints = {joint: JointConfig(drive='rigid', gear_ratio=1.0, torque_constant=1.0,
                                     current_limit=effort or math.inf, rotor_inertia=float(rotor))
                  for (joint, effort), rotor in zip(efforts.items(), inertia, strict=True)}
        return cls(arm=arm, title=title, joints=joints, **more)

    def _check_units(self, where: str) -> None:
        """Raise where a number can only be of another unit."""
        for name, joint in self.joints.items():
            if joint.current_limit > MOST_CURRENT:
                raise BadValue(f'{where}: joints.{name}.current_limit', joint.current_limit,
                               f'<= {MOST_CURRENT:g} A; is it in mA?')
        for angle in self.home:
            if abs(angle) > 2.0 * math.pi:
                raise BadValue(f'{where}: home', angle, 'an angle in rad; is it in degrees?')

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(self.joints)

    @property
    def n(self) -> int:
        return len(self.joints)

    @classmethod
    def load(cls, arm: str | Path) -> ArmConfig:
        """Arm or robot by name, from a yaml file of one's own, or a URDF."""
        from armsense.model.ready_robot import ready_robots, ReadyRobot  # which make this class
        from armsense.model.robot_description import SUFFIXES, urdf_arm
        if str(arm).endswith(SUFFIXES):
            return replace(urdf_arm(Path(arm)), file=Path(arm).resolve())
        if str(arm) in (robots := ready_robots()):
            return ReadyRobot.read(robots[str(arm)]).config()
        path = share.find_arm(arm, robots)
        data = schema.read_yaml(path)
        for place in ('folder', 'file'):     # these are not for a file to say
            data.pop(place, None)
        config = schema.load(cls, {'title': data.get('arm', ''), **data}, path.name)
        config._check_units(path.name)
        own = path.resolve() if str(arm).endswith('.yaml') else None
        return replace(config, folder=path.parent, file=own)
