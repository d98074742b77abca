"""`./armsense teach` with a simulated arm and a scripted hand: lead, record, clean, play back."""

from __future__ import annotations

import threading

from arm_system import arm_system, SystemClient
from motion_tape import MotionTape
import numpy as np

from armsense.model import Arm
from armsense.trajectory import check_motion, Limits
from armsense.trajectory.lesson import Lesson
from armsense_control.teach_command import main
from armsense_msgs.msg import DriverMode

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
PUSHES = ((0.0, 2.0, 0.0), (0.0, 0.0, 0.7), (0.0, -1.5, 0.0))   # [N] of the hand, in turn


def lead(client: SystemClient, tape: MotionTape) -> None:
    """Push the arm as soon as no spring holds it any more."""
    client.wait(lambda: not any(tape.commands[max(tape.commands)].kp), what='floating')
    for force in PUSHES:
        client.push(force, seconds=0.4)
        begin = client.time
        client.wait(lambda begin=begin: client.time > begin + 0.5, what='the next push')


def test_what_a_hand_did_is_played_back(tmp_path, capsys):
    file = tmp_path / 'lesson.yaml'
    with arm_system(lockstep='true', observer='false') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        with MotionTape(client) as led:
            hand = threading.Thread(target=lead, args=(client, led))
            hand.start()
            assert main(['record', '--arm', 'laas4', '--out', str(file), '--seconds', '6']) == 0
            hand.join()
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
