"""A generic arm of seven joints with cylinders around its links, for the fusion benchmark."""

from __future__ import annotations

from armsense_core.model import ArmModel

RADIUS = 0.06                                                # [m]
# Distance to the next joint along z [m], and the turn about x that leads to its axis [rad].
CHAIN = ((0.34, '0 0 0'), (0.0, '-1.5708 0 0'), (0.40, '1.5708 0 0'), (0.0, '1.5708 0 0'),
         (0.40, '-1.5708 0 0'), (0.0, '-1.5708 0 0'), (0.13, '1.5708 0 0'))
MASSES = (3.5, 3.5, 3.0, 2.7, 1.7, 1.8, 0.5)                 # [kg]
LENGTHS = (0.20, 0.24, 0.24, 0.24, 0.24, 0.16, 0.12)         # [m] of the cylinders


def urdf() -> str:
    """URDF text; odd joints turn along the arm, even ones bend it."""
    parts = ['<robot name="seven"><link name="base_link"/>']
    for k, (_, rpy) in enumerate(CHAIN, start=1):
        parent = f'link{k - 1}' if k > 1 else 'base_link'
        xyz = _offset(k)
        m, length = MASSES[k - 1], LENGTHS[k - 1]
        center, turn = _body(k)
        lateral, polar = m * (3 * RADIUS**2 + length**2) / 12, 0.5 * m * RADIUS**2
        along = (lateral, polar, lateral) if turn else (lateral, lateral, polar)
        parts.append(
            f'<joint name="joint{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{k}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/>'
            '<limit lower="-2.9" upper="2.9" velocity="2" effort="300"/></joint>'
            f'<link name="link{k}"><inertial><origin xyz="{center}"/><mass value="{m}"/>'
            f'<inertia ixx="{along[0]}" ixy="0" ixz="0" iyy="{along[1]}" iyz="0" '
            f'izz="{along[2]}"/></inertial><collision>'
            f'<origin xyz="{center}" rpy="{turn or "0 0 0"}"/>'
            f'<geometry><cylinder radius="{RADIUS}" length="{length}"/></geometry></collision>'
            '</link>')
    parts.append('<joint name="tool_joint" type="fixed"><parent link="link7"/><child link="tool"/>'
                 '<origin xyz="0 0 0.13"/></joint><link name="tool"/></robot>')
    return ''.join(parts)


def _offset(k: int) -> str:
    """Of joint k in the frame of the link before it."""
    z = CHAIN[0][0] - 0.14 if k == 1 else 0.0
    if k in (2, 4, 6):
        return '0 0 0.14' if k == 2 else '0 0 0.2'
    if k == 3:
        return '0 -0.2 0'
    if k == 5:
        return '0 0.2 0'
    if k == 7:
        return '0 -0.1 0'
    return f'0 0 {z}'


def _body(k: int) -> tuple[str, str]:
    """Centre of the cylinder in the link frame, and its turn: along -y or y after a bend."""
    half = 0.5 * LENGTHS[k - 1]
    if k in (2, 6):
        return f'0 {-half + 0.06} 0', '1.5708 0 0'
    if k == 4:
        return f'0 {half - 0.06} 0', '1.5708 0 0'
    return f'0 0 {half - 0.02}', ''


def make_model() -> ArmModel:
    """The arm."""
    return ArmModel(urdf(), name='seven')
