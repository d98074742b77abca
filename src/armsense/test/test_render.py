import numpy as np
from PIL import Image
import pytest

from armsense.sim import make_plant
from armsense.sim.render import Camera, save_gif, save_strip


@pytest.fixture(scope='module')
def plant():
    plant = make_plant('laas4')
    plant.place_obstacle('ball', plant.pose()[:3, 3] + [0.25, 0.0, 0.0], radius=0.05)
    return plant


def test_frame_shows_the_arm_and_its_contact(plant):
    with Camera(plant, width=320, height=240) as camera:
        quiet = camera.frame()
        plant.apply_force('link3', (0.0, 0.0, 0.2), (0.0, 40.0, 0.0))   # sideways
        plant.step(plant.holding_torque, 1e-3)
        pushed = camera.frame()
    assert quiet.shape == (240, 320, 3)
    assert len(np.unique(quiet.reshape(-1, 3), axis=0)) > 500
    red = (pushed[..., 0] > 150) & (pushed[..., 1] < 80) & (pushed[..., 2] < 90)
    was_red = (quiet[..., 0] > 150) & (quiet[..., 1] < 80) & (quiet[..., 2] < 90)
    assert red.sum() > was_red.sum() + 50


def test_camera_follows_a_new_obstacle(plant):
    with Camera(plant, width=160, height=120) as camera:
        before = camera.frame('before')
        plant.place_obstacle('box', [0.3, 0.4, 0.2], box=(0.2, 0.2, 0.2))
        after = camera.frame('after')
    assert (before != after).any()


def test_strip_and_film_can_be_read(plant, tmp_path):
    with Camera(plant, width=160, height=120) as camera:
        frames = []
        for k in range(3):
            plant.step(np.zeros(4), 0.05)
            frames.append(camera.frame(f't = {0.05 * k:.2f} s'))
    strip = Image.open(save_strip(frames, tmp_path / 'strip.png'))
    assert strip.size == (3 * 160 + 2 * 6, 120)
    film = Image.open(save_gif(frames, tmp_path / 'film.gif'))
    assert film.n_frames == 3
