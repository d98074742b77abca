"""The supervisor with real processes, from Python as system tests use it."""

from __future__ import annotations

import io
import os
from pathlib import Path
import re
import signal
import sys
import time

import pytest

from armsense_bringup.launch.output import Echo, LAUNCHER, OutputLine, reason, Tracebacks
from armsense_bringup.launch.plan import load, ProcessSpec
from armsense_bringup.launch.supervisor import Supervisor, Timeouts

LONG = 30.0  # [s] a limit that only a hanging test reaches


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def plan(prefix, *nodes: str) -> list[ProcessSpec]:
    """Nodes n0, n1, ... from the attributes of each."""
    body = '\n'.join(
        f'<node pkg="fake" exec="probe" name="n{i}" {node}/>' for i, node in enumerate(nodes))
    return load(prefix.launch_file(body), environment=prefix.environment)


def test_output_is_recorded_with_name_and_stream(prefix) -> None:
    with Supervisor(plan(prefix, 'args="polite"', 'args="exit=0"')) as supervisor:
        ready = supervisor.wait_for_line('ready', LONG, 'n0')
        complaint = supervisor.wait_for_line('complaint', LONG, 'n0')
        assert supervisor.wait_for_line('no newline', LONG).text == 'no newline'
        supervisor.wait_for_line('n1 finished', LONG, LAUNCHER)
        pid = supervisor.pid('n0')
        assert supervisor.running() == ['n0']
        assert os.getpgid(pid) == pid  # its own group: the terminal's Ctrl-C does not reach it
    assert (ready.stream, complaint.stream) == ('stdout', 'stderr')
    assert supervisor.exit_codes == {'n0': 0, 'n1': 0}
    assert ('n0', 'stdout', 'leaving') in supervisor.lines
    assert supervisor.exit_code == 0
    assert not alive(pid)


def test_a_crash_is_reported_and_the_others_go_on(prefix) -> None:
    with Supervisor(plan(prefix, 'args="exit=3"', 'args="polite"')) as supervisor:
        supervisor.wait_for_line('n0 died with exit code 3', LONG, LAUNCHER)
        supervisor.wait_for_line('ready', LONG, 'n1')
        assert supervisor.running() == ['n1']
    assert supervisor.exit_codes == {'n0': 3, 'n1': 0}
    assert supervisor.failed == ['n0']
    assert supervisor.exit_code == 1


def test_a_signal_death_is_named(prefix) -> None:
    with Supervisor(plan(prefix, 'args="run"')) as supervisor:
        supervisor.wait_for_line('ready', LONG)
        os.kill(supervisor.pid('n0'), signal.SIGSEGV)
        assert supervisor.wait(LONG) == 1
    assert supervisor.wait_for_line('SIGSEGV', 0.0).text == 'n0 died of SIGSEGV (exit code -11)'


@pytest.mark.parametrize('code', [0, 4])
def test_on_exit_shutdown_stops_everything(prefix, code: int) -> None:
    nodes = plan(prefix, 'args="polite"', f'args="exit={code}" on_exit="shutdown"')
    supervisor = Supervisor(nodes).start()
    assert supervisor.wait(LONG) == (1 if code else 0)
    assert supervisor.exit_codes['n1'] == code
    assert supervisor.exit_codes['n0'] in (0, -signal.SIGINT)  # or it was not ready for SIGINT
    assert supervisor.failed == (['n1'] if code else [])


def test_sigint_works_where_a_shell_has_it_ignored(prefix) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Supervisor(plan(prefix, 'args="run"'), timeouts=Timeouts(LONG, LONG)) as supervisor:
            supervisor.wait_for_line('ready', LONG)
    finally:
        signal.signal(signal.SIGINT, before)
    assert supervisor.exit_codes == {'n0': -signal.SIGINT}
    assert supervisor.exit_code == 0


def test_escalation_to_sigterm(prefix) -> None:
    supervisor = Supervisor(plan(prefix, 'args="slow"'), timeouts=Timeouts(0.2, LONG))
    with supervisor:
        supervisor.wait_for_line('ready', LONG)
    assert supervisor.exit_codes == {'n0': -signal.SIGTERM}
    assert supervisor.wait_for_line('does not stop', 0.0).text.endswith('sending SIGTERM')
    assert supervisor.exit_code == 0


