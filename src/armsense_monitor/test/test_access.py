"""Only who knows the token may control, and guessing is slow."""

from armsense_monitor.view_control import Access


def test_random_tokens_differ_and_are_long_enough():
    tokens = {Access().token for _ in range(20)}
    assert len(tokens) == 20
    assert min(map(len, tokens)) >= 12


def test_token_opens_for_one_page_until_it_leaves():
    access = Access('secret')
    assert not access.allows(1)
    assert access.enter(1, ' secret ', 0.0) == ''
    assert access.allows(1)
    assert not access.allows(2)
    access.leave(1)
    assert not access.allows(1)


def test_wrong_token_is_refused_and_closes_the_door_for_a_second():
    access = Access('secret')
    assert 'wrong token' in access.enter(1, 'secret1', 10.0)
    assert 'wait' in access.enter(2, 'secret', 10.9)
    assert not access.allows(2)
    assert access.enter(2, 'secret', 11.1) == ''
