"""Picture of what RViz shows of a pushed arm, for the documentation.

    MUJOCO_GL=egl python docs/images/rviz_image.py docs/images/rviz_view.png

Drawn by MuJoCo, not by RViz, from what RViz gets: the arm's description, the marker messages of
the node `markers`, and camera, background and grid of config/armsense.rviz.
"""

from __future__ import annotations

from collections.abc import Sequence
import sys
from typing import Any
import xml.etree.ElementTree as ElementTree

from builtin_interfaces.msg import Time
import mujoco
import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw, ImageFont
import pinocchio as pin
from visualization_msgs.msg import Marker
import yaml

from armsense import share
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.types import Array
from armsense.watch.collision_monitor import CollisionMonitor
from armsense_monitor.arm_history import ArmHistory, Contact, Event
from armsense_monitor.markers_node import markers

SIZE = (900, 640)                    # [px]
SHARP = 2                            # drawn so much larger, then reduced
PUSH = np.array([0.0, 12.0, 0.0])   # [N] sideways
SETTLE = 0.06                        # [s] from the detection to the contact, as in the observer
FIELD = 45.0                         # [deg] RViz's, from the top of the picture to its bottom
GEOM = mujoco.mjtGeom
SCENE = """<mujoco><visual>
  <global offwidth="{width}" offheight="{height}" fovy="{field}"/><map znear="0.005"/>
  <headlight ambient="0.45 0.45 0.45" diffuse="0.55 0.55 0.55"/></visual>
  <asset><texture type="skybox" builtin="flat" rgb1="{color}" rgb2="{color}" width="8" height="8"/>
  </asset></mujoco>"""


class Scene:
    """What is drawn with the camera of an RViz file."""

    def __init__(self, manager: dict[str, Any]) -> None:
        """`manager` is the part `Visualization Manager` of the file."""
        width, height = (SHARP * pixels for pixels in SIZE)
        color = ' '.join(map(str, _color(manager['Global Options']['Background Color'])))
        model = mujoco.MjModel.from_xml_string(SCENE.format(
            width=width, height=height, field=FIELD, color=color))
        orbit = manager['Views']['Current']
        # RViz gives where the camera stands, MuJoCo where it looks to.
        yaw, pitch = orbit['Yaw'], orbit['Pitch']
        camera = mujoco.MjvCamera()
        camera.azimuth, camera.elevation = np.degrees(yaw) + 180.0, -np.degrees(pitch)
        camera.distance = orbit['Distance']
        camera.lookat[:] = focus = [orbit['Focal Point'][axis] for axis in 'XYZ']
        back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
        right = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        self._eye = np.array(focus) + orbit['Distance'] * back            # [m]
        self._axes = np.array([right, np.cross(back, right), back])       # (3, 3)
        self._renderer = mujoco.Renderer(model, height, width, max_geom=2000)
        self._renderer.update_scene(mujoco.MjData(model), camera)
        self._texts: list[tuple[str, Array, float, Sequence[float]]] = []

    def add(self, kind: int, size: Sequence[float], place: ArrayLike, turn: ArrayLike,
            color: Sequence[float]) -> Any:
        """Add a body; the place [m] and the turn (3, 3) are those of its centre."""
        scene = self._renderer.scene
        geom = scene.geoms[scene.ngeom]
        mujoco.mjv_initGeom(geom, kind, np.array(size), np.array(place, float),
                            np.array(turn, float).ravel(), np.array(color, np.float32))
        scene.ngeom += 1
        return geom

    def connect(self, kind: int, width: float, tail: ArrayLike, head: ArrayLike,
                color: Sequence[float]) -> None:
        """Add a line or an arrow between points [m]."""
        geom = self.add(kind, [0.0] * 3, [0.0] * 3, np.eye(3), color)
        mujoco.mjv_connector(geom, kind, width, np.array(tail, float), np.array(head, float))
        if kind == GEOM.mjGEOM_ARROW:
            geom.size[2] *= 2.0      # it is drawn half as long as this says

    def write(self, text: str, place: Array, height: float, color: Sequence[float]) -> None:
        """Add a text [m] that faces the camera."""
        self._texts.append((text, place, height, color))

    def picture(self) -> Image.Image:
        """All of it."""
        image = Image.fromarray(self._renderer.render())
        pen = ImageDraw.Draw(image)
        focal = 0.5 * image.height / np.tan(np.radians(FIELD / 2.0))      # [px]
        for text, place, height, color in self._texts:
            x, y, z = self._axes @ (place - self._eye)
            scale = focal / -z                                            # [px/m]
            pen.text((0.5 * image.width + scale * x, 0.5 * image.height - scale * y), text,
                     anchor='mm', font=ImageFont.load_default(scale * height),
                     fill=tuple(round(255 * part) for part in color[:3]))
        return image.resize(SIZE, Image.Resampling.LANCZOS)


