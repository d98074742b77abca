"""Simulations keep away from arms that run."""

import os
import socket

import pytest

from armsense.errors import ArmsenseError
from armsense_bringup.workspace import own_domain

DOMAIN = 101      # above those of the tests


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')


@pytest.fixture(params=[0, 3])
def somebody(request):
    """The first participant of the domain, or one that came later."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as talker:
        talker.bind(('127.0.0.1', 7410 + 250 * DOMAIN + 2 * request.param))
        yield


def test_an_empty_domain_is_taken(environment, capsys):
    own_domain.keep_apart()
    assert os.environ['ROS_DOMAIN_ID'] == str(DOMAIN)
    assert os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert capsys.readouterr().err == ''


def test_where_somebody_talks_another_one_is_taken(environment, somebody, capsys):
    own_domain.keep_apart()
    assert os.environ['ROS_DOMAIN_ID'] != str(DOMAIN)
    assert not own_domain.in_use(int(os.environ['ROS_DOMAIN_ID']))
    assert capsys.readouterr().err.startswith(f'somebody talks in ROS domain {DOMAIN}: ')


def test_a_real_participant_is_noticed():
    rclpy = pytest.importorskip('rclpy')
    domain = own_domain.free_domain()
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node('somebody', context=context)
    try:
        assert own_domain.in_use(domain)
    finally:
        node.destroy_node()
        context.try_shutdown()


def test_no_domain_left(monkeypatch):
    monkeypatch.setattr(own_domain, '_taken', lambda port: True)
    with pytest.raises(ArmsenseError, match='from 10 to 39 is in use'):
        own_domain.free_domain()