def test_escalation_to_sigkill_is_a_failure(prefix) -> None:
    with Supervisor(plan(prefix, 'args="stubborn"'), timeouts=Timeouts(0.2, 0.2)) as supervisor:
        supervisor.wait_for_line('ready', LONG)
    assert supervisor.exit_codes == {'n0': -signal.SIGKILL}
    refusals = [line.text for line in supervisor.lines if line.text.startswith('not at')]
    assert refusals == ['not at SIGINT', 'not at SIGTERM']
    assert supervisor.exit_code == 1


def test_stopping_again_hurries(prefix) -> None:
    nodes = plan(prefix, 'args="stubborn"')
    supervisor = Supervisor(nodes, timeouts=Timeouts(100 * LONG, 100 * LONG)).start()
    supervisor.wait_for_line('ready', LONG)
    supervisor.stop()
    supervisor.wait_for_line('not at SIGINT', LONG)
    supervisor.stop()
    supervisor.wait_for_line('not at SIGTERM', LONG)
    with pytest.raises(TimeoutError, match='still running after 0.0 s: n0'):
        supervisor.wait(0.0)
    supervisor.stop()
    assert supervisor.wait(LONG) == 1


def test_however_urgent_nobody_is_killed_while_a_driver_may_brake(prefix) -> None:
    nodes = plan(prefix, 'args="stubborn"')
    supervisor = Supervisor(nodes, timeouts=Timeouts(
        100 * LONG, 100 * LONG, grace=100 * LONG)).start()
    supervisor.wait_for_line('ready', LONG)
    for word in ('not at SIGINT', 'not at SIGTERM'):
        supervisor.stop()
        supervisor.wait_for_line(word, LONG)
    for _ in range(3):
        supervisor.stop()
    with pytest.raises(TimeoutError):
        supervisor.wait(0.5)
    assert not any('SIGKILL' in line.text for line in supervisor.lines)
    os.kill(supervisor.pid('n0'), signal.SIGKILL)
    assert supervisor.wait(LONG) == 1


def test_respawn_until_the_retries_are_used_up(prefix) -> None:
    supervisor = Supervisor(plan(
        prefix, 'args="exit=5" respawn="true" respawn_delay="0.01" respawn_max_retries="2"'))
    assert supervisor.start().wait(LONG) == 1
    assert len(prefix.records()) == 3


def test_a_stop_ends_waiting_for_a_respawn(prefix) -> None:
    nodes = plan(prefix, 'args="exit=5" respawn="true" respawn_delay="1000"')
    with Supervisor(nodes) as supervisor:
        supervisor.wait_for_line('starting it again', LONG)
    assert supervisor.exit_code == 0


def test_what_a_process_leaves_behind_is_killed(prefix) -> None:
    with Supervisor(plan(prefix, 'args="orphan exit=0"', 'args="run"')) as supervisor:
        supervisor.wait_for_line('n0 finished', LONG, LAUNCHER)
        group, = (record['pid'] for record in prefix.records() if 'orphan' in record['words'])
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:  # the kernel needs a moment to carry out the kill
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)
    pytest.fail(f'process group {group} is still there')


def test_an_executable_that_cannot_run_stops_the_launch(prefix) -> None:
    prefix.install('fake', 'broken', '#!/no/such/interpreter\n')
    path = prefix.launch_file(
        '<node pkg="fake" exec="probe" name="n" args="polite"/>\n'
        '<node pkg="fake" exec="broken" name="broken"/>')
    supervisor = Supervisor(load(path, environment=prefix.environment)).start()
    assert supervisor.wait(LONG) == 1
    assert supervisor.exit_codes['broken'] == 127
    supervisor.wait_for_line('broken cannot be started: ', 0.0, LAUNCHER)


def test_parameter_files_are_removed(prefix) -> None:
    path = prefix.launch_file(
        '<node pkg="fake" exec="probe" name="n" args="exit=0"><param name="a" value="1"/></node>')
    assert Supervisor(load(path, environment=prefix.environment)).start().wait(LONG) == 0
    record, = prefix.records()
    assert 'a: 1' in record['parameters'][0]
    file, = (word for word in record['words'] if word.endswith('.yaml'))
    assert not Path(file).exists()


