"""Contacts located, wrong sensors named, from joints and base. Truth: virtual work, geometry."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.base.cell_layout import CellLayout
from armsense.base.contact_watch import Explainer
from armsense.base.fusion import best_pushes, ContactFusion, FusionOptions, UNIQUE
from armsense.errors import ArmsenseError, BadValue
from armsense.geometry.capsules import arm_capsules
from armsense.geometry.link_surface import link_shapes
from armsense.model import Arm
from bench.double_contact import DoubleContact

CELLS = [(0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2)]
RADIUS, LENGTH = 0.06, 0.24   # [m] of link3
TAU_NOISE = 0.05      # [Nm]
CELL_NOISE = 0.05     # [N]


@pytest.fixture(scope='module')
def arm():
    model = Arm.load('seven')
    layout = CellLayout.upright(CELLS)
    return model, layout, np.eye(7) * TAU_NOISE**2, layout.covariance(CELL_NOISE)


def contact(model, layout, rng, noise=True):
    """A push on a random place of links 3 to 7: q, tau, felt and the truth."""
    q = rng.uniform(-1.5, 1.5, 7)
    link = f'link{rng.integers(3, 8)}'
    shape = link_shapes(model)[link][0]
    place = shape.sample(0.02)
    place = place[rng.integers(len(place))]
    T = model.frame_pose(q, link)
    p, n = T[:3, :3] @ place.point + T[:3, 3], T[:3, :3] @ place.normal
    side = np.cross(n, rng.standard_normal(3))
    F = rng.uniform(10, 30) * (-n + rng.uniform(0, 0.3) * side / np.linalg.norm(side))
    tau = model.point_jacobian(q, link, place.point).T @ F
    felt = layout.felt(np.concatenate([F, np.cross(p, F)]))
    if noise:
        tau = tau + TAU_NOISE * rng.standard_normal(7)
        felt = felt + layout.collect @ (CELL_NOISE * rng.standard_normal(4))
    return q, tau, felt, link, p, F


def test_shapes_of_the_urdf(arm):
    shapes = link_shapes(arm[0])
    assert all(len(found) == 1 and found[0].kind == 'cylinder' for found in shapes.values())
    shape = shapes['link3'][0]
    for place in shape.sample(0.03):
        near = shape.nearest(place.point + 0.01 * place.normal)
        np.testing.assert_allclose(near.point, place.point, atol=1e-9)
        np.testing.assert_allclose(near.normal, place.normal, atol=1e-9)
        local = shape.R.T @ (place.point - shape.t)
        assert (np.hypot(*local[:2]) == pytest.approx(RADIUS)
                or abs(local[2]) == pytest.approx(LENGTH / 2))
    with pytest.raises(ArmsenseError, match='no link has a collision shape'):
        link_shapes(Arm(
            '<robot name="bare"><link name="a"/><link name="b"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
            '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'))


def test_meshes_are_left_out_and_missed_only_where_they_are_needed():
    shape = '<collision><geometry>{}</geometry></collision>'
    model = Arm(
        '<robot name="mixed"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        + shape.format('<mesh filename="package://none/x.stl"/>')
        + shape.format('<box size="0.2 0.4 0.1"/>') + '</link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>')
    (box,), = link_shapes(model).values()
    assert (box.kind, box.size) == ('box', (0.1, 0.2, 0.05))
    with pytest.raises(ArmsenseError, match=r'mixed: the collision shapes cannot be read.*boxes'):
        arm_capsules(model)


@pytest.mark.parametrize('kind', ['sphere', 'box'])
def test_other_shapes_are_closed_surfaces(kind):
    from armsense.geometry.link_surface import Shape
    shape = Shape(kind, (0.1,) if kind == 'sphere' else (0.1, 0.2, 0.05), np.eye(3), np.ones(3))
    rng = np.random.default_rng(0)
    places = shape.sample(0.04)
    assert len(places) > 20
    for place in places:
        assert shape.inside(place.point - 1e-3 * place.normal)
        assert not shape.inside(place.point + 1e-3 * place.normal)
    for point in rng.uniform(0.5, 1.5, (50, 3)):
        near = shape.nearest(point)
        gap = np.linalg.norm(point - near.point)
        sampled = min(np.linalg.norm(point - place.point) for place in places)
        assert gap <= sampled + 0.03 if not shape.inside(point) else True


def test_closed_form_is_the_regularised_least_squares():
    rng = np.random.default_rng(9)
    y, friction = rng.standard_normal(10), 0.5
    B = rng.standard_normal((40, 10, 3)) * rng.uniform(0.01, 10.0, (40, 1, 3))
    H = B.transpose(0, 2, 1) @ B
    pushes = best_pushes(np.array([H[:, r, s] for r, s in UNIQUE]), (B.transpose(0, 2, 1) @ y).T,
                         float(y @ y), friction)
    for k in range(40):
        ridge = np.trace(H[k]) / (3.0 * friction**2 * (y @ y))
        assert pushes.ridge[k] == pytest.approx(ridge)
        A = np.vstack([B[k], np.sqrt(ridge) * np.eye(3)[1:]])
        F, left, _, _ = np.linalg.lstsq(A, np.concatenate([y, [0.0, 0.0]]), rcond=None)
        np.testing.assert_allclose(pushes.force[:, k], F, rtol=1e-6, atol=1e-9)
        assert pushes.cost[k] == (pytest.approx(left[0]) if F[0] < 0.0 else np.inf)


def test_table_of_all_places_is_the_single_evaluation(arm):
    model, layout, joint, base = arm
    fusion = ContactFusion(model, layout, joint, base)
    q, tau, felt, _, _, _ = contact(model, layout, np.random.default_rng(1))
    response, y = fusion.response.at(q), fusion.response.whiten(tau, felt)
    At = response.A.transpose(0, 2, 1)
    cost = fusion._try_all(At @ response.A, At @ y, float(y @ y))
    places = fusion.places
    for k in np.random.default_rng(2).integers(len(places.link), size=20):
        name, R = model.link_names[places.link[k]], response.rotation[places.link[k]]
        J = model.point_jacobian(q, name, places.point[k])          # (3, n), base axes
        p = response.origin[places.link[k]] + R @ places.point[k]
        felt_by = np.array([layout.felt(np.concatenate([e, np.cross(p, e)])) for e in np.eye(3)])
        B = np.array([fusion.response.whiten(J.T @ e, f)
                      for e, f in zip(np.eye(3), felt_by, strict=True)]).T @ R @ places.axes[k]
        H = B.T @ B
        alone = best_pushes(np.array([[H[r, s]] for r, s in UNIQUE]), (B.T @ y)[:, None],
                            float(y @ y), fusion.options.friction).cost[0]
        assert cost[k] == pytest.approx(alone, rel=1e-6)


def test_fusion_is_better_than_joints_or_base_alone(arm):
    model, layout, joint, base = arm
    rng = np.random.default_rng(11)
    methods = {'both': ContactFusion(model, layout, joint, base),
               'joint': ContactFusion(model, layout, joint, None),
               'base': ContactFusion(model, layout, None, base)}
    errors = {name: [] for name in methods}
    for _ in range(150):
        q, tau, felt, _, p, _ = contact(model, layout, rng)
        for name, fusion in methods.items():
            errors[name].append(np.linalg.norm(fusion.locate(q, tau, felt).point - p))
    both, joints, alone = (np.array(errors[name]) for name in ('both', 'joint', 'base'))
    assert np.median(both) < 0.006
    assert (both < 0.05).mean() >= 0.97
    assert np.median(both) < 0.7 * np.median(joints) < 0.5 * np.median(alone)
    assert (joints < 0.05).mean() < 0.9


def test_two_contacts_at_once(arm):
    model, layout, joint, base = arm
    both = DoubleContact(model, layout, joint, base)
    joints = DoubleContact(model, layout, joint, None)
    single = ContactFusion(model, layout, joint, base)
    rng = np.random.default_rng(2)
    errors = {'both': [], 'joints': []}
    better = 0
    for _ in range(25):
        q = rng.uniform(-1.5, 1.5, 7)
        tau, felt, points = np.zeros(7), np.zeros(3), []
        for link in (f'link{rng.integers(3, 5)}', f'link{rng.integers(6, 8)}'):
            shape = link_shapes(model)[link][0]
            places = [p for p in shape.sample(0.02) if abs((shape.R.T @ p.normal)[2]) < 0.5]
            place = places[rng.integers(len(places))]
            T = model.frame_pose(q, link)
            points.append(T[:3, :3] @ place.point + T[:3, 3])
            F = -rng.uniform(10, 30) * (T[:3, :3] @ place.normal)
            tau = tau + model.point_jacobian(q, link, place.point).T @ F
            felt = felt + layout.felt(np.concatenate([F, np.cross(points[-1], F)]))
        tau, felt = noisy(model, layout, rng, tau, felt)
        found = both.locate(q, tau, felt)
        better += found.misfit < 0.5 * single.locate(q, tau, felt).misfit
        for name, touches in (('both', found), ('joints', joints.locate(q, tau, felt))):
            errors[name].append(np.linalg.norm(touches.points - points, axis=1).max())
    assert np.median(errors['both']) < 0.06            # the worse of the two
    assert np.median(errors['both']) < 0.6 * np.median(errors['joints'])
    assert better >= 22                                # and one contact does not explain it


def test_without_noise_the_contact_is_exact(arm):
    model, layout, joint, base = arm
    fusion = ContactFusion(model, layout, joint, base, FusionOptions(iterations=8, candidates=6))
    rng = np.random.default_rng(4)
    found = []
    for _ in range(40):
        q, tau, felt, _, p, F = contact(model, layout, rng, noise=False)
        touch = fusion.locate(q, tau, felt)
        found.append((np.linalg.norm(touch.point - p), np.linalg.norm(touch.force - F)))
    found = np.array(found)
    assert np.median(found[:, 0]) < 5e-4
    assert np.median(found[:, 1]) < 0.05
    assert (found[:, 0] < 0.01).mean() > 0.94


def test_covariance_of_the_point_is_honest(arm):
    model, layout, joint, base = arm
    fusion = ContactFusion(model, layout, joint, base)
    rng = np.random.default_rng(6)
    inside = 0
    for _ in range(100):
        q, tau, felt, _, p, _ = contact(model, layout, rng)
        touch = fusion.locate(q, tau, felt)
        size = np.sqrt(np.trace(touch.covariance))
        inside += np.linalg.norm(touch.point - p) < 3.0 * size + 2e-3
    assert inside >= 90


def test_fusion_needs_something_to_work_with(arm):
    model, layout, joint, base = arm
    with pytest.raises(ArmsenseError, match='joint residual, the base residual or both'):
        ContactFusion(model, layout, None, None)
    with pytest.raises(BadValue, match='positive definite'):
        ContactFusion(model, layout, -joint, base)
    with pytest.raises(BadValue, match=r'\(3, 3\)'):
        ContactFusion(model, layout, joint, np.eye(2))
    with pytest.raises(BadValue, match='links with a shape: link1'):
        ContactFusion(model, layout, joint, base, links=('elbow',))


# -- wrong sensors ---------------------------------------------------------------------------

def noisy(model, layout, rng, tau, felt):
    return (tau + TAU_NOISE * rng.standard_normal(7),
            felt + layout.collect @ (CELL_NOISE * rng.standard_normal(4)))


def test_a_wrong_encoder_is_named(arm):
    model, layout, joint, base = arm
    explainer = Explainer(model, layout, joint, base)
    rng = np.random.default_rng(3)
    right = wrong = 0
    zero = np.zeros(7)
    for _ in range(40):
        true = rng.uniform(-1.2, 1.2, 7)
        faulty = int(rng.integers(1, 6))
        read = true.copy()
        read[faulty] += rng.choice([-1, 1]) * 0.12
        # The motors hold the true pose; the models take the pose that is read.
        tau = model.gravity_torque(read) - model.gravity_torque(true)
        felt = layout.felt(model.base_wrench(true, zero, zero)
                           - model.base_wrench(read, zero, zero))
        found = explainer.explain(read, *noisy(model, layout, rng, tau, felt)).best
        right += found.kind == 'encoder' and found.name == f'joint{faulty + 1}'
        wrong += found.kind != 'nothing' and found.name != f'joint{faulty + 1}'
    assert right >= 31        # where the joint hardly carries anything, a wrong angle cannot show
    assert wrong <= 2


def test_a_wrong_cell_is_named(arm):
    model, layout, joint, base = arm
    explainer = Explainer(model, layout, joint, base)
    rng = np.random.default_rng(5)
    for cell in range(4):
        q = rng.uniform(-1, 1, 7)
        found = explainer.explain(q, *noisy(model, layout, rng, np.zeros(7),
                                            layout.collect[:, cell] * 3.0))
        assert (found.best.kind, found.best.name) == ('cell', str(cell + 1))
        assert found.best.size == pytest.approx(3.0, abs=0.3)
        assert found.probability > 0.9


def test_a_wrong_drive_is_named(arm):
    model, layout, joint, base = arm
    explainer = Explainer(model, layout, joint, base)
    rng = np.random.default_rng(7)
    for drive in range(7):
        tau = np.zeros(7)
        tau[drive] = 2.0
        found = explainer.explain(rng.uniform(-1, 1, 7),
                                  *noisy(model, layout, rng, tau, np.zeros(3))).best
        assert (found.kind, found.name) == ('drive', f'joint{drive + 1}')


def test_a_contact_is_a_contact_and_noise_is_nothing(arm):
    model, layout, joint, base = arm
    explainer = Explainer(model, layout, joint, base)
    rng = np.random.default_rng(8)
    kinds = []
    for _ in range(40):
        q, tau, felt, _, p, _ = contact(model, layout, rng)
        found = explainer.explain(q, tau, felt)
        kinds.append(found.best.kind)
        assert found.consistent or found.best.kind != 'contact'
    assert kinds.count('contact') >= 36
    for _ in range(20):
        found = explainer.explain(rng.uniform(-1, 1, 7),
                                  *noisy(model, layout, rng, np.zeros(7), np.zeros(3)))
        assert found.best.kind == 'nothing'
