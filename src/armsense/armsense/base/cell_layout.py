"""Load cells and the part of the base wrench that they feel (thesis 003, eqs. 3.1-3.2, 4.1-4.2).

A cell that is compressed by f pushes the arm with f along its direction d, at its place p. The arm
then exerts on its support

    W = -sum_j [d_j; p_j x d_j] f_j

Cells that all stand upright feel Fz, Mx and My only. What reaches the floor sideways (bolts,
friction) acts at their height h, so their moments are those about the point (0, 0, h):

    c = S W,    S = [Fz; Mx + h Fy; My - h Fx]

With more cells than felt axes the load is shared as the cells' stiffnesses say. All cells together
give c by statics alone; when one has failed, the sharing tells what it carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm_config import LoadCellsConfig
from armsense.types import Array, Flags

AXES = ('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')
UPRIGHT = (2, 3, 4)
LEAST_SPREAD = 1e-3   # smallest over largest singular value: below it the cells stand in a line


@dataclass(frozen=True)
class CellLayout:
    """m cells that feel k axes of the base wrench; c = selection @ W = collect @ f."""

    axes: tuple[int, ...]   # felt components of [Fx Fy Fz Mx My Mz], (k,)
    selection: Array        # S, (k, 6)
    collect: Array          # felt wrench per cell force, (k, m)
    spread: Array           # cell force per felt wrench, (m, k)

    @classmethod
    def of_config(cls, config: LoadCellsConfig | None) -> CellLayout:
        """The layout in an arm's yaml."""
        if config is None:
            raise ArmsenseError("the arm has no load cells; its yaml needs 'load_cells'")
        if config.kind == 'six_axis':
            x, y = config.positions[0] if config.positions else (0.0, 0.0)
            return cls.six_axis((x, y, config.height))
        return cls.upright(config.positions, config.height)

    @classmethod
    def upright(cls, positions: Sequence[tuple[float, float]] | Array, height: float = 0.0,
                stiffness: ArrayLike | None = None) -> CellLayout:
        """Cells that feel vertical forces.

        At least three positions x, y and their height in the base frame [m], not in a line;
        relative stiffness of each cell, (m,), None: all alike.
        """
        xy = np.asarray(positions, float).reshape(-1, 2)
        if len(xy) < 3:
            raise BadValue('number of load cells', len(xy), 'at least 3')
        x, y = xy.T
        collect = -np.stack([np.ones(len(xy)), y, -x])                     # (3, m)
        singular = np.linalg.svd(collect, compute_uv=False)
        size = float(np.abs(xy - xy.mean(axis=0)).max())
        if size <= 0.0 or singular[-1] < LEAST_SPREAD * size:
            raise BadValue('positions of the load cells', xy.tolist(), 'not in a line')
        selection = np.zeros((3, 6))
        selection[[0, 1, 2], UPRIGHT] = 1.0
        selection[1, 1], selection[2, 0] = height, -height
        return cls(UPRIGHT, selection, collect, _spread(collect, stiffness))

    @classmethod
    def six_axis(cls, position: ArrayLike = (0.0, 0.0, 0.0),
                 rotation: ArrayLike | None = None) -> CellLayout:
        """One sensor of all six components of the wrench that the arm exerts on it.

        Its position [m], (3,), and axes, (3, 3), are in the base frame; None: the same axes.
        """
        R = np.eye(3) if rotation is None else np.asarray(rotation, float)
        x, y, z = np.asarray(position, float)
        collect = np.zeros((6, 6))
        collect[:3, :3] = collect[3:, 3:] = R
        collect[3:, :3] = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ R
        return cls(tuple(range(6)), np.eye(6), collect, np.asarray(np.linalg.inv(collect), float))

    @property
    def cells(self) -> int:
        """Number m of cells (of channels, for a six-axis sensor)."""
        return int(self.collect.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the felt axes, such as ('Fz', 'Mx', 'My')."""
        return tuple(AXES[axis] for axis in self.axes)

    @property
    def observed(self) -> Flags:
        """Which of the six components are felt, (6,)."""
        flags = np.zeros(6, bool)
        flags[list(self.axes)] = True
        return flags

    def felt(self, wrench: Array) -> Array:
        """Part c of a base wrench that the cells feel, (6,) -> (k,)."""
        return np.asarray(self.selection @ wrench)

    def wrench(self, force: Array, valid: Flags | None = None, bias: Array | None = None) -> Array:
        """Felt wrench of the compressions [N] of the cells that can be trusted, (m,) -> (k,).

        `bias` are forces that the cells exert against each other because they do not stand in one
        plane [N]; needed only where a cell is missing.

        Raises:
            ArmsenseError: Too few cells are left.
        """
        if valid is None or valid.all():
            return np.asarray(self.collect @ force)
        if not self.can_do_with(valid):
            raise ArmsenseError(f'without load cell {cell_list(~valid)} the others cannot tell '
                                f'{", ".join(self.names)}')
        left = (force if bias is None else force - bias)[valid]
        return np.asarray(np.linalg.pinv(self.spread[valid]) @ left)

    def can_do_with(self, valid: Flags) -> bool:
        """Whether these cells still determine the felt wrench."""
        if valid.all():
            return True
        left = self.spread[valid]
        if len(left) < len(self.axes):
            return False
        singular = np.linalg.svd(left, compute_uv=False)
        whole = np.linalg.svd(self.spread, compute_uv=False)
        return bool(singular[-1] > LEAST_SPREAD * whole[-1])

    def full(self, felt: Array) -> Array:
        """Felt components in a vector of six, zeros elsewhere, (k,) -> (6,)."""
        out = np.zeros(6)
        out[list(self.axes)] = felt
        return out

    def covariance(self, noise: float) -> Array:
        """Of the felt wrench when every cell has this standard deviation [N], (k, k)."""
        return np.asarray(noise**2 * self.collect @ self.collect.T)


def cell_list(flags: Flags) -> str:
    """Numbers of the cells with a flag, from 1."""
    return ', '.join(str(k + 1) for k in np.flatnonzero(flags))


def _spread(collect: Array, stiffness: ArrayLike | None) -> Array:
    """Sharing of a load among springs under a rigid base, (m, k)."""
    m = collect.shape[1]
    k = np.ones(m) if stiffness is None else np.asarray(stiffness, float)
    if k.shape != (m,) or not (np.isfinite(k) & (k > 0.0)).all():
        raise BadValue('stiffness of the load cells', k.tolist(), f'{m} positive numbers')
    weighted = collect * k
    return np.asarray(weighted.T @ np.linalg.inv(weighted @ collect.T))
