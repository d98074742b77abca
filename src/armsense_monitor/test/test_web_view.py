"""The page in a real browser, with an arm that is only a history.

Pictures of it go to out/monitor/; those in docs/images are copies.
"""

import re
import socket
import threading
import time

import numpy as np
from playwright.sync_api import expect
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
import web_browser
from web_browser import click, DESKTOP, open_page, PHONE, press, take_picture

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.recordings.bag_writer import BagWriter
from armsense_monitor.arm_history import ArmHistory, Contact, Event, Health, Mode, Reaction
from armsense_monitor.view_control import Access
from armsense_monitor.web_view import WebView

TOKEN = 'open sesame'
END = 9.0     # [s] of the history
HIT = 8.0


class FakeRemote:
    """Writes down what was asked."""

    jogging = True
    simulator = 'simulator'

    def __init__(self):
        self.asked = []
        self.pulls = []

    def pull(self, link, point, target, stiffness):
        self.pulls.append((link, point, target, stiffness))

    def place_obstacle(self, position, radius, done):
        self.asked.append(('obstacle', position))
        done(True, 'with the next step')

    def set_payload(self, mass, told, done):
        self.asked.append((mass, told))
        done(True, 'told' if told else 'given')

    def trigger(self, what, done):
        self.asked.append(what)
        done(True, f'{what} is done')

    def set_reaction(self, strategy, done):
        self.asked.append(strategy)
        done(True, strategy)

    def jog(self, joint, step, done):
        self.asked.append((joint, step))
        done(False, 'the joint would leave its limits')


def struck(model):
    """An arm that is struck at its hand a second before the end."""
    history = ArmHistory(model.joint_names)
    rng = np.random.default_rng(4)
    home = np.array(model.config.home)
    for t in np.arange(0.0, END, 0.002):
        after = max(t - HIT, 0.0)
        push = np.exp(-8.0 * after) * (after > 0.0)
        history.add_position(t, home + [0.4 * np.sin(t) - 0.3 * push, 0.05 * push, 0.0, 0.0])
        residual = rng.normal(0.0, 0.05, 4) + push * np.array([-4.0, -0.7, 1.0, 0.3])
        history.add_residual(t, residual, [1.0, 0.9, 0.5, 0.5], True)
    history.add_event(Event(0, HIT, 'joints', 'link4', 'joint3', 1.0, 0.5, 0.99))
    hand = model.frame_pose(history.position)[:3, 3]
    history.add_contact(Contact(HIT, hand, np.array([0.0, -12.0, 3.0])))
    history.add_cells([10.0, 14.0, 30.0, 22.0], [True, True, True, False])
    history.mode = Mode('enabled', '', '')
    history.reaction = Reaction('computed_torque', 'retract', 'holding',
                                'link4 was hit; retracted')
    history.health = {'motor_board: arm': Health(0, 'enabled'),
                      'motor_board: board 0': Health(1, '<b>2.10 %</b> of 9000 frames lost')}
    history.settle()
    return history


class Site:
    """A view, kept up to date by a thread as the node does it."""

    def __init__(self, model, history, remote, bags):
        self.view = WebView(model, history, Access(TOKEN), remote, '127.0.0.1', 0, bags)
        self.remote, self.history = remote, history
        self.alive = True                     # the arm is heard of
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._end.wait(0.1):
            if self.alive:
                self.history.hear('driver', time.monotonic())
            self.view.bags.step(0.1)
            self.view.update()

    def close(self):
        self._end.set()
        self._thread.join()
        self.view.close()


def small_bag(folder):
    bag = BagWriter(folder)
    bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState')
    for k in range(10):
        message = JointState(name=['joint1'], position=[0.1 * k])
        bag.write('/joint_states', serialize_message(message), k * 10**8)
    bag.close()


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    model = Arm.load('laas4')
    folder = tmp_path_factory.mktemp('bags')
    small_bag(folder / 'monday')
    site = Site(model, struck(model), FakeRemote(), folder)
    yield site
    site.close()


