"""Work in a process of its own: progress, result, failure, cancel."""

import os
import time

import pytest

from armsense.cli.worker import Cancelled, Worker
from armsense.errors import ArmsenseError

pytestmark = pytest.mark.slow


def count(request, tell):
    for k in range(request):
        tell(k)
    return os.getpid()


def fail(request, tell):
    raise ArmsenseError(request)


def crash(request, tell):
    os._exit(7)


def sleep(request, tell):
    tell(os.getpid())
    time.sleep(1000.0)


def told(worker, cancelled=lambda: False):
    return [value for value in worker.poll(cancelled) if value is not None]


def test_progress_and_result_of_another_process():
    worker = Worker(count, request=3)     # the newest of several words counts
    assert told(worker)[-1] == 2
    assert worker.result != os.getpid()


def test_failure_keeps_its_words():
    with pytest.raises(ArmsenseError, match='too heavy'):
        told(Worker(fail, request='too heavy'))


def test_crash_is_told():
    with pytest.raises(ArmsenseError, match='exit code 7'):
        told(Worker(crash, request=None))


def test_cancel_ends_the_process():
    words = Worker(sleep, request=None).poll(lambda: bool(pids))
    pids: list = []
    while not pids:
        pids += [value for value in [next(words)] if value is not None]
    with pytest.raises(Cancelled):
        next(words)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
