import numpy as np
import pytest

from armsense import schema
from armsense.detector import Detector, DetectorOptions, fixed_thresholds, lasting_text, Thresholds
from armsense.detector.detector import read_intent
from armsense.errors import ArmsenseError

DT = 1e-3
STILL = np.zeros(3)
MOVING = np.full(3, 0.5)


def detector(**options):
    defaults = {'count': 2, 'window': 3, 'warm_up': 0.0, 'release_time': 0.01, 'hysteresis': 0.5}
    return Detector(fixed_thresholds([1.0, 1.0, 1.0]), DetectorOptions(**{**defaults, **options}))


def feed(unit, residuals, dq=MOVING):
    """Detections with the index of their sample."""
    out = []
    for k, r in enumerate(residuals):
        found = unit.step(np.broadcast_to(np.asarray(r, float), 3), dq, DT)
        if found is not None:
            out.append((k, found))
    return out


def joint(k, value):
    return np.eye(3)[k] * value


def test_two_of_three_samples_make_a_collision():
    assert feed(detector(), [0, joint(1, 2.0), 0, 0, joint(1, 2.0), 0, 0]) == []
    (k, found), = feed(detector(), [0, joint(1, -2.0), 0, joint(1, -3.0), 0])
    assert k == 3
    assert (found.joint, found.direction) == (1, -1)
    assert found.time == pytest.approx(4 * DT)
    assert found.first_exceeded == pytest.approx(2 * DT)
    np.testing.assert_array_equal(found.residual, joint(1, -3.0))
    np.testing.assert_array_equal(found.exceeded, [False, True, False])


def test_samples_of_different_joints_do_not_add_up():
    assert feed(detector(), [joint(0, 2.0), joint(1, 2.0), joint(2, 2.0)]) == []


def test_the_last_joint_above_is_named():
    (_, found), = feed(detector(count=1, window=1), [np.array([3.0, 2.0, 0.5])])
    assert found.joint == 1


def test_the_level_of_release_is_a_share_of_each_threshold():
    levels = DetectorOptions(hysteresis=0.5).release_level(fixed_thresholds([1.0, 4.0]))
    np.testing.assert_array_equal(levels, [0.5, 2.0])


def test_one_contact_is_one_collision_until_released():
    high, middle, low = joint(0, 2.0), joint(0, 0.7), joint(0, 0.2)
    unit = detector()
    # Above the hysteresis level for long: no release, no second collision.
    assert len(feed(unit, [high] * 50 + [middle] * 50 + [high] * 50)) == 1
    assert unit.tripped
    # Short quiet: not released yet.
    assert feed(unit, [low] * 9 + [high] * 5) == []
    # Quiet for the release time: armed again.
    assert feed(unit, [low] * 11) == []
    assert unit.armed
    assert len(feed(unit, [high] * 5)) == 1


def test_warm_up_is_silent_and_ends():
    unit = detector(warm_up=0.02)
    (k, _), = feed(unit, [joint(2, 5.0)] * 40)
    assert k == 19  # the first sample at 0.02 s
    unit.reset()
    assert not unit.armed
    assert feed(unit, [joint(2, 5.0)] * 10) == []


def test_reversal_widens_for_a_short_time():
    unit = detector(reversal_margin=(0.5, 0.5, 0.5), reversal_time=0.005, standstill_speed=0.01)
    forward, backward = np.full(3, 0.3), np.array([-0.3, 0.3, 0.3])
    for _ in range(20):
        unit.step(STILL, forward, DT)
    np.testing.assert_allclose(unit.threshold, 1.0)
    widths = []
    for _ in range(8):
        unit.step(STILL, backward, DT)
        widths.append(unit.threshold.copy())
    np.testing.assert_allclose(np.array(widths)[:, 0], [1.5] * 5 + [1.0] * 3)
    np.testing.assert_allclose(np.array(widths)[:, 1:], 1.0)  # only the joint that turned


def test_standstill_widens_as_long_as_it_lasts():
    unit = detector(standstill_margin=(0.4, 0.0, 0.0), standstill_speed=0.01)
    for _ in range(200):
        unit.step(STILL, np.array([0.005, 0.0, 0.3]), DT)
    np.testing.assert_allclose(unit.threshold, [1.4, 1.0, 1.0])
    assert feed(unit, [joint(0, 1.3)] * 5, dq=STILL) == []
    assert len(feed(unit, [joint(0, 1.5)] * 5, dq=STILL)) == 1


def test_intended_contact_silences_its_joints_for_its_time():
    unit = detector()
    unit.allow_contact(0.05, [False, False, True])
    assert feed(unit, [joint(2, 5.0)] * 30) == []
    assert unit.exceeded[2]  # still reported
    (k, found), = feed(unit, [joint(0, 5.0)] * 3)  # another joint is a collision
    assert found.joint == 0
    lasting = detector()
    lasting.allow_contact(0.05)
    (k, _), = feed(lasting, [joint(2, 5.0)] * 100)  # it outlasts the window
    assert k == pytest.approx(50, abs=2)


