"""Pairs of an arm's links that need no collision check: those of an SRDF file.

    python test/self_collisions.py laas4      # or a yaml file; prints the lines of the SRDF

Adjacent: a joint connects them. Always: they touch in every sample. Never: not in any sample, and
a search from the nearest ones does not bring them together either. Samples alone miss some.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from armsense.model import Arm

SAMPLES = 2000
STARTS = 4            # nearest samples from which a search begins
STEPS = 150           # of a search
CLOSE = 0.01          # [m] nearer than this counts as together: shapes are not exact


class Shapes:
    """The links of an arm as its description has them for collisions."""

    def __init__(self, arm: Arm) -> None:
        self.model = pin.buildModelFromXML(arm.urdf)
        self.geometry = pin.buildGeomFromUrdfString(self.model, arm.urdf,
                                                    pin.GeometryType.COLLISION)
        self.geometry.addAllCollisionPairs()
        links = [self.model.frames[shape.parentFrame].name
                 for shape in self.geometry.geometryObjects]
        self.pairs = [(links[pair.first], links[pair.second])
                      for pair in self.geometry.collisionPairs]
        self.low, self.high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        self._data, self._places = self.model.createData(), self.geometry.createData()

    def distances(self, q: np.ndarray) -> np.ndarray:
        """Of all pairs [m], below zero inside each other, (pairs,)."""
        pin.computeDistances(self.model, self._data, self.geometry, self._places, q)
        return np.array([found.min_distance for found in self._places.distanceResults])

    def nearest(self, pair: int, starts: np.ndarray, rng: np.random.Generator) -> float:
        """Smallest distance of a pair [m] that a search from some positions finds."""
        def distance(q: np.ndarray) -> float:
            pin.updateGeometryPlacements(self.model, self._data, self.geometry, self._places, q)
            return pin.computeDistance(self.geometry, self._places, pair).min_distance
        best = np.inf
        for q in starts:
            here = distance(q)
            for reach in np.geomspace(0.5, 0.005, STEPS):       # [rad]
                other = np.clip(q + reach * rng.standard_normal(len(q)), self.low, self.high)
                if (there := distance(other)) < here:
                    q, here = other, there
            best = min(best, here)
        return best


def disabled(arm: Arm, seed: int = 1) -> dict[tuple[str, str], str]:
    """Pairs of links that need no check, and why."""
    rng, shapes = np.random.default_rng(seed), Shapes(arm)
    connected = {(joint.find('parent').get('link'), joint.find('child').get('link'))
                 for joint in ElementTree.fromstring(arm.urdf).findall('joint')}
    samples = rng.uniform(shapes.low, shapes.high, (SAMPLES, arm.n))
    distances = np.array([shapes.distances(q) for q in samples])       # (samples, pairs)
    found = {}
    for k, pair in enumerate(shapes.pairs):
        if pair in connected:
            found[pair] = 'Adjacent'
        elif (distances[:, k] <= 0.0).all():
            found[pair] = 'Always'
        elif distances[:, k].min() > CLOSE and shapes.nearest(
                k, samples[np.argsort(distances[:, k])[:STARTS]], rng) > CLOSE:
            found[pair] = 'Never'
    return found


if __name__ == '__main__':
    for (one, other), reason in disabled(Arm.load(sys.argv[1])).items():
        print(f'  <disable_collisions link1="{one}" link2="{other}" reason="{reason}"/>')
