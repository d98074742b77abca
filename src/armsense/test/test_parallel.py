"""The same tasks give the same results in one process, in several and on a Dask cluster."""

import functools
import math
import os
import sys

import distributed
import pytest

from armsense.errors import ArmsenseError
from armsense.parallel import run_tasks

TASKS = [3, 1, 4, 5, 9]
TRUTH = sorted(TASKS)


def whereabouts(scale: float, task: int) -> tuple[int, float, int]:
    return task, scale * task, os.getpid()


def check(results: list[tuple[int, float, int]]) -> set[int]:
    assert sorted(task for task, _, _ in results) == TRUTH
    assert all(value == 2.0 * task for task, value, _ in results)
    return {pid for _, _, pid in results}


def test_one_job_stays_in_this_process():
    assert check(list(run_tasks(functools.partial(whereabouts, 2.0), TASKS))) == {os.getpid()}


def test_several_jobs_leave_this_process():
    pids = check(list(run_tasks(functools.partial(whereabouts, 2.0), TASKS, jobs=2)))
    assert os.getpid() not in pids


def test_an_error_of_a_task_reaches_the_caller():
    with pytest.raises(ValueError, match='domain'):
        list(run_tasks(math.sqrt, [-1.0, 4.0], jobs=2))


def test_dask_cluster():
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                  dashboard_address=':0') as cluster:
        check(list(run_tasks(functools.partial(whereabouts, 2.0), TASKS,
                             scheduler=cluster.scheduler_address)))


def test_a_missing_scheduler_is_one_line(monkeypatch):
    monkeypatch.setattr('armsense.parallel.CONNECT', 0.2)
    with pytest.raises(ArmsenseError, match='no Dask scheduler answers at tcp://127.0.0.1:9'):
        list(run_tasks(math.sqrt, [1.0], scheduler='tcp://127.0.0.1:9'))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    with pytest.raises(ArmsenseError, match='pip install distributed'):
        list(run_tasks(math.sqrt, [1.0], scheduler='tcp://127.0.0.1:9'))