def test_an_intended_contact_stays_announced_when_the_model_changes():
    unit = detector()
    unit.allow_contact(0.05)
    feed(unit, [0] * 10)
    unit.reset()                                    # as with every new payload
    assert not unit.armed
    (k, _), = feed(unit, [joint(2, 5.0)] * 100)
    assert k == pytest.approx(40, abs=2)            # what was left of the time


def test_an_intended_contact_also_ends_while_nothing_is_felt():
    unit = detector()
    unit.allow_contact(0.05)
    unit.pass_time(0.06)
    (k, _), = feed(unit, [joint(2, 5.0)] * 10)
    assert k == 1


# -- contacts that last ----------------------------------------------------------------------

OFFSET = joint(1, 0.7)    # beyond the hysteresis, below the threshold: a forgotten payload


def lasting():
    """A joint that was touched once and whose residual stays at 0.7 thresholds."""
    unit = detector(hysteresis=0.6)
    assert feed(unit, [OFFSET] * 20) == []
    assert len(feed(unit, [joint(1, 3.0)] * 50)) == 1
    assert feed(unit, [OFFSET] * 2000) == []
    return unit


@pytest.mark.parametrize('hit', [
    joint(1, 20.0),                                 # rise
    joint(1, -2.0),                                 # change of sign
    OFFSET + joint(0, 2.0), OFFSET - joint(2, 2.0),   # another joint
    OFFSET + joint(1, 1.2)])                        # little more than a threshold
def test_a_lasting_contact_makes_nothing_deaf(hit):
    unit = lasting()
    assert unit.tripped
    assert unit.armed
    (k, found), = feed(unit, [hit] * 100)
    assert k == 1
    which = int(np.abs(hit - OFFSET).argmax())
    assert (found.joint, found.direction) == (which, np.sign(hit[which]))
    np.testing.assert_allclose(found.new, hit - OFFSET, atol=0.02)
    np.testing.assert_allclose(found.known, OFFSET, atol=0.02)


def test_what_falls_or_stays_within_a_threshold_is_no_further_collision():
    unit = detector()
    assert len(feed(unit, [joint(1, 5.0)] * 500)) == 1
    ramp = [joint(1, x) for x in np.linspace(5.0, 3.0, 1000)]
    assert feed(unit, [joint(1, 5.9)] * 500 + ramp + [joint(1, 3.9)] * 500) == []


def test_a_slow_rise_is_reported_threshold_by_threshold():
    unit = detector(shake=0.0)
    found = feed(unit, [joint(1, x) for x in np.linspace(0.0, 6.0, 60_000)])
    assert [d.residual[1] for _, d in found] == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0], abs=0.15)


def test_an_arm_that_is_let_go_shakes_and_reports_nothing():
    push = [joint(1, 20.0) + joint(0, 5.0)] * 500
    swing = [joint(1, -4.0) + joint(0, 3.0) - joint(2, 4.5)] * 10
    assert len(feed(detector(shake=0.2), push + swing)) == 1
    assert len(feed(detector(shake=0.0), push + swing)) == 2
    (_, found), = feed(detector(shake=0.2), push + [joint(1, -6.0)] * 30)[1:]   # the other side
    assert found.direction == -1


def test_all_that_follows_at_once_is_the_same_contact():
    unit = detector(settle_time=0.2)
    hit = [joint(0, 2.0)] * 20 + [joint(0, 9.0) + joint(1, 4.0)] * 100
    assert len(feed(unit, hit)) == 1
    assert unit.lasting.tolist() == [True, True, False]
    assert not unit.armed                           # honest: nothing more would be reported
    assert feed(unit, [joint(0, 9.0) + joint(1, 4.0)] * 300) == []
    assert unit.armed


def test_never_more_than_one_collision_in_the_settle_time_of_a_contact():
    unit = detector(settle_time=0.2, release_time=10.0)
    rng = np.random.default_rng(3)
    found = feed(unit, 50.0 * rng.standard_normal((5000, 3)))
    assert 1 < len(found) <= 25
    assert np.diff([k for k, _ in found]).min() >= 200


def test_joints_are_released_one_by_one():
    unit = detector()
    feed(unit, [joint(0, 2.0) + joint(1, 2.0)] * 300)
    assert unit.lasting.tolist() == [True, True, False]
    feed(unit, [joint(1, 2.0)] * 12)
    assert unit.lasting.tolist() == [False, True, False]
    assert unit.tripped
    (_, found), = feed(unit, [joint(0, 2.0) + joint(1, 2.0)] * 10)    # it is a new contact
    assert found.joint == 0
    np.testing.assert_allclose(found.new, joint(0, 2.0))


def test_how_long_the_oldest_contact_has_lasted():
    unit = detector()
    feed(unit, [0] * 10)
    assert unit.lasts_for == 0.0
    feed(unit, [joint(0, 2.0)] * 1002 + [joint(0, 2.0) + joint(2, 3.0)] * 500)
    assert unit.lasts_for == pytest.approx(1.5)
    feed(unit, [joint(2, 3.0)] * 100)               # the older one has ended
    assert unit.lasts_for == pytest.approx(0.598)
    feed(unit, [0] * 100)
    assert (unit.lasts_for, unit.tripped) == (0.0, False)