def main(path: str) -> None:
    """Push a simulated arm and draw it."""
    manager = yaml.safe_load(share.find('config/armsense.rviz').read_text())[
        'Visualization Manager']
    arm = Arm.load('laas4')
    history = pushed(arm)
    scene = Scene(manager)
    add_grid(scene, manager['Displays'][0])
    assert history.position is not None
    add_arm(scene, arm, history.position)
    for marker in markers(arm, history, Time()).markers:
        add_marker(scene, marker)
    scene.picture().quantize(128).save(path, optimize=True)


def pushed(arm: Arm) -> ArmHistory:
    """What the nodes know of an arm a moment after somebody pushed it."""
    monitor = CollisionMonitor(arm)
    loop = ClosedLoop(arm, monitor=monitor, seed=1)
    loop.run(0.5)
    loop.plant.apply_force('link4', (0.08, 0.0, 0.0), PUSH, duration=1.0)
    event = None
    while event is None or loop.time < event.time + SETTLE:
        assert loop.time < 1.0, 'the push was not felt'
        result = loop.step().result
        assert result is not None
        if event is None and result.detection is not None:
            joint = result.detection.joint
            event = Event(0, loop.time, 'joints', '', arm.joint_names[joint], 0.0, 0.0, 1.0)
    history = ArmHistory(arm.joint_names)
    history.add_position(loop.time, result.q)
    history.add_residual(loop.time, result.filtered.tolist(), result.threshold.tolist(), True)
    history.add_event(event)
    joint = monitor.settled_joint(np.abs(result.filtered), result.threshold, joint)
    found = monitor.contact(result.filtered, result.threshold, result.q, joint)
    assert found is not None
    history.add_contact(Contact(event.time, found.point, found.force))
    return history


def add_grid(scene: Scene, display: dict[str, Any]) -> None:
    """Lines in the plane z = 0."""
    color = (*_color(display['Color']), display['Alpha'])
    reach = 0.5 * display['Cell Size'] * display['Plane Cell Count']
    for at in np.linspace(-reach, reach, display['Plane Cell Count'] + 1):
        for tail, head in (((at, -reach, 0), (at, reach, 0)), ((-reach, at, 0), (reach, at, 0))):
            scene.connect(GEOM.mjGEOM_CAPSULE, 0.0008, tail, head, color)


def add_arm(scene: Scene, arm: Arm, q: Array) -> None:
    """Shapes and colours of the description, cylinders only."""
    robot = ElementTree.fromstring(arm.urdf)
    colors = {material.get('name'): _numbers(material.find('color').get('rgba'))
              for material in robot.findall('material')}
    for link in robot.findall('link'):
        for visual in link.findall('visual'):
            origin, shape = visual.find('origin'), visual.find('geometry/cylinder')
            pose = arm.frame_pose(q, link.get('name')) @ pin.SE3(
                pin.rpy.rpyToMatrix(*_numbers(origin.get('rpy'))),
                np.array(_numbers(origin.get('xyz')))).homogeneous
            radius, length = float(shape.get('radius')), float(shape.get('length'))
            scene.add(GEOM.mjGEOM_CYLINDER, (radius, 0.5 * length, 0.0), pose[:3, 3],
                      pose[:3, :3], colors[visual.find('material').get('name')])


def add_marker(scene: Scene, marker: Marker) -> None:
    """As RViz draws it; a shaft and a head of its own are the arrow's only in RViz."""
    color = (marker.color.r, marker.color.g, marker.color.b, marker.color.a)
    place = _xyz(marker.pose.position)
    if marker.action == Marker.DELETE:
        return
    if marker.type == Marker.SPHERE:
        scene.add(GEOM.mjGEOM_SPHERE, (0.5 * marker.scale.x, 0.0, 0.0), place, np.eye(3), color)
    elif marker.type == Marker.ARROW:
        tail, head = map(_xyz, marker.points)
        scene.connect(GEOM.mjGEOM_ARROW, 0.5 * marker.scale.x, tail, head, color)
    elif marker.type == Marker.TEXT_VIEW_FACING:
        scene.write(marker.text, place, marker.scale.z, color)
    else:
        raise ValueError(f'marker of type {marker.type}: draw it, too')


def _xyz(point: Any) -> Array:
    return np.array([point.x, point.y, point.z])


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def _color(text: str) -> list[float]:
    """RViz's `160; 160; 164` as 0..1."""
    return [int(word) / 255.0 for word in text.split(';')]


if __name__ == '__main__':
    main(*sys.argv[1:])
