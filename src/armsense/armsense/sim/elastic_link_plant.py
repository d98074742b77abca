"""Elastic links: a beam cut into rigid pieces with springs between them.

Every spring stands for a portion of the beam, with stiffness EI / portion. The first portion is
2 x_s long and its spring sits in the middle, at the strain gauge: there the bending angle over the
portion is the curvature, and the strain is y_b times that (paper 001, eq. 5). The other springs
sit at the nodes of Gauss' quadrature over the rest of the beam, with its weights as portions, so
that two of them already give the deflection under a tip force exactly. The mass of the beam is
spread over the pieces; what the URDF's inertial has beyond it sits in two lumps, at the joint and
at the tip, so that the straight link has the URDF's mass, centre of mass and inertia.
"""

from dataclasses import dataclass
import math
import xml.etree.ElementTree as ElementTree

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm_config import StrainConfig
from armsense.sim import urdf_tools as urdf
from armsense.types import Array

PIECES = 3             # springs per link
BLADE_RADIUS = 0.005   # [m] assumed: gyration of a piece about the link's own direction


@dataclass(frozen=True)
class Beam:
    """A link as pieces; piece 0 is the link itself, piece k hangs on spring k - 1."""

    link: str
    along: Array           # unit vector in the link frame, (3,)
    axis: Array            # of bending, (3,)
    hinges: Array          # [m] positions of the springs along the link, (PIECES,)
    portions: Array        # [m] of beam that each spring stands for, (PIECES,)
    config: StrainConfig

    @property
    def bodies(self) -> list[str]:
        """Names of the pieces, from the joint outwards."""
        return [self.link, *(f'{self.link}_piece{k}' for k in range(1, len(self.hinges) + 1))]

    @property
    def joints(self) -> list[str]:
        """Names of the springs, from the joint outwards."""
        return [f'{self.link}_bend{k}' for k in range(1, len(self.hinges) + 1)]

    @property
    def stiffness(self) -> Array:
        """Of the springs [Nm/rad], (PIECES,)."""
        return self.config.bending_stiffness / self.portions

    @property
    def strain_per_angle(self) -> float:
        """Strain per bending angle of the first spring [1/rad].

        A positive joint torque bends the outer part back, hence the sign.
        """
        return -self.config.surface_distance / float(self.portions[0])

    def piece_at(self, x: float) -> int:
        """Number of the piece at distance x from the joint [m]."""
        return int(np.searchsorted(self.hinges, x, side='right'))

    def damping(self, carried: float) -> Array:
        """Of the springs [Nm s/rad], (PIECES,).

        Proportional to the stiffness, with the configured ratio at the first mode of the link as a
        cantilever that carries `carried` [kg] at its tip.
        """
        L, rho = self.config.length, self.config.linear_density
        mass = carried + 0.24 * rho * L   # share of a cantilever's own mass at its tip
        omega = math.sqrt(3.0 * self.config.bending_stiffness / L**3 / max(mass, 1e-6))
        return 2.0 * self.config.damping_ratio / omega * self.stiffness


def split_link(robot: ElementTree.Element, joint: str, config: StrainConfig) -> Beam:
    """Cut the link that `joint` moves into pieces, in place; returns the beam."""
    element = urdf.named(robot, 'joint', joint)
    link = urdf.link_at(element, 'child')
    axis = urdf.joint_axis(element)
    outer = [j for j in robot.findall('joint') if urdf.link_at(j, 'parent') == link]
    if not outer:
        raise ArmsenseError(f'link {link!r} has a strain gauge but carries nothing')
    span = urdf.vector(outer[0].find('origin'), 'xyz')
    span = span - (span @ axis) * axis
    if np.linalg.norm(span) < 1e-9:
        raise BadValue(f'length of link {link!r} across its joint axis', 0.0, '> 0 m')
    beam = _layout(link, span / np.linalg.norm(span), axis, config)
    root = urdf.named(robot, 'link', link)
    masses = _distribute(urdf.read_inertial(root), beam)
    shapes = _cut_shapes(root, beam)
    urdf.write_inertial(root, masses[0])
    for k, name in enumerate(beam.bodies[1:], start=1):
        piece = ElementTree.SubElement(robot, 'link', name=name)
        urdf.write_inertial(piece, masses[k])
        piece.extend(shapes[k])
        start = beam.hinges[k - 1] - (beam.hinges[k - 2] if k > 1 else 0.0)
        urdf.add_hinge(robot, beam.joints[k - 1], beam.bodies[k - 1], name,
                       start * beam.along, axis)
    for tail in outer:
        urdf.reattach(tail, beam.bodies[-1], -beam.hinges[-1] * beam.along)
    return beam


