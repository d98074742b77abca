"""Admittance against its analytic solution, path memory, and the state machine."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.reaction import Admittance, PathMemory, Phase, ReactionMachine, ReactionOptions
from armsense.trajectory import Limits, QuinticSpline
from armsense.types import ArmState, Collision, Reference

LIMITS = Limits.of(Arm.load('laas4'))
HOME = np.array([0.0, 0.6, 0.0, -0.6])
HIT = Collision('joint2', 'link3')
DT = 1e-3
ZERO = np.zeros(4)
PUSH = np.array([0.0, 2.0, 0.0, 0.0])
RELEASE = np.full(4, 0.3)     # [Nm] below which the detector calls a contact ended


def admittance(m=0.0, f=1.0, k=0.0, speed=10.0, distance=10.0, acceleration=1e9):
    one = np.ones(1)
    return Admittance(m * one, f * one, k * one, speed * one, (-distance * one, distance * one),
                      acceleration * one)


def respond(plant, torque, steps, dt):
    out = []
    for _ in range(steps):
        out.append([float(value[0]) for value in plant.step(np.array([torque]), dt)])
    return np.array(out)


def test_a_retreat_keeps_its_acceleration_in_late_cycles():
    """As its places tell: mean velocities, from the middle of a cycle to that of the next."""
    plant = admittance(m=0.1, acceleration=3.0)
    cycles = np.array(5 * [1e-3] + [17e-3, 1e-3, 5e-3, 5e-3, 30e-3, 1e-3, 1e-3])
    place = np.array([plant.step(np.array([5.0]), dt)[0][0] for dt in cycles])
    speed = np.diff(place, prepend=0.0) / cycles
    acceleration = np.diff(speed) / (0.5 * (cycles[1:] + cycles[:-1]))
    assert acceleration.max() <= 3.0 + 1e-9
    assert acceleration.max() == pytest.approx(3.0)


def test_admittance_step_response_is_the_second_order_solution():
    m, f, k, r = 0.5, 1.0, 20.0, 2.0
    dt, steps = 1e-4, 20000
    x = respond(admittance(m, f, k), r, steps, dt)[:, 0]
    t = dt * np.arange(1, steps + 1)
    z, w0 = f / (2 * np.sqrt(m * k)), np.sqrt(k / m)
    w = w0 * np.sqrt(1 - z * z)
    exact = r / k * (1 - np.exp(-z * w0 * t) * (np.cos(w * t) + z * w0 / w * np.sin(w * t)))
    np.testing.assert_allclose(x, exact, atol=1e-3)


def test_admittance_without_stiffness_is_first_order_in_velocity():
    m, f, r = 0.2, 2.0, 1.0
    v = respond(admittance(m, f), r, 5000, 1e-4)[:, 1]
    t = 1e-4 * np.arange(1, 5001)
    np.testing.assert_allclose(v, r / f * (1 - np.exp(-f / m * t)), atol=1e-3)


def test_thesis_000_is_the_special_case_of_drag_alone():
    # dq = K_R r with K_R = 1 / f = 0.03, q = integral (eq. 5.1)
    out = respond(admittance(f=1 / 0.03), 5.0, 1000, DT)
    np.testing.assert_allclose(out[:, 1], 0.15)
    assert out[-1, 0] == pytest.approx(0.15)


@settings(max_examples=80, deadline=None)
@given(m=st.floats(0, 5), f=st.floats(0.01, 100), k=st.floats(0, 1e4), r=st.floats(-1e3, 1e3),
       dt=st.floats(0, 0.05))
def test_admittance_is_bounded_for_any_parameter_and_step(m, f, k, r, dt):
    out = respond(admittance(m, f, k, speed=2.0, distance=0.5), r, 200, dt)
    assert np.isfinite(out).all()
    assert np.abs(out[:, 0]).max() <= 0.5 + 1e-12
    assert np.abs(out[:, 1]).max() <= 2.0 + 1e-12


@settings(max_examples=80, deadline=None)
@given(m=st.floats(0, 5), f=st.floats(0.01, 100), k=st.floats(0, 1e3),
       torques=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6),
       dt=st.floats(5e-4, 0.01))
def test_admittance_keeps_its_acceleration_whatever_pushes(m, f, k, torques, dt):
    plant = admittance(m, f, k, speed=2.0, distance=0.5, acceleration=15.0)
    v = np.concatenate([[0.0], *(respond(plant, r, 60, dt)[:, 1] for r in torques)])
    assert np.abs(np.diff(v)).max() <= 15.0 * dt * (1 + 1e-9)


def test_memory_drives_the_path_back():
    path = QuinticSpline([0.0, 1.0, 2.0], [HOME, HOME + 0.3, HOME + [0.1, 0.5, 0.2, 0.0]])
    memory = PathMemory(1.0)
    for k in range(1700):
        memory.record(path.sample(k * DT), DT)
    back = memory.backwards(0.5, LIMITS)
    np.testing.assert_allclose(back.sample(0.0).q, path.sample(1.7).q, atol=0.03)
    np.testing.assert_allclose(back.sample(back.duration).q, path.sample(0.7).q, atol=0.03)
    ways = np.array([path.sample(t).q for t in np.linspace(0.6, 1.75, 2000)])
    for t in np.linspace(0.0, back.duration, 40):
        assert np.abs(ways - back.sample(t).q).max(axis=1).min() < 2e-3
    np.testing.assert_allclose(back.sample(back.duration).dq, 0.0, atol=1e-9)
    assert PathMemory(1.0).backwards(1.0, LIMITS) is None


def test_memory_forgets_how_long_the_arm_rested():
    rest = np.zeros((4, 4))
    path = QuinticSpline([0.0, 1.013, 6.013, 7.013], [HOME, HOME + 0.3, HOME + 0.3, HOME], rest,
                         rest)
    memory = PathMemory(2.0)
    for k in range(1320):
        memory.record(path.sample(k * 5e-3), 5e-3)
    back = memory.backwards(0.5, LIMITS)
    assert back.duration == pytest.approx(2 * 1.6, abs=0.2)   # both motions at half the speed
    np.testing.assert_allclose(back.sample(0.0).q, path.sample(1319 * 5e-3).q, atol=1e-9)
    np.testing.assert_allclose(back.sample(back.duration).q, HOME, atol=1e-9)
    q = np.array([back.sample(t).q[0] for t in np.linspace(0.0, back.duration, 400)])
    assert q.max() == pytest.approx(HOME[0] + 0.3, abs=1e-3)
    assert (np.diff(q[:int(q.argmax()) + 1]) > -1e-4).all()   # once up to the turn, once down
    assert (np.diff(q[int(q.argmax()):]) < 1e-4).all()


def machine(strategy='retract', **changes):
    return ReactionMachine(4, ReactionOptions(strategy=strategy, **changes), LIMITS,
                           lambda q: np.zeros(4), RELEASE)


def at(q=HOME, dq=ZERO):
    return ArmState.rigid(np.array(q, float), np.array(dq, float))


def run(m, seconds, residual=ZERO, state=None):
    """The arm follows the reference exactly."""
    q, directive = HOME if state is None else state, None
    for _ in range(round(seconds / DT)):
        directive = m.step(at(q), residual, None, DT)
        if directive.reference is not None:
            q = directive.reference.q
    return directive


def test_ignore_goes_on_tracking():
    m = machine('ignore')
    assert m.step(at(), PUSH, HIT, DT).phase is Phase.TRACKING


def test_stop_commands_zero_velocity_where_it_touched_then_holds():
    m = machine('stop')
    directive = m.step(at(dq=[0, 1.0, 0, 0]), PUSH, HIT, DT)
    assert directive.phase is Phase.REACTING
    np.testing.assert_array_equal(directive.reference.q, HOME)
    assert not directive.reference.dq.any()
    assert 'link3' in m.explanation
    for _ in range(400):                             # at rest for quiet_time
        held = m.step(at(), PUSH, None, DT)
    assert held.phase is Phase.HOLDING
    assert run(m, 5.0).phase is Phase.HOLDING


def test_retract_moves_with_the_push_and_holds_when_it_is_gone():
    m = machine('retract')
    first = m.step(at(), PUSH, HIT, DT)
    assert first.reference.dq[1] > 0.0
    assert not first.reference.dq[[0, 2, 3]].any()
    away = run(m, 0.1, PUSH).reference.q
    assert away[1] > HOME[1] + 0.01
    end = run(m, 1.5, ZERO, away)
    assert end.phase is Phase.HOLDING
    assert end.reference.q[1] >= away[1]


def test_overreaction_multiplies_the_reflex():
    ways = []
    for gain in (1.0, 4.0):
        m = machine('retract', overreaction=(gain,), inertia=(1.0,), drag=(20.0,))
        m.step(at(), PUSH, HIT, DT)
        ways.append(run(m, 0.1, PUSH).reference.q[1] - HOME[1])
    assert ways[1] == pytest.approx(4.0 * ways[0], rel=1e-6)


def test_float_overrides_the_law_until_it_is_told_to_hold():
    m = machine('float')
    directive = m.step(at(), PUSH, HIT, DT)
    assert directive.law == 'float'
    assert run(m, 10.0).law == 'float'
    m.new_goal()
    assert m.step(at(), ZERO, None, DT).phase is Phase.TRACKING


def test_float_ends_by_itself_if_asked_to():
    m = machine('float', float_time=0.5)
    m.step(at(), PUSH, HIT, DT)
    assert run(m, 0.4).phase is Phase.REACTING
    assert run(m, 0.4).phase is Phase.HOLDING


def test_retrace_goes_back_and_stops_if_hit_on_the_way():
    path = QuinticSpline([0.0, 2.0], [HOME, HOME + [0.8, 0, 0, 0]], np.zeros((2, 4)))

    def driven():
        m = machine('retrace', memory=0.5)
        for k in range(1000):
            m.record(path.sample(k * DT), DT)
        m.step(at(path.sample(1.0).q), PUSH, HIT, DT)
        return m
    end = run(driven(), 3.0, state=path.sample(1.0).q)
    assert end.phase is Phase.HOLDING
    np.testing.assert_allclose(end.reference.q, path.sample(0.5).q, atol=0.02)
    m = driven()
    middle = run(m, 0.5, state=path.sample(1.0).q).reference.q
    hit = m.step(at(middle), -PUSH, HIT, DT)
    np.testing.assert_array_equal(hit.reference.q, middle)
    assert run(m, 0.5, ZERO, middle).phase is Phase.HOLDING


def test_resume_verifies_regains_clearance_and_gives_up_in_the_end():
    m = machine('resume', attempts=1, clearance=0.2)
    m.step(at(), PUSH, HIT, DT)
    phases, q, resumed = [m.phase], HOME, 0
    for _ in range(8000):
        directive = m.step(at(q), ZERO, None, DT)
        q = q if directive.reference is None else directive.reference.q
        resumed += directive.resume
        if m.phase is not phases[-1]:
            phases.append(m.phase)
        if m.phase is Phase.RESUMING:
            break
    assert phases == [Phase.REACTING, Phase.HOLDING, Phase.VERIFYING, Phase.RESUMING]
    assert resumed == 1
    assert q[1] - HOME[1] >= 0.2 - 1e-6          # away in the direction of the push
    m.step(at(q), PUSH, HIT, DT)                  # hit again
    run(m, 5.0, ZERO, q)
    assert m.phase is Phase.HOLDING
    assert 'gave up' in m.explanation


def test_verifying_falls_back_to_holding_on_contact_or_without_residual():
    for residual in (PUSH, None):
        m = machine('resume')
        m.step(at(), PUSH, HIT, DT)
        for _ in range(5000):
            m.step(at(), ZERO, None, DT)
            if m.phase is Phase.VERIFYING:
                break
        assert m.phase is Phase.VERIFYING
        m.step(at(), residual, None, DT)
        assert m.phase is Phase.HOLDING


def test_a_loud_residual_never_resumes():
    m = machine('resume')
    m.step(at(), PUSH, HIT, DT)
    run(m, 10.0, PUSH)
    assert m.phase is Phase.HOLDING


def test_a_stopped_arm_resumes_only_on_request():
    m = machine('stop')
    with pytest.raises(ArmsenseError, match='tracking'):
        m.request_resume()
    m.step(at(), PUSH, HIT, DT)
    run(m, 2.0)
    m.request_resume()
    assert run(m, 3.0).phase is Phase.RESUMING
    m.arrived()
    assert m.phase is Phase.TRACKING


def test_safe_is_latched_until_cleared():
    m = machine()
    m.fault('NaN')
    assert m.step(at(), ZERO, HIT, DT).phase is Phase.SAFE
    m.new_goal()
    assert m.phase is Phase.SAFE
    m.clear(at())
    assert m.phase is Phase.HOLDING


def test_strategies_by_goal_and_by_name():
    m = machine('stop')
    m.new_goal('float')
    assert m.strategy == 'float'
    m.new_goal()
    assert m.strategy == 'stop'
    with pytest.raises(ArmsenseError, match='retreat'):
        m.choose('retreat')


@settings(max_examples=60, deadline=None)
@given(strategy=st.sampled_from(['stop', 'retract', 'float', 'retrace', 'resume']),
       forces=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=30),
       edge=st.booleans())
def test_references_stay_within_the_limits_for_any_residual(strategy, forces, edge):
    m = machine(strategy)
    q = LIMITS.upper if edge else HOME
    m.step(at(q), np.full(4, forces[0]), HIT, DT)
    for force in forces:
        directive = m.step(at(q), np.full(4, force), None, 0.02)
        if directive.reference is not None:
            reference: Reference = directive.reference
            assert np.isfinite(reference.q).all()
            assert (reference.q <= LIMITS.upper + 1e-12).all()
            assert (reference.q >= LIMITS.lower - 1e-12).all()
            q = reference.q


def test_stop_goes_back_to_the_contact_but_not_against_a_joint_that_yields():
    m = machine('stop')
    m.step(at(dq=[0, -1.0, 0, 0]), PUSH, HIT, DT)
    deeper = m.step(at(HOME - [0, 0.02, 0, 0], [0, -0.2, 0, 0]), PUSH, None, DT)
    np.testing.assert_allclose(deeper.reference.q, HOME)            # squeezed: back out
    yielded = HOME + [0, 0.03, 0, 0]
    directive = m.step(at(yielded, [0, 0.2, 0, 0]), PUSH, None, DT)
    np.testing.assert_allclose(directive.reference.q, yielded)      # given way: stays


def test_stop_does_not_stay_where_a_misread_push_let_it_run_on_to():
    m = machine('stop')
    m.step(at(dq=[0, -1.0, 0, 0]), -0.2 * PUSH, HIT, DT)           # of the wrong sign at first
    deeper = at(HOME - [0, 0.02, 0, 0], [0, -0.2, 0, 0])
    assert m.step(deeper, -0.2 * PUSH, None, DT).reference.q[1] < HOME[1]
    directive = m.step(deeper, PUSH, None, DT)
    np.testing.assert_allclose(directive.reference.q, HOME)         # squeezed: back out
    assert list(directive.anew) == [False, True, False, False]


def test_a_hand_moves_the_place_to_hold():
    m = machine('stop')
    m.led_to(HOME + 0.3)                              # tracking: nothing to move
    m.step(at(), PUSH, HIT, DT)
    run(m, 1.0)
    m.led_to(HOME + 0.1)
    np.testing.assert_allclose(m.step(at(), ZERO, None, DT).reference.q, HOME + 0.1)


def test_a_contact_that_begins_below_quiet_is_yielded_to_all_the_same():
    m = machine('retract')
    run(m, 1.0)                                       # quiet for long before
    soft = 0.5 * RELEASE * np.array([0.0, 1.0, 0.0, 0.0])
    assert m.step(at(), soft, HIT, DT).phase is Phase.REACTING
    assert m.step(at(), PUSH, None, DT).phase is Phase.REACTING


def test_the_way_to_the_clearance_is_gentle_and_forgives_friction():
    m = machine('resume', clearance=0.2, quiet=(0.3,), quiet_moving=2.0)
    m.step(at(), PUSH, HIT, DT)
    q, speeds = HOME, [0.0]
    for _ in range(8000):
        # Friction that the model lacks: beyond `quiet`, but only while the arm moves.
        residual = np.full(4, 0.5) if m.phase is Phase.VERIFYING and speeds[-1] > 0.0 else ZERO
        directive = m.step(at(q), residual, None, DT)
        if directive.phase is Phase.VERIFYING:
            speeds.append(float(np.abs(directive.reference.q - q).max()) / DT)
        q = q if directive.reference is None else directive.reference.q
        if m.phase is Phase.RESUMING:
            break
    assert m.phase is Phase.RESUMING
    assert max(speeds) <= m.options.clearance_speed * 1.001
    assert np.abs(np.diff(speeds)).max() < 0.02 * m.options.clearance_speed   # no jump of speed


def test_a_residual_that_stays_keeps_the_arm_from_resuming():
    m = machine('resume', clearance=0.0)
    m.step(at(), PUSH, HIT, DT)
    q = HOME
    for _ in range(8000):
        restless = m.phase is Phase.VERIFYING
        directive = m.step(at(q), np.full(4, 0.5) if restless else ZERO, None, DT)
        q = q if directive.reference is None else directive.reference.q
        assert m.phase is not Phase.RESUMING


def test_nothing_resumes_while_a_contact_lasts():
    """The residual is quiet, but the load cells still feel somebody."""
    m = machine('resume')
    m.step(at(), PUSH, HIT, DT)
    run(m, 0.5)
    for _ in range(5000):
        m.step(at(), ZERO, None, DT, 'contact lasts on Fz')
    assert m.phase is Phase.HOLDING
    assert m.waits_to_resume
    run(m, 0.01)
    assert m.phase is Phase.VERIFYING
    m.step(at(), ZERO, None, DT, 'contact lasts on Fz')
    assert (m.phase, m.explanation) == (Phase.HOLDING, 'contact lasts on Fz')
    run(m, 5.0)
    assert m.phase is Phase.RESUMING


def test_a_further_contact_is_answered_anew():
    m = machine('retract', timeout=1.0)
    m.step(at(), PUSH, HIT, DT)
    run(m, 1.5, PUSH)                                 # somebody leans on: yielded, then held
    assert m.phase is Phase.HOLDING
    assert m.step(at(), 2.0 * PUSH, HIT, DT).phase is Phase.REACTING
    assert run(m, 0.1, 2.0 * PUSH).reference.q[1] > HOME[1]


@pytest.mark.parametrize('way', [0.25, 1.0])          # it ends there, or with the time
def test_a_retreat_that_nobody_ends_comes_to_rest_without_a_jump(way):
    """A payload that was not told pulls on; a jump of speed would feel like another contact."""
    m = ReactionMachine(4, ReactionOptions(timeout=1.0, stiffness=(0.5,), retract_distance=(way,)),
                        LIMITS, lambda q: np.full(4, 0.3), RELEASE)
    m.step(at(), PUSH, HIT, DT)
    speeds, q = [], HOME
    for _ in range(2000):
        reference = m.step(at(q), PUSH, None, DT).reference
        speeds.append(reference.dq)
        q = reference.q
    speeds = np.array(speeds)
    assert speeds[:990, 1].max() > 0.2
    assert np.abs(np.diff(speeds, axis=0)).max() < 0.031             # of rest_speed at most
    assert m.phase is Phase.HOLDING


def test_quiet_is_never_more_than_the_detector_calls_free():
    with pytest.raises(BadValue, match=r'reaction.quiet of joint3 is 0.2; it must be at most '
                                       '0.15 Nm'):
        ReactionMachine(4, ReactionOptions(quiet=(0.4, 0.4, 0.2, 0.1)), LIMITS,
                        lambda q: np.zeros(4), 0.6 * np.array([0.75, 0.95, 0.25, 0.22]))
    m = machine(quiet=(0.3,))                         # exactly there
    with pytest.raises(BadValue, match=r'joint1 .* at most 0.2 Nm'):
        m.agree_with(np.full(4, 0.2))


def test_whoever_names_no_inertia_yields_with_that_of_the_joints():
    own = np.array([4.0, 1.0, 0.1, 0.001])
    asked = []

    def own_inertia(q):
        asked.append(q.copy())
        return own

    def velocity(**options):
        arm = ReactionMachine(4, ReactionOptions(overreaction=(1.0,), **options), LIMITS,
                              own_inertia, RELEASE)
        arm.step(at(), np.ones(4), HIT, DT)
        return arm.step(at(), np.ones(4), None, DT).reference.dq

    def expected(m, f):
        plant = Admittance(np.array(m), np.array(f), ZERO, np.ones(4), (-np.ones(4), np.ones(4)),
                           np.full(4, 1e9))
        plant.step(np.ones(4), DT)
        return plant.step(np.ones(4), DT)[1]

    np.testing.assert_allclose(velocity(), expected([4.0, 1.0, 0.1, 0.05], [80.0, 20.0, 5.0, 5.0]))
    np.testing.assert_array_equal(asked, [HOME])     # where it was hit, once
    np.testing.assert_allclose(velocity(inertia=(0.2,)),
                               expected([0.2] * 4, [80.0, 20.0, 5.0, 5.0]))
    np.testing.assert_allclose(velocity(drag=(2.0,)), expected([4.0, 1.0, 0.1, 0.05], [2.0] * 4))