@pytest.fixture(scope='module')
def browser():
    with web_browser.browser() as found:
        yield found


@pytest.fixture(scope='module')
def page(site, browser):
    """One for all tests: loading it is what costs."""
    with open_page(browser, site.view.url) as page:
        expect(page.get_by_role('button', name='STOP')).to_be_visible()
        yield page


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_page_shows_residuals_state_and_load_cells(page):
    for joint in ('joint1', 'joint2', 'joint3', 'joint4'):
        expect(page.get_by_text(f'{joint} [Nm]')).to_be_visible()
    expect(page.get_by_text('enabled', exact=True)).to_be_visible()
    expect(page.get_by_text('link4 was hit; retracted')).to_be_visible()
    expect(page.get_by_text(re.compile(r'^\d+ %$'))).to_have_count(4)
    expect(page.get_by_text('30.0 N')).to_be_visible()
    expect(page.get_by_text('no signal')).to_be_visible()


def test_events_have_a_forensic_view(page):
    click(page.get_by_role('tab', name='Events'))
    expect(page.get_by_role('cell', name='link4')).to_be_visible()
    expect(page.get_by_role('cell', name='8.000 s')).to_be_visible()
    expect(page.get_by_text('residual / threshold, s after the event')).to_be_visible()


def test_texts_from_outside_are_shown_not_run(page):
    click(page.get_by_role('tab', name='Health'))
    expect(page.get_by_text('<b>2.10 %</b> of 9000 frames lost')).to_be_visible()


def test_buttons_do_nothing_without_the_token(page, site):
    site.remote.asked.clear()
    press(page.get_by_role('button', name='STOP'))
    expect(page.get_by_text('Read-only: enter the token first.')).to_be_visible()
    page.get_by_role('textbox').first.fill('guess')
    press(page.get_by_role('button', name='Unlock'))
    expect(page.get_by_text('wrong token')).to_be_visible()
    press(page.get_by_role('button', name='Home'))
    page.wait_for_timeout(500)
    assert site.remote.asked == []


def test_bag_needs_the_token_where_an_arm_is_live(page, site):
    click(page.get_by_role('tab', name='Bags'))
    click(page.get_by_role('combobox', name='bag'))
    click(page.get_by_role('option', name='monday'))
    expect(page.get_by_text('Read-only: enter the token first.').first).to_be_visible()
    expect(page.get_by_role('combobox', name='bag')).to_have_value('live')
    assert site.view.bags.playback is None


def test_token_opens_the_buttons(page, site):
    page.wait_for_timeout(1100)           # the last wrong token closed the door for a second
    page.get_by_role('textbox').first.fill(TOKEN)
    press(page.get_by_role('button', name='Unlock'))
    expect(page.get_by_text('In control.')).to_be_visible()
    press(page.get_by_role('button', name='STOP'))
    expect(page.get_by_text('emergency_stop is done')).to_be_visible()
    press(page.get_by_role('button', name='+', exact=True))
    expect(page.get_by_text('the joint would leave its limits')).to_be_visible()
    assert site.remote.asked == ['emergency_stop', (0, 0.1)]


def test_bag_is_picked_and_left(page, site):
    click(page.get_by_role('tab', name='Bags'))
    click(page.get_by_role('combobox', name='bag'))
    click(page.get_by_role('option', name='monday'))
    until(lambda: site.view.bags.playback is not None)
    assert site.view.bags.playback.seconds == pytest.approx(0.9)
    click(page.get_by_role('combobox', name='bag'))
    click(page.get_by_role('option', name='live'))
    until(lambda: site.view.bags.playback is None)


