"""The web monitor before a whole arm and before its bag, in a real browser.

The picture in the README is made here (out/monitor/monitor.png).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

from arm_system import arm_system
from playwright.sync_api import expect
import pytest
from web_browser import browser, click, DESKTOP, open_page, PATIENCE, PICTURES, press, take_picture
import yaml

from armsense_msgs.msg import DriverMode

TOKEN = 'a token for this test'
PUSH = 5.0            # [s] virtual
SHOWN = 0.15          # [s] after the collision: the arm yields, the contact is known


@contextlib.contextmanager
def monitor_of(bag, at):
    """`armsense monitor --bag`; its address."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'armsense_monitor.monitor_command', '--bag', str(bag), '--at',
         str(at), '--port', '0'], stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        for line in process.stderr:
            if found := re.search(r'page: (http\S+)', line):
                yield found[1]
                break
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60.0)
    assert process.returncode == 0


@pytest.fixture(scope='module')
def chromium():
    with browser() as found:
        yield found


def test_push_is_seen_stop_needs_the_token_and_the_bag_shows_it_again(chromium, tmp_path):
    scenario = tmp_path / 'scenario.yaml'
    scenario.write_text(yaml.safe_dump({'events': [{'time': PUSH, 'push': {
        'link': 'link4', 'point': [0.095, 0.0, 0.0], 'force': [0.0, -12.0, 0.0],
        'duration': 0.3}}]}))
    bag = tmp_path / 'pushed' / 'bag'
    with arm_system(lockstep='true', monitor='web', token=TOKEN, web_port='0', record='true',
                    bag=str(bag), scenario=str(scenario),
                    reaction='retract') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        address = supervisor.wait_for_line('page: http', 180.0).text.split('page: ')[1]
        with open_page(chromium, address) as page:
            client.wait(lambda: bool(client.collisions), what='the collision')
            press_stop(page, client)
    assert supervisor.exit_code == 0, supervisor.last_words
    event = client.collisions[0]
    stamp = event.header.stamp.sec + 1e-9 * event.header.stamp.nanosec
    with (monitor_of(bag, stamp + SHOWN) as address,
          open_page(chromium, address, DESKTOP) as page):
        expect(page.get_by_text('reacting', exact=True)).to_be_visible()
        expect(page.get_by_text('joint4 [Nm]')).to_be_visible()
        take_picture(page, 'monitor.png')
        click(page.get_by_role('tab', name='Events'))
        expect(page.get_by_role('cell', name=event.link)).to_be_visible()
        page.wait_for_timeout(3000)
        page.screenshot(path=PICTURES / 'monitor_events.png', timeout=PATIENCE)


def press_stop(page, client):
    """Without the token nothing happens; with it the motors brake."""
    press(page.get_by_role('button', name='STOP'))
    expect(page.get_by_text('Read-only: enter the token first.')).to_be_visible()
    assert client.modes[-1].mode == DriverMode.ENABLED
    page.get_by_role('textbox').first.fill(TOKEN)
    press(page.get_by_role('button', name='Unlock'))
    expect(page.get_by_text('In control.')).to_be_visible()
    press(page.get_by_role('button', name='STOP'))
    client.wait_mode(DriverMode.DAMPING)
    expect(page.locator('span', has_text=re.compile('^damping$'))).to_be_visible()
    click(page.get_by_role('tab', name='Events'))
    expect(page.get_by_role('cell', name=client.collisions[0].link).first).to_be_visible()


@contextlib.contextmanager
def demo_with_page(folder):
    """`armsense demo --web`; its process and the page's address."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'armsense_bringup.demo.command', '--web', '--web-port', '0',
         '--web-seconds', '1', '--json', '--out', str(folder)], text=True, env=dict(os.environ),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        text = ''
        while not (found := re.search(r'watch it at (http\S+), token', text)):
            text += process.stderr.readline()
        yield process, found[1]
    finally:
        process.kill()
        process.wait(10.0)


def test_whole_demo_with_its_page(chromium, tmp_path):
    with demo_with_page(tmp_path) as (process, address):
        with open_page(chromium, address) as page:
            expect(page.get_by_text('joint4 [Nm]')).to_be_visible()
            click(page.get_by_role('tab', name='Events'))
            expect(page.get_by_role('cell', name='link4').first).to_be_visible()
            page.screenshot(path=PICTURES / 'demo_web.png', timeout=PATIENCE)
        out, words = process.communicate(timeout=300.0)
        assert process.returncode == 0, words
    assert json.loads(out.splitlines()[-1])['detected']
