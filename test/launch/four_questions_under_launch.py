"""The four questions under launch_testing, where ROS 2's own launch is installed.

    launch_test test/launch/four_questions_under_launch.py
"""

from pathlib import Path
import sys
import tempfile
import unittest

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
import launch_testing
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes

from launch import LaunchDescription

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'test'))

from arm_system import SystemClient  # noqa: E402
from four_questions import (  # noqa: E402
    a_push_stops_the_arm,
    ARGUMENTS,
    nodes_are_up,
    topics_flow,
    write_scenario,
)

FOLDER = tempfile.TemporaryDirectory()


def generate_test_description():
    arguments = {**ARGUMENTS, 'scenario': write_scenario(Path(FOLDER.name))}
    arm = IncludeLaunchDescription(
        AnyLaunchDescriptionSource(str(ROOT / 'launch' / 'arm.launch.xml')),
        launch_arguments=arguments.items())
    return LaunchDescription([arm, ReadyToTest()])


class TestRunningArm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = SystemClient()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def test_1_nodes_are_up(self):
        nodes_are_up(self.client)

    def test_2_topics_flow(self):
        topics_flow(self.client)

    def test_3_a_push_stops_the_arm(self):
        a_push_stops_the_arm(self.client)


@launch_testing.post_shutdown_test()
class TestCleanExit(unittest.TestCase):
    def test_4_exit_codes(self, proc_info):
        assertExitCodes(proc_info, allowable_exit_codes=[0, -2])
