"""A motion that virtual time has overtaken is sent once more, with more time before it."""

from types import SimpleNamespace

from control_msgs.action import FollowJointTrajectory
import pytest

from armsense_core.errors import ArmsenseError
from armsense_identification.excitation_run import ExcitationRun, LEADS

LATE = FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP
TOLERANCE = FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED


def drive(*codes: int) -> tuple[float, list[float]]:
    """When the motion began, and the leads that were tried, where attempts end like this."""
    run, leads, answers = ExcitationRun.__new__(ExcitationRun), [], list(codes)
    run._client = SimpleNamespace(server_is_ready=lambda: True)
    run._look = lambda: True                   # the arm is there

    def attempt(motion, lead, cancelled):
        leads.append(lead)
        yield None
        return 5.0 + lead, FollowJointTrajectory.Result(error_code=answers.pop(0),
                                                        error_string='so it is')
    run._attempt = attempt
    steps = run.drive(None, lambda: False)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, leads


@pytest.mark.parametrize('late', range(len(LEADS)))
def test_more_time_after_each_one_that_came_too_late(late):
    assert drive(*[LATE] * late, 0) == (5.0 + LEADS[late], list(LEADS[:late + 1]))


@pytest.mark.parametrize('codes', [[LATE] * len(LEADS), [TOLERANCE], [LATE, TOLERANCE]])
def test_what_more_time_does_not_mend_is_told(codes):
    with pytest.raises(ArmsenseError, match='did not follow: so it is'):
        drive(*codes)