FAILING = """#!{python}
import os, sys, time
up = os.environ['PROBE_RECORD'] + '.up'
if sys.argv[1] == 'first':
    while not os.path.exists(up):
        time.sleep(0.01)
    try:
        {{}}['gear']
    except KeyError as error:
        raise ValueError('board 2 has no gear,\\nnor a number') from error
try:
    open(up, 'w').close()
    time.sleep(60)
finally:
    raise RuntimeError('a consequence')
"""


def test_the_last_line_says_which_process_failed_first_and_why(prefix) -> None:
    prefix.install('fake', 'failing', FAILING.format(python=sys.executable))
    path = prefix.launch_file(
        '<node pkg="fake" exec="failing" name="later" args="second"/>\n'
        '<node pkg="fake" exec="failing" name="cause" args="first" on_exit="shutdown"/>')
    supervisor = Supervisor(load(path, environment=prefix.environment)).start()
    assert supervisor.wait(LONG) == 1
    assert supervisor.failed == ['cause', 'later']
    assert supervisor.failure == ('cause died with exit code 1: ValueError: board 2 has no gear,')
    assert supervisor.lines[-1].text == f'FAILED: {supervisor.failure}'
    # It was asked to stop: what it raised then is told, that it was interrupted is not.
    words = [line.text for line in supervisor.lines if line.name == 'later']
    assert words.count(TRACEBACK[0]) == 1
    assert words[-1] == 'RuntimeError: a consequence'
    assert 'KeyboardInterrupt' not in words


def test_a_success_ends_without_a_reason(prefix) -> None:
    supervisor = Supervisor(plan(prefix, 'args="exit=0"')).start()
    assert supervisor.wait(LONG) == 0
    assert supervisor.lines[-1].text == 'all processes have ended'
    assert supervisor.failure == ''


TRACEBACK = ['Traceback (most recent call last):', '  File "x.py", line 1', 'KeyError: 3']


@pytest.mark.parametrize(('stopping', 'told'), [
    (False, [*TRACEBACK[:2], 'KeyboardInterrupt', 'bye']), (True, ['bye'])])
def test_who_is_asked_to_stop_need_not_tell_that_it_was_interrupted(stopping, told) -> None:
    filter_ = Tracebacks()
    lines = [*TRACEBACK[:2], 'KeyboardInterrupt', 'bye']
    assert [text for line in lines for text in filter_.take(line, stopping)] == told
    assert filter_.take(TRACEBACK[0], stopping) == []
    assert filter_.rest() == [TRACEBACK[0]]


@pytest.mark.parametrize(('lines', 'expected'), [
    ([], ''),
    (['first', 'last words', ''], 'last words'),
    (['[INFO] [12.5] [n]: begin', '[ERROR] [13.5] [n]: no arm'], 'no arm'),
    (['[FATAL] [12.5] [n]: no arm', '[INFO] [13.5] [n]: bye'], 'no arm'),
    ([*TRACEBACK, 'a last word'], 'KeyError: 3'),
    (['[FATAL] [1.5] [n]: ' + TRACEBACK[0], *TRACEBACK[1:], '', '[INFO] [2.5] [n]: bye'],
     'KeyError: 3'),
    ([*TRACEBACK, '[FATAL] [12.5] [n]: no arm'], 'no arm'),
])
def test_the_reason_in_the_words_of_a_process(lines: list[str], expected: str) -> None:
    assert reason(lines) == expected


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_echo_is_coloured_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('NO_COLOR', raising=False)
    line = OutputLine('n', 'stdout', 'text')
    file, terminal = io.StringIO(), Terminal()
    Echo(file)(line)
    Echo(terminal)(line)
    assert file.getvalue() == '[n] text\n'
    assert re.fullmatch(r'\x1b\[\d+m\[n\]\x1b\[0m text\n', terminal.getvalue())


def test_nothing_to_do() -> None:
    supervisor = Supervisor([]).start()
    assert supervisor.wait(LONG) == 0
    supervisor.stop()  # harmless