def on_screen(page, site, place):
    """Where a page shows a place [m], base frame, (3,): pixels."""
    camera = list(site.view._server.get_clients().values())[-1].camera
    forward = camera.look_at - camera.position
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right)
    ray = place - camera.position
    scale = 1.0 / np.tan(0.5 * camera.fov) / (ray @ forward)
    boxes = [canvas.bounding_box() for canvas in page.locator('canvas').all()]   # plots, too
    box = max(filter(None, boxes), key=lambda box: box['width'] * box['height'])
    x = 0.5 * box['width'] + 0.5 * box['height'] * scale * (ray @ right)
    y = 0.5 * box['height'] - 0.5 * box['height'] * scale * (ray @ np.cross(right, forward))
    return box['x'] + x, box['y'] + y


def test_a_link_is_pulled_with_the_mouse_where_it_was_taken_hold_of(site, browser):
    model, q = Arm.load('laas4'), site.history.position
    pose = model.frame_pose(q, 'link3')
    held = np.array([0.0, 0.0, 0.1])                   # [m] along the link
    with open_page(browser, site.view.url, DESKTOP) as page:
        expect(page.get_by_role('button', name='STOP')).to_be_visible()
        page.wait_for_timeout(2000)                    # until the arm is drawn
        x, y = on_screen(page, site, pose[:3, :3] @ held + pose[:3, 3])
        site.remote.pulls.clear()
        for above in (0, 8, 16):                       # [pixels] the link is about 25 thick
            page.mouse.move(x, y - above)
            page.mouse.down()
            for k in range(8):
                page.mouse.move(x + 8 * k, y - above)
                page.wait_for_timeout(150)
            if site.remote.pulls:
                break
            page.mouse.up()
        until(lambda: len(site.remote.pulls) > 3)
        link, point, target, stiffness = site.remote.pulls[-1]
        assert link == 'link3'
        assert np.linalg.norm(point - held) < 0.06       # its surface, not its middle
        assert stiffness > 0.0
        assert np.linalg.norm(target - (pose[:3, :3] @ point + pose[:3, 3])) > 0.01
        page.mouse.up()
        until(lambda: site.remote.pulls[-1][3] == 0.0)


def test_a_silent_arm_is_grey_and_only_stop_is_left(site, browser):
    with open_page(browser, site.view.url) as page:
        expect(page.get_by_role('button', name='Home')).to_be_visible()
        site.alive = False
        expect(page.get_by_text(re.compile(r'no data for \d+ s'))).to_be_visible()
        expect(page.get_by_role('button', name='Home')).to_be_hidden()
        expect(page.get_by_role('button', name='STOP')).to_be_visible()
        site.alive = True
        expect(page.get_by_role('button', name='Home')).to_be_visible()


def test_title_is_our_own_and_the_space_bar_stops(site, browser):
    site.remote.asked.clear()
    with open_page(browser, site.view.url) as page:
        assert page.title() == 'armsense laas4'
        page.get_by_role('textbox').first.fill(TOKEN)
        page.get_by_role('textbox').first.press('Enter')
        expect(page.get_by_text('In control.')).to_be_visible()
        page.locator('body').press('Space')
        until(lambda: site.remote.asked == ['emergency_stop'])


def test_phone_fits_and_is_read_only_while_another_page_is_in_control(page, site, browser):
    page.set_viewport_size({'width': 300, 'height': 200})     # it shall not take all the time
    with open_page(browser, site.view.url, PHONE) as phone:
        expect(phone.get_by_role('button', name='STOP')).to_be_visible()
        assert phone.evaluate('document.documentElement.scrollWidth') <= PHONE['width']
        take_picture(phone, 'monitor_phone.png')
        asked = len(site.remote.asked)
        press(phone.get_by_role('button', name='STOP'))
        expect(phone.get_by_text('Read-only: enter the token first.')).to_be_visible()
        assert len(site.remote.asked) == asked


def test_address_that_is_not_ours_is_an_error_with_a_remedy(site, tmp_path):
    with pytest.raises(ArmsenseError, match='cannot listen at'):
        WebView(Arm.load('laas4'), site.history, Access(), None, '203.0.113.7', 0, tmp_path)


def test_only_localhost_is_served(site):
    port = int(site.view.url.rsplit(':', 1)[1])
    own = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in own:
        if not address.startswith('127.'):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((address, port), 2.0)
