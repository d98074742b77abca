"""Motion of the tool: poses, inverse kinematics, paths, targets that move."""

from armsense.task.goal import TaskGoal
from armsense.task.kinematics import DIRECTIONS, TaskKinematics
from armsense.task.pose import Pose
from armsense.task.servo import Servo, TaskTarget

__all__ = ['DIRECTIONS', 'Pose', 'Servo', 'TaskGoal', 'TaskKinematics', 'TaskTarget']