def _layout(link: str, along: Array, axis: Array, config: StrainConfig) -> Beam:
    first = 2.0 * config.gauge_position
    if not 0.0 < first < config.length:
        raise BadValue(f'gauge_position of link {link!r}', config.gauge_position,
                       f'between 0 and half of the length, {0.5 * config.length} m')
    half = 0.5 * (config.length - first)
    nodes, weights = np.polynomial.legendre.leggauss(PIECES - 1)
    hinges = np.concatenate([[config.gauge_position], first + half * (1.0 + nodes)])
    portions = np.concatenate([[first], half * weights])
    return Beam(link, along, axis, hinges, portions, config)


def _distribute(whole: urdf.Inertial, beam: Beam) -> list[urdf.Inertial]:
    """Inertials of the pieces, each in its own frame."""
    L, rho, u = beam.config.length, beam.config.linear_density, beam.along
    rest = whole.mass - rho * L
    if rest < -1e-6:
        raise BadValue(f'mass of link {beam.link!r}', whole.mass,
                       f'at least that of its beam, {rho * L:.4g} kg')
    edges = np.concatenate([[0.0], beam.hinges, [L]])
    parts: list[list[urdf.Inertial]] = [
        [_rod(rho, low, high, u)] for low, high in zip(edges[:-1], edges[1:], strict=True)]
    if rest > 1e-6:
        center = (whole.mass * whole.center - 0.5 * rho * L * L * u) / rest
        lumps = _lumps(rest, center, L, u)
        known = urdf.combine([*(p for part in parts for p in part), *lumps])
        spare = _positive(whole.about_origin() - known.about_origin(), beam.link)
        shares = [lump.mass / rest for lump in lumps]
        for part, lump, share in zip((parts[0], parts[-1]), lumps, shares, strict=True):
            part.append(urdf.Inertial(lump.mass, lump.center, share * spare))
    starts = [0.0, *beam.hinges]
    return [urdf.combine(part).moved(-start * u)
            for part, start in zip(parts, starts, strict=True)]


def _lumps(mass: float, center: Array, L: float, u: Array) -> tuple[urdf.Inertial, urdf.Inertial]:
    """Two point masses, near the joint and near the tip, with this mass and centre."""
    share = float(np.clip(center @ u / L, 0.0, 1.0))
    aside = center - (center @ u) * u
    root, tip = aside, L * u + aside
    if center @ u < 0.0 or center @ u > L:   # beyond an end: one lump holds everything
        root = tip = center
    zero = np.zeros((3, 3))
    return (urdf.Inertial((1.0 - share) * mass, root, zero),
            urdf.Inertial(share * mass, tip, zero))


def _rod(rho: float, low: float, high: float, u: Array) -> urdf.Inertial:
    mass, length = rho * (high - low), high - low
    across = mass * (length**2 / 12.0 + 0.5 * BLADE_RADIUS**2)
    tensor = across * (np.eye(3) - np.outer(u, u)) + mass * BLADE_RADIUS**2 * np.outer(u, u)
    return urdf.Inertial(mass, 0.5 * (low + high) * u, tensor)


def _positive(tensor: Array, link: str) -> Array:
    """The rotational inertia that is left for the lumps, without small negative parts."""
    values, vectors = np.linalg.eigh(0.5 * (tensor + tensor.T))
    if values.min() < -1e-3:
        raise BadValue(f'inertia of link {link!r} left for its ends [kg m^2]',
                       values.min().round(6), 'positive: the beam and its end masses have more '
                       'than the URDF says')
    # No body has a negative second moment along an axis: I_x + I_y >= I_z.
    moments = np.maximum(0.5 * values.sum() - values, 1e-8)
    return np.asarray(vectors @ np.diag(moments.sum() - moments) @ vectors.T)


def _cut_shapes(link: ElementTree.Element, beam: Beam) -> list[list[ElementTree.Element]]:
    """Visual and collision elements of the pieces; those of piece 0 stay in the link."""
    shapes: list[list[ElementTree.Element]] = [[] for _ in beam.bodies]
    starts = np.array([0.0, *beam.hinges])
    ends = np.array([*beam.hinges, np.inf])
    for element in [*link.findall('visual'), *link.findall('collision')]:
        link.remove(element)
        for k, (low, high) in enumerate(zip(starts, ends, strict=True)):
            piece = urdf.cut_shape(element, beam.along, low if k else -np.inf, high)
            if piece is not None:
                urdf.shift_origin(piece, -low * beam.along)
                shapes[k].append(piece)
    link.extend(shapes[0])
    return shapes
