"""`./armsense test`: what failed beside others gets a second chance alone, and nothing else."""

import pytest

from armsense_bringup import test_command


@pytest.mark.parametrize(('codes', 'result'), [
    ([0], 0),          # all passed
    ([1, 0], 0),       # one failed, and passed alone
    ([1, 1], 1),       # one fails in any case
    ([2], 2),          # interrupted: not tried again
    ([5], 5),          # no tests found
])
def test_only_failed_tests_are_run_again(monkeypatch, tmp_path, codes, result):
    commands, left = [], list(codes)

    def run(command, root):
        commands.append(command)
        return left.pop(0)
    monkeypatch.setattr(test_command, '_run', run)
    assert test_command.tests(tmp_path, ['test'], []) == result
    assert not left
    assert '-n' in commands[0]
    assert all('--last-failed' in command and '-n' not in command for command in commands[1:])


def test_chosen_tests_run_once(monkeypatch, tmp_path):
    (tmp_path / 'test_one.py').touch()
    commands = []
    monkeypatch.setattr(test_command, '_run', lambda command, root: commands.append(command) or 1)
    assert test_command.tests(tmp_path, ['test'], ['test_one.py']) == 1
    assert [command[-1] for command in commands] == ['test_one.py']
