"""MuJoCo model of an arm from its URDF and yaml."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

from armsense.errors import BadValue
from armsense.model.arm_config import ArmConfig, JointConfig
from armsense.model.description_places import find_description
from armsense.model.robot_description import load_description
from armsense.schema import check_known
from armsense.sim import scene
from armsense.sim import urdf_tools as urdf
from armsense.sim.elastic_link_plant import Beam, split_link
from armsense.sim.joint_drives import add_cable, add_elastic_joint, add_rigid_drive, spring_name
from armsense.types import Array

ARM, OBSTACLE = 1, 2   # collision groups: arm against obstacles, nothing else
PAYLOAD = 'payload'
ALUMINIUM = 2700.0     # [kg/m^3] of which a payload is drawn


@dataclass
class ArmSpec:
    """An arm that can be compiled, and where to find its parts."""

    config: ArmConfig
    spec: mujoco.MjSpec
    links: tuple[str, ...]                  # link that each joint moves, (n,) names
    beams: dict[str, Beam] = dataclasses.field(default_factory=dict)   # by link

    @classmethod
    def build(cls, config: ArmConfig, *, mismatch: float = 0.0, seed: int = 0) -> ArmSpec:
        """Model of an arm, which is not exactly what yaml and URDF say.

        `mismatch` is the standard deviation of a relative error on every mass and friction value,
        drawn from a seed.
        """
        robot = ElementTree.fromstring(load_description(
            find_description(config.urdf, config.folder), config.urdf_arguments))
        if mismatch < 0.0 or mismatch > 0.5:
            raise BadValue('mismatch', mismatch, 'between 0 and 0.5')
        config = _disturb(config, robot, mismatch, np.random.default_rng(seed))
        links = tuple(urdf.link_at(urdf.named(robot, 'joint', name), 'child')
                      for name in config.joints)
        beams = {}
        for link, (name, joint) in zip(links, config.joints.items(), strict=True):
            if joint.strain is not None:
                beams[link] = split_link(robot, name, joint.strain)
        spec = _import(robot)
        arm = cls(config, spec, links, beams)
        arm._lock_other_joints()
        arm._add_drives()
        arm._add_payload()
        arm._set_options()
        scene.decorate(spec, config.gravity, config.joints)
        return arm

    def link_of(self, body: str) -> str:
        """Moving link that a MuJoCo body belongs to; '' where it belongs to none."""
        here = self.spec.body(body)
        while here is not None and here.name != 'world':
            for link in self.links:
                names = self.beams[link].bodies if link in self.beams else (link,)
                if here.name in names:
                    return link
            here = here.parent
        return ''

    def attachment(self, link: str, point: Array) -> tuple[str, Array]:
        """Body, and point in its frame, for a point in the frame of a (straight) link."""
        check_known('link', link, self.links, self.config.arm)
        if link not in self.beams:
            return link, point
        beam = self.beams[link]
        k = beam.piece_at(float(point @ beam.along))
        start = beam.hinges[k - 1] if k else 0.0
        return beam.bodies[k], point - start * beam.along

    def play_name(self, joint: str) -> str | None:
        """Degree of freedom between motor and link, where there is one."""
        config = self.config.joints[joint]
        if config.elastic is not None:
            return spring_name(joint)
        return f'{joint}_play' if config.backlash > 0.0 else None

    def set_payload(self, mass: float, center: Array) -> None:
        """Let the tool carry a point mass [kg] at `center` [m] from the next compilation on."""
        body = self.spec.body(PAYLOAD)
        for geom in list(body.geoms):
            self.spec.delete(geom)
        body.explicitinertial = mass > 0.0
        body.mass, body.ipos, body.inertia = mass, center, np.full(3, 1e-9)
        if mass > 0.0:
            radius = (mass / ALUMINIUM * 0.75 / np.pi) ** (1.0 / 3.0)
            body.add_geom(name=PAYLOAD, type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=center,
                          size=(radius, 0.0, 0.0), rgba=(0.2, 0.45, 0.75, 1.0),
                          contype=0, conaffinity=0)

    def _lock_other_joints(self) -> None:
        bends = {name for beam in self.beams.values() for name in beam.joints}
        for joint in list(self.spec.joints):
            if joint.name not in self.config.joints and joint.name not in bends:
                self.spec.delete(joint)
            # Forget what the URDF's <dynamics> says: the yaml is the source of friction.
            joint.damping, joint.frictionloss = (0.0, 0.0, 0.0), 0.0

    def _add_drives(self) -> None:
        joints = self.config.joints
        for name, config in joints.items():
            joint = self.spec.joint(name)
            if config.elastic is not None:
                add_elastic_joint(self.spec, joint, config)
            else:
                add_rigid_drive(self.spec, joint, config)
        for name, config in joints.items():
            if config.elastic is not None and config.elastic.coupled_to is not None:
                other = joints[config.elastic.coupled_to]
                add_cable(self.spec, name, config, other.elastic is not None)
        for beam in self.beams.values():
            tip = self.spec.body(beam.bodies[-1])   # with all that it carries
            carried = float(tip.mass + sum(body.mass for body in tip.find_all('body')
                                           if body.explicitinertial))   # [kg]
            rows = zip(beam.joints, beam.stiffness, beam.damping(carried), strict=True)
            for name, stiffness, damping in rows:
                bend = self.spec.joint(name)
                bend.stiffness = (stiffness, 0.0, 0.0)
                bend.damping = (damping, 0.0, 0.0)
                bend.limited = mujoco.mjtLimited.mjLIMITED_FALSE

    def _add_payload(self) -> None:
        names = [body.name for body in self.spec.bodies]
        check_known('tool frame', self.config.tool_frame, names, self.config.arm)
        self.spec.body(self.config.tool_frame).add_body(name=PAYLOAD)

    def _set_options(self) -> None:
        option = self.spec.option
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.gravity = self.config.gravity
        option.iterations = 50
        option.tolerance = 1e-10
        for geom in self.spec.geoms:
            if geom.contype:
                geom.contype, geom.conaffinity = ARM, OBSTACLE
                geom.group = 3   # not drawn: the visual shape is


def _import(robot: ElementTree.Element) -> mujoco.MjSpec:
    settings = ElementTree.Element('mujoco')
    ElementTree.SubElement(settings, 'compiler', fusestatic='false', discardvisual='false',
                           strippath='false')
    robot.insert(0, settings)
    return mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding='unicode'))


def _disturb(config: ArmConfig, robot: ElementTree.Element, mismatch: float,
             rng: np.random.Generator) -> ArmConfig:
    if mismatch == 0.0:
        return config
    for name in config.joints:
        link = urdf.named(robot, 'link', urdf.link_at(urdf.named(robot, 'joint', name), 'child'))
        body = urdf.read_inertial(link)
        factor = float(np.clip(1.0 + mismatch * rng.standard_normal(), 0.5, 1.5))
        urdf.write_inertial(link, urdf.Inertial(factor * body.mass, body.center,
                                                factor * body.tensor))
    return dataclasses.replace(config, joints={
        name: _disturb_friction(joint, mismatch, rng) for name, joint in config.joints.items()})


def _disturb_friction(joint: JointConfig, mismatch: float,
                      rng: np.random.Generator) -> JointConfig:
    factors = np.clip(1.0 + mismatch * rng.standard_normal(2), 0.5, 1.5)
    friction = dataclasses.replace(joint.friction, viscous=factors[0] * joint.friction.viscous,
                                   coulomb=factors[1] * joint.friction.coulomb)
    return dataclasses.replace(joint, friction=friction)
