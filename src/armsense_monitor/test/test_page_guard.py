"""Pages of other sites are refused, and nothing that a page says ends the server."""

import asyncio
import time

import msgspec
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
import viser
import websockets

from armsense.model import Arm
from armsense.recordings.bag_writer import BagWriter
from armsense_monitor.arm_history import ArmHistory
from armsense_monitor.page_guard import PageGuard
from armsense_monitor.view_control import Access
from armsense_monitor.web_view import WebView

PROTOCOL = [f'viser-v{viser.__version__}']
PATIENCE = 20.0      # [s] for a connection to end


@pytest.fixture
def site(tmp_path):
    model = Arm.load('laas4')
    history = ArmHistory(model.joint_names)
    history.add_position(1.0, np.array(model.config.home))
    told = []
    view = WebView(model, history, Access('token'), None, '127.0.0.1', 0, tmp_path,
                   PageGuard(['robots.example'], told.append))
    view.told = told
    yield view
    view.close()


@pytest.fixture
def one_bag(tmp_path):
    bag = BagWriter(tmp_path / 'monday')
    bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState')
    for k in range(10):
        message = JointState(name=['joint1'], position=[0.1 * k])
        bag.write('/joint_states', serialize_message(message), k * 10**8)
    bag.close()
    return tmp_path / 'monday'


def connect(view, origin=None, host=None):
    port = view.url.rsplit(':', 1)[1]
    return websockets.connect(
        f'ws://127.0.0.1:{port}/' if host is None else f'ws://{host}:{port}/', origin=origin,
        host='127.0.0.1', port=int(port), subprotocols=PROTOCOL, max_size=None)


def opened(view, **names):
    async def work():
        async with connect(view, **names):
            return True
    return asyncio.run(work())


@pytest.mark.parametrize('names', [
    {}, {'origin': 'http://127.0.0.1:{port}'},
    {'origin': 'http://localhost:{port}', 'host': 'localhost'},
    {'origin': 'https://robots.example'},
    {'origin': 'http://robots.example:{port}', 'host': 'robots.example'}])
def test_own_pages_are_let_in(site, names):
    port = site.url.rsplit(':', 1)[1]
    assert opened(site, **{key: value.format(port=port) for key, value in names.items()})
    assert site.told == []


@pytest.mark.parametrize('names', [
    {'origin': 'http://evil.example'}, {'origin': 'null'}, {'origin': 'http://127.0.0.1:1'},
    {'origin': 'http://evil.example:{port}', 'host': 'evil.example'}])    # made to point here
def test_pages_of_others_are_refused(site, names):
    port = site.url.rsplit(':', 1)[1]
    names = {key: value.format(port=port) for key, value in names.items()}
    for _ in range(2):
        with pytest.raises(websockets.exceptions.InvalidStatus, match='403'):
            opened(site, **names)
    assert len(site.told) == 1
    assert 'the parameter hosts allows more' in site.told[0]


def update(uuid, updates):
    return msgspec.msgpack.encode({'type': 'GuiUpdateMessage', 'uuid': uuid, 'updates': updates})


def said(view, raw):
    """What the server did to a page that says this: the code with which it was closed."""
    async def work():
        async with connect(view) as page:
            await page.send(raw)
            try:
                async with asyncio.timeout(PATIENCE):
                    while True:
                        await page.recv()
            except websockets.exceptions.ConnectionClosed as closed:
                return closed.rcvd.code
    return asyncio.run(work())


def still_works(view):
    view.bags.step(0.04)
    view.update()
    assert opened(view)


@pytest.mark.parametrize('raw', [
    b'', b'\xc1', 'text', msgspec.msgpack.encode([1, 2]), msgspec.msgpack.encode({}),
    msgspec.msgpack.encode({'type': 7}), msgspec.msgpack.encode({'type': 'Nothing'}),
    msgspec.msgpack.encode({'type': 'GuiUpdateMessage'}),
    update('x', None), update('x', {'value': float('nan')}), bytes(20_000)])
def test_a_malformed_message_costs_its_connection_only(site, raw):
    assert said(site, raw) == 1008
    still_works(site)
    assert len(site.told) == 1


@pytest.mark.parametrize('updates', [{'props': None}, {'value': '1', 'removed': True}, {}])
def test_inputs_keep_all_but_their_value(site, updates):
    before = site.bags._bag.options
    assert said(site, update(site.bags._bag._impl.uuid, updates)) == 1008
    still_works(site)
    assert site.bags._bag.options == before


@pytest.mark.parametrize(('part', 'value'), [
    ('_speed', 'fast'), ('_speed', '1e400'), ('_place', 1e300), ('_place', -5.0),
    ('_bag', '../../etc'), ('_play', 3)])
def test_values_that_no_honest_page_sends_do_no_harm(site, part, value, one_bag):
    site.bags.open(one_bag)
    handle = getattr(site.bags, part)

    async def work():
        async with connect(site) as page:
            await page.send(update(handle._impl.uuid, {'value': value}))
            end = time.monotonic() + PATIENCE
            while handle.value != type(handle.value)(value) and time.monotonic() < end:
                await asyncio.sleep(0.01)

    asyncio.run(work())
    for _ in range(3):
        due = site.bags.step(0.04)
        assert 0.0 <= due <= site.bags.playback.seconds
        list(site.bags.playback.advance(due))
    still_works(site)