def test_a_long_contact_in_words():
    names = ('joint1', 'joint2', 'joint3')
    assert lasting_text(names, [False, True, True], 3.21) == (
        'contact lasts on joint2, joint3, for 3.2 s now')
    assert lasting_text(names, [False] * 3, 0.0) == ''


def test_an_intent_is_read_from_words():
    names = ('joint1', 'joint2', 'joint3')
    seconds, mask = read_intent('0.5 joint3 joint1', names)
    assert (seconds, mask.tolist()) == (0.5, [True, False, True])
    assert read_intent('2', names)[1].all()
    for text, match in (('soon', 'intended contact'), ('', 'intended contact'),
                        ('-1', 'intended contact'), ('nan', 'intended contact'),
                        ('1 elbow', 'elbow')):
        with pytest.raises(ArmsenseError, match=match):
            read_intent(text, names)


def test_thresholds_follow_speed_and_acceleration():
    thresholds = Thresholds(kind='motion', constant=(0.5, 0.5), velocity=(1.0, 0.0),
                            acceleration=(0.0, 0.1))
    unit = Detector(thresholds, DetectorOptions(count=1, window=1, warm_up=0.0))
    residual, dq, ddq = np.array([1.2, -1.2]), np.array([-1.0, 9.0]), np.array([9.0, -10.0])
    assert unit.step(residual, dq, DT, ddq) is None
    np.testing.assert_allclose(unit.threshold, [1.5, 1.5])
    assert unit.step(residual, 0.5 * dq, DT, ddq).joint == 0
    with pytest.raises(ArmsenseError, match='ddq'):
        unit.step(residual, dq, DT)


def test_nan_is_passed_over():
    unit = detector()
    unit.step(joint(1, 2.0), MOVING, DT)
    assert unit.step(np.full(3, np.nan), MOVING, DT) is None
    assert unit.step(joint(1, 2.0), np.full(3, np.nan), DT) is None
    assert unit.step(joint(1, 2.0), MOVING, DT).joint == 1


def test_same_input_gives_the_same_events():
    residuals = np.random.default_rng(0).normal(0.0, 0.7, (3000, 3))

    def events(unit):
        return [(k, d.joint, d.time) for k, d in feed(unit, residuals)]
    unit = detector(release_time=0.001)
    first = events(unit)
    assert len(first) > 10
    feed(unit, residuals[:777])
    unit.reset()
    assert events(unit) == first


def test_options_are_checked_and_survive_the_file():
    options = DetectorOptions(reversal_margin=(0.1, 0.2, 0.3), count=3, window=4)
    assert schema.load(DetectorOptions, schema.dump(options), 'detector.yaml') == options
    with pytest.raises(ArmsenseError, match='count'):
        DetectorOptions(count=3, window=2)
    with pytest.raises(ArmsenseError, match='reversal_margin'):
        detector(reversal_margin=(0.1,))
    with pytest.raises(ArmsenseError, match='joints'):
        detector().allow_contact(1.0, [True])


def test_released_exactly_after_the_release_time():
    unit = detector(count=1, window=1, release_time=0.5)
    unit.step(joint(0, 2.0), MOVING, 0.25)
    unit.step(joint(0, 0.5), MOVING, 0.25)      # at the level of the hysteresis: quiet
    assert unit.tripped
    unit.step(joint(0, 0.5), MOVING, 0.25)
    assert not unit.tripped


def test_armed_exactly_after_the_warm_up():
    unit = detector(count=1, window=1, warm_up=0.5)
    assert unit.step(joint(0, 2.0), MOVING, 0.25) is None
    assert not unit.armed
    assert unit.step(joint(0, 2.0), MOVING, 0.25) is not None


def test_a_contact_has_ended_below_a_share_of_its_threshold():
    unit = Detector(fixed_thresholds([4.0, 4.0, 4.0]), DetectorOptions(
        count=1, window=1, warm_up=0.0, release_time=0.25, hysteresis=0.5))
    unit.step(joint(1, 5.0), MOVING, 0.25)
    unit.step(joint(1, 2.5), MOVING, 0.25)
    assert unit.tripped
    unit.step(joint(1, -1.5), MOVING, 0.25)
    assert not unit.tripped


def test_standstill_is_neither_direction():
    unit = detector(count=1, window=1, standstill_margin=(1.0, 1.0, 1.0), standstill_speed=0.1,
                    reversal_time=0.0)
    unit.step(STILL, np.array([0.5, -0.5, 0.05]), DT)
    np.testing.assert_array_equal(unit.threshold, [1.0, 1.0, 2.0])


def test_the_first_sample_counts_from_the_start():
    (_, found), = feed(detector(count=1, window=3), [joint(1, 2.0)])
    assert found.first_exceeded == pytest.approx(DT)


def test_defaults():
    options = DetectorOptions()
    assert (options.count, options.window) == (2, 3)
    assert (options.hysteresis, options.release_time, options.warm_up) == (0.6, 0.1, 0.1)
    assert (options.settle_time, options.fall_time, options.shake) == (0.2, 0.2, 0.2)
    assert (options.standstill_speed, options.reversal_time) == (0.02, 0.05)
