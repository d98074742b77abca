"""The arm in 3-D: links coloured by their residual, contact, force, load cells."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
import trimesh
import viser

from armsense.errors import ArmsenseError
from armsense.geometry.urdf_shapes import COLLISION, link_name, read_shapes, VISUAL
from armsense.model import Arm
from armsense.types import Array
from armsense_monitor.arm_history import Applied, ArmHistory, Contact, Thing

GREY, WARM, HOT = (217, 222, 230), (255, 212, 59), (224, 49, 49)
SIDES = 32              # of a cylinder
WARM_FROM = 0.7         # share of the threshold; hot is beyond it
ARROW = 0.012           # [m/N]
SHORTEST, LONGEST = 0.06, 0.5        # [m] of the arrow
KNUCKLE, KNUCKLE_RADIUS = (56, 61, 69), 0.035     # times the reach
APPLIED = (28, 126, 214)
CELL_HEIGHT = 0.25      # [m] of the bar of a cell at its capacity
CELL_COLOR = (51, 154, 240)
CAMERA, TARGET = np.array([0.85, -0.95, 0.75]), np.array([0.15, 0.0, 0.25])   # times the reach
UPRIGHT = 2.2           # times as far on a phone, whose lower half is covered
PHONE_ASPECT = 0.55     # width over height of the view below which it must be a phone


Dragged = Callable[..., Any]   # an event of a page, and what is dragged


class LinkMesh(NamedTuple):
    """One shape in the frame of the joint that moves it."""

    name: str                          # of the shape
    link: str
    joint: int                         # that moves it; -1: fixed to the base
    vertices: NDArray[np.float64]      # [m] (V, 3)
    faces: NDArray[np.int64]           # (F, 3)
    color: tuple[int, int, int]        # 0..255


def link_meshes(model: Arm) -> list[LinkMesh]:
    """Visual shapes; collision shapes where these cannot be read, such as missing mesh files."""
    for kind in (VISUAL, COLLISION):
        try:
            _, shapes = read_shapes(model, kind, missing_ok=True)
        except ArmsenseError:
            continue
        found = [_link_mesh(shape) for shape in shapes.geometryObjects]
        if any(found):
            return [mesh for mesh in found if mesh is not None]
    return []


def _link_mesh(shape: Any) -> LinkMesh | None:
    mesh = _triangles(shape.geometry)
    if mesh is None:
        return None
    mesh.apply_transform(shape.placement.homogeneous)
    color = np.round(255 * np.array(shape.meshColor)[:3]).astype(int)
    red, green, blue = color.tolist() if color.any() else GREY
    return LinkMesh(shape.name, link_name(shape), int(shape.parentJoint) - 1,
                    np.array(mesh.vertices), np.array(mesh.faces), (red, green, blue))


def _triangles(geometry: Any) -> trimesh.Trimesh | None:
    kind = type(geometry).__name__
    if kind == 'Cylinder':
        return trimesh.creation.cylinder(geometry.radius, 2.0 * geometry.halfLength,
                                         sections=SIDES)
    if kind == 'Capsule':
        return trimesh.creation.capsule(2.0 * geometry.halfLength, geometry.radius)
    if kind == 'Box':
        return trimesh.creation.box(2.0 * np.array(geometry.halfSide))
    if kind == 'Sphere':
        return trimesh.creation.icosphere(radius=geometry.radius)
    if hasattr(geometry, 'vertices') and hasattr(geometry, 'tri_indices'):
        faces = [[t[0], t[1], t[2]] for t in map(geometry.tri_indices, range(geometry.num_tris))]
        return trimesh.Trimesh(geometry.vertices(), faces)
    return None


def knuckles(model: Arm, radius: float) -> list[LinkMesh]:
    """A short cylinder about the axis of each joint, so that links do not float apart."""
    q = np.zeros(model.n)
    found = []
    for k, (name, pose) in enumerate(zip(model.joint_names, model.joint_poses(q), strict=True)):
        axis = pose[:3, :3].T @ model.jacobian(q)[3:, k]
        length = np.linalg.norm(axis)
        if length < 0.5:                 # a joint that slides
            continue
        mesh = trimesh.creation.cylinder(radius, sections=SIDES, segment=np.array(
            [-1.1 * radius * axis / length, 1.1 * radius * axis / length]))
        found.append(LinkMesh(f'{name}_knuckle', '', k, np.array(mesh.vertices),
                              np.array(mesh.faces), KNUCKLE))
    return found


class _Link:
    """One shape in three colours, of which one is seen.

    A browser makes a new program for its graphics card for every change of a colour.
    """

    def __init__(self, scene: viser.SceneApi, model: Arm, mesh: LinkMesh) -> None:
        parent = '/arm' if mesh.joint < 0 else f'/arm/{model.joint_names[mesh.joint]}'
        self._joint, self.mesh = mesh.joint, mesh
        colors = (mesh.color, WARM, HOT) if mesh.joint >= 0 and mesh.link else (mesh.color,)
        self._coats = [scene.add_mesh_simple(
            f'{parent}/{mesh.name}_{level}', mesh.vertices, mesh.faces, color=color,
            cast_shadow=False, visible=level == 0) for level, color in enumerate(colors)]

    def on_drag(self, dragged: Dragged) -> None:
        """Call `dragged(event, mesh)` when a page drags it."""
        for coat in self._coats:
            coat.on_drag(partial(dragged, mesh=self.mesh))

    def show(self, ratio: Array) -> None:
        """Choose the colour for residuals over thresholds, (n,)."""
        if len(self._coats) == 1:
            return
        level = 2 if ratio[self._joint] > 1.0 else 1 if ratio[self._joint] > WARM_FROM else 0
        for k, coat in enumerate(self._coats):
            coat.visible = k == level


class SceneView:
    """Scene nodes of one arm."""

    def __init__(self, server: viser.ViserServer, model: Arm) -> None:
        self._scene = server.scene
        self._model = model
        config = model.config
        self._size = _reach(model)
        self._position: Array | None = None       # [rad] that is shown
        self._joints = [self._scene.add_frame(f'/arm/{name}', show_axes=False)
                        for name in model.joint_names]
        self._links = [_Link(self._scene, model, mesh) for mesh in (
            *link_meshes(model), *knuckles(model, KNUCKLE_RADIUS * self._size))]
        self._place_links(np.array(config.home or [0.0] * model.n))
        self._add_contact()
        self._add_applied()
        self._things: list[Thing] = []
        self._thing_nodes: list[viser.SceneNodeHandle] = []
        self._moved: Dragged | None = None
        self._cells = config.load_cells
        self._bars: list[viser.BoxHandle] = []
        self._add_surroundings(server)

    def update(self, history: ArmHistory) -> None:
        """Draw the newest state."""
        position = history.position
        if position is not None and not _same(position, self._position):
            self._position = position
            self._place_links(position)
        for link in self._links:
            link.show(history.ratio)
        self._show_contact(history.present_contact())
        self._show_applied(history.applied, history.time)
        self._show_things(history.things)
        self._show_cells(history)

    def on_drag(self, link: Dragged, thing: Dragged) -> None:
        """Let pages drag links that move, and what stands around the arm."""
        for shape in self._links:
            if shape.mesh.joint >= 0 and shape.mesh.link:
                shape.on_drag(link)
        self._moved = thing

    def look_from(self, client: viser.ClientHandle) -> None:
        """Put the camera of a new page where the whole arm is seen."""
        placed = False

        def place(camera: viser.CameraHandle) -> None:
            nonlocal placed
            # A phone may tell its shape a little later.
            if placed or camera.aspect >= PHONE_ASPECT:
                return
            placed = True
            target = TARGET - [0.0, 0.0, 0.6]
            camera.position = self._size * (target + UPRIGHT * (CAMERA - TARGET))
            camera.look_at = self._size * target
        client.camera.on_update(place)
        place(client.camera)

    def _place_links(self, position: Array) -> None:
        for frame, pose in zip(self._joints, self._model.joint_poses(position), strict=True):
            frame.wxyz = trimesh.transformations.quaternion_from_matrix(pose)
            frame.position = pose[:3, 3]

    # -- contact -----------------------------------------------------------------------------

    def _add_contact(self) -> None:
        size = self._size
        self._point = self._scene.add_icosphere('/contact/point', radius=0.02 * size,
                                                color=(224, 49, 49), visible=False)
        self._arrow = self._scene.add_arrows(
            '/contact/force', np.zeros((1, 2, 3)), (224, 49, 49), shaft_radius=0.008 * size,
            head_radius=0.022 * size, head_length=0.05 * size, visible=False)
        self._label = self._scene.add_label('/contact/label', '', visible=False)
        self._contact: Contact | None = None

    def _show_contact(self, contact: Contact | None) -> None:
        if contact is self._contact:
            return
        self._contact = contact
        point = None if contact is None else contact.point
        force = None if contact is None else contact.force
        self._point.visible = point is not None
        self._arrow.visible = self._label.visible = point is not None and force is not None
        if point is None:
            return
        self._point.position = point
        if force is not None:
            strength = float(np.linalg.norm(force))
            length = float(np.clip(ARROW * strength, SHORTEST, LONGEST)) * self._size
            tail = point - length * force / max(strength, 1e-9)
            self._arrow.points = np.array([[tail, point]], np.float32)
            self._label.position = tail
            self._label.text = f'felt {strength:.1f} N'

    # -- what a simulation really does ---------------------------------------------------------

    def _add_applied(self) -> None:
        size = self._size
        self._true_arrow = self._scene.add_arrows(
            '/applied/force', np.zeros((1, 2, 3)), APPLIED, shaft_radius=0.006 * size,
            head_radius=0.018 * size, head_length=0.045 * size, visible=False)
        self._true_label = self._scene.add_label('/applied/label', '', visible=False)

    def _show_applied(self, applied: Applied | None, now: float | None) -> None:
        strength = 0.0
        if applied is not None and applied.link and now is not None and now - applied.time < 0.2:
            strength = float(np.linalg.norm(applied.force))
        shown = strength > 0.05
        self._true_arrow.visible = self._true_label.visible = shown
        if shown and applied is not None:
            length = float(np.clip(ARROW * strength, SHORTEST, LONGEST)) * self._size
            head = applied.point + length * applied.force / strength
            self._true_arrow.points = np.array([[applied.point, head]], np.float32)
            self._true_label.position = head
            self._true_label.text = f'applied {strength:.1f} N'

    def _show_things(self, things: list[Thing]) -> None:
        if things is self._things:
            return
        self._things = things
        for node in self._thing_nodes:
            node.remove()
        self._thing_nodes = [self._thing_node(thing) for thing in things]

    def _thing_node(self, thing: Thing) -> viser.SceneNodeHandle:
        name, place = f'/things/{thing.name}', tuple(thing.position)
        node: Any
        if thing.round:
            node = self._scene.add_icosphere(name, radius=0.5 * thing.sides[0], position=place,
                                             color=thing.color, cast_shadow=False)
        else:
            node = self._scene.add_box(name, dimensions=tuple(thing.sides), position=place,
                                       color=thing.color, cast_shadow=False)
        if self._moved is not None:
            node.on_drag(partial(self._moved, thing=thing))
        return node

    # -- cells and floor ---------------------------------------------------------------------

    def _show_cells(self, history: ArmHistory) -> None:
        if self._cells is None or self._cells.kind != 'vertical':
            return
        if not self._bars and len(history.cells) == len(self._cells.positions):
            self._bars = [self._scene.add_box(f'/cells/{k + 1}', color=CELL_COLOR, opacity=0.8)
                          for k in range(len(history.cells))]
        side = 0.03 * self._size
        for bar, (x, y), force in zip(self._bars, self._cells.positions, history.cells,
                                      strict=False):
            share = min(abs(float(force)) / self._cells.capacity, 1.0)
            height = max(round(share * CELL_HEIGHT * self._size, 3), 0.002)
            bar.dimensions = (side, side, height)
            bar.position = (x, y, self._cells.height + 0.5 * height)

    def _add_surroundings(self, server: viser.ViserServer) -> None:
        size = self._size
        self._scene.set_up_direction('+z')
        # Two plain lights: reflections and shadows would be too much for a phone.
        self._scene.configure_environment_map(hdri=None)
        self._scene.configure_default_lights(enabled=False)
        self._scene.add_light_ambient('/light/all', intensity=1.6)
        self._scene.add_light_directional('/light/sun', intensity=2.2, position=(1.0, -1.5, 2.5))
        gravity = self._model.config.gravity
        down = -1.0 if gravity[2] <= 0.0 else 1.0
        floor = down * size          # as far as an arm without motors hangs down
        self._scene.add_grid('/floor', width=3.0 * size, height=3.0 * size, cell_size=0.1 * size,
                             section_size=0.5 * size, position=(0.0, 0.0, floor),
                             cell_color=(222, 226, 230), section_color=(173, 181, 189))
        self._scene.add_cylinder('/pedestal', 0.06 * size, 0.96 * size, color=(115, 122, 133),
                                 position=(0.0, 0.0, 0.52 * floor), cast_shadow=False)
        server.initial_camera.position = tuple(size * CAMERA)
        server.initial_camera.look_at = tuple(size * TARGET)


def _same(a: Array, b: Array | None) -> bool:
    """Nothing that an eye could see."""
    return b is not None and bool(np.abs(a - b).max() < 1e-4)


def _reach(model: Arm) -> float:
    """About how far the arm reaches [m]: the sum of its links."""
    poses = model.joint_poses(np.zeros(model.n))
    tool = model.frame_pose(np.zeros(model.n))
    places = np.vstack([poses[:, :3, 3], tool[:3, 3]])
    return max(float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
                     + np.linalg.norm(places[0])), 0.1)
