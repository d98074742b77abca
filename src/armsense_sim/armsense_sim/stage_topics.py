"""What people put around a simulated arm while it runs: services in, what stands there out."""

from __future__ import annotations

from collections.abc import Mapping

from geometry_msgs.msg import Point
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from armsense.boards.emulator.faults import check_fault, Injection, UnknownFault
from armsense.boards.emulator.rack import BoardRack
from armsense.errors import ArmsenseError
from armsense.sim.scenario import BoardFault, Event, Payload, Place, Stage
from armsense.sim.surroundings import COLOURS, Obstacle
from armsense_msgs.srv import InjectFault, PlaceObstacle, SetPayload
from armsense_node.loop import latched_qos

NEXT_STEP = 'with the next step'


class StageServices:
    """`~/place_obstacle`, `~/set_payload`, `~/inject_fault`; they act between two steps."""

    def __init__(self, node: Node, stage: Stage, rack: BoardRack) -> None:
        self._logger = node.get_logger()
        self._stage, self._rack = stage, rack
        self._pending: list[Event] = []
        node.create_service(PlaceObstacle, '~/place_obstacle', self._place_obstacle)
        node.create_service(SetPayload, '~/set_payload', self._set_payload)
        node.create_service(InjectFault, '~/inject_fault', self._inject_fault)

    def act(self) -> None:
        """Do what was asked for; only for the loop's thread."""
        while self._pending:
            try:
                self._stage.act(self._pending.pop(0))
            except (ArmsenseError, ValueError) as error:
                self._logger.error(str(error))

    def _place_obstacle(self, request: PlaceObstacle.Request,
                        response: PlaceObstacle.Response) -> PlaceObstacle.Response:
        if not request.present:
            self._pending.append(Event(time=0.0, remove='obstacle'))
        else:
            p = request.position
            self._pending.append(Event(time=0.0, place=Place(
                position=(p.x, p.y, p.z), radius=request.radius or 0.05,
                stiffness=request.stiffness or None)))
        response.success, response.message = True, NEXT_STEP
        return response

    def _set_payload(self, request: SetPayload.Request,
                     response: SetPayload.Response) -> SetPayload.Response:
        if not 0.0 <= request.mass <= 100.0:
            response.message = f'payload of {request.mass:g} kg: between 0 and 100 kg'
            return response
        center = request.center
        self._pending.append(Event(time=0.0, payload=Payload(
            mass=request.mass, center=(center.x, center.y, center.z))))
        response.success, response.message = True, f'{NEXT_STEP}; no node of the arm is told'
        return response

    def _inject_fault(self, request: InjectFault.Request,
                      response: InjectFault.Response) -> InjectFault.Response:
        try:
            check_fault(Injection(request.fault, request.board),
                        [board.bus for board in self._rack.boards])
        except UnknownFault as error:
            response.message = str(error)
            return response
        self._pending.append(Event(time=0.0, fault=BoardFault(
            name=request.fault, board=request.board, duration=request.duration or 1e9)))
        response.success, response.message = True, NEXT_STEP
        return response


class ObstacleTopic:
    """`~/obstacles`: what stands around the arm, as RViz and the page draw it."""

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(MarkerArray, '~/obstacles', latched_qos())
        self._told: list[Obstacle] = []

    def tell(self, obstacles: Mapping[str, Obstacle]) -> None:
        """Publish them, if anything has changed."""
        now = list(obstacles.values())
        if list(map(id, now)) == list(map(id, self._told)):    # one that moves is a new one
            return
        self._told = now
        self._publisher.publish(obstacle_markers(obstacles))


def obstacle_markers(obstacles: Mapping[str, Obstacle]) -> MarkerArray:
    """All of them; what was there before goes."""
    found = [Marker(action=Marker.DELETEALL)]
    found += [_marker(number, obstacle) for number, obstacle in enumerate(obstacles.values())]
    for marker in found:
        marker.header.frame_id = 'base_link'
    return MarkerArray(markers=found)


def _marker(number: int, obstacle: Obstacle) -> Marker:
    marker = Marker(ns=obstacle.name, id=number)
    x, y, z = obstacle.position.tolist()
    marker.pose.position = Point(x=x, y=y, z=z)
    if obstacle.box is None:
        marker.type = Marker.SPHERE
        sides = 3 * (2.0 * (obstacle.radius or 0.0),)
    else:
        marker.type, sides = Marker.CUBE, obstacle.box
    marker.scale.x, marker.scale.y, marker.scale.z = (float(side) for side in sides)
    color = marker.color
    color.r, color.g, color.b, color.a = COLOURS['obstacle' if obstacle.mass is None else 'hand']
    return marker
