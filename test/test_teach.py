"""`./armsense teach` with a simulated arm and a scripted hand: lead, record, clean, play back."""

from __future__ import annotations

from arm_system import arm_system
from motion_tape import MotionTape
import numpy as np
import yaml

from armsense.model import Arm
from armsense.trajectory import check_motion, Limits
from armsense.trajectory.lesson import Lesson
from armsense_control.teach_command import main
from armsense_msgs.msg import DriverMode

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
FIRST, LAST = 6.0, 8.0      # [s] virtual, of the hand's pushes
PUSHES = ((FIRST, [0.0, 2.0, 0.0]), (7.0, [0.0, 0.0, 0.7]), (LAST, [0.0, -1.5, 0.0]))   # [N]


def test_what_a_hand_did_is_played_back(tmp_path, capsys):
    scenario, file = tmp_path / 'hand.yaml', tmp_path / 'lesson.yaml'
    scenario.write_text(yaml.safe_dump({'events': [
        {'time': time, 'push': {'link': 'link4', 'point': [0.095, 0.0, 0.0], 'force': force,
                                'duration': 0.4}} for time, force in PUSHES]}))
    with arm_system(lockstep='true', observer='false',
                    scenario=str(scenario)) as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        assert client.time < FIRST - 2.0, 'the arm was enabled too late for this scenario'
        with MotionTape(client) as led:
            seconds = LAST + 1.5 - client.time
            assert main(['record', '--arm', 'laas4', '--out', str(file), '--seconds',
                         f'{seconds:.3f}']) == 0
        assert 'waypoints' in capsys.readouterr().out
        lesson = Lesson.read(file)
        assert np.ptp(lesson.positions, axis=0).max() > 0.1         # the hand did move it
        assert not check_motion(lesson.trajectory, Limits.of(MODEL), MODEL)
        assert furthest(lesson, led.positions()) < 0.03             # the hand's path is kept
        client.wait(lambda: np.abs(client.state.velocity).max() < 0.02, what='rest')
        assert np.abs(np.array(client.state.position) - lesson.positions[-1]).max() < 0.1
        with MotionTape(client) as played:
            assert main(['play', str(file)]) == 0
        assert furthest(lesson, played.positions()) < 0.02          # and driven again
        assert np.abs(np.array(client.state.position) - lesson.positions[-1]).max() < 0.02
    assert supervisor.exit_code == 0, supervisor.last_words


def furthest(lesson: Lesson, driven: np.ndarray) -> float:
    """Largest distance of a waypoint from where the arm has been [rad]; driven: (N, n)."""
    return max(float(np.abs(driven - waypoint).max(axis=1).min())
               for waypoint in lesson.positions)
