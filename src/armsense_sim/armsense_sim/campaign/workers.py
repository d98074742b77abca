"""Who does the tasks: this process, all cores, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed, ProcessPoolExecutor
import multiprocessing
import os
from typing import Any

from armsense_core.errors import ArmsenseError
from armsense_sim.campaign.setup import Known, Setup
from armsense_sim.campaign.tasks import run_task, Task


def run_tasks(setup: Setup, known: Known, tasks: Sequence[Task], jobs: int,
              scheduler: str | None = None) -> Iterator[dict[str, Any]]:
    """Results in the order in which they come.

    Args:
        setup: Of the campaign.
        known: Models and thresholds of the arms.
        tasks: To be done.
        jobs: Processes on this machine; 1: this process.
        scheduler: Address of a Dask scheduler, such as tcp://host:8786; None: this machine.
    """
    if scheduler is not None:
        yield from _on_cluster(setup, known, tasks, scheduler)
    elif jobs == 1:
        for task in tasks:
            yield run_task(setup, known, task)
    else:
        yield from _on_cores(setup, known, tasks, jobs)


def _on_cores(setup: Setup, known: Known, tasks: Sequence[Task],
              jobs: int) -> Iterator[dict[str, Any]]:
    # One thread of linear algebra per process: more only fight for the cores.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    context = multiprocessing.get_context('spawn')   # a fork would share MuJoCo's and BLAS' state
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = [pool.submit(run_task, setup, known, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _on_cluster(setup: Setup, known: Known, tasks: Sequence[Task],
                scheduler: str) -> Iterator[dict[str, Any]]:
    try:
        import distributed
    except ImportError as error:
        raise ArmsenseError('--dask needs the package dask[distributed], which is not installed: '
                            'pip install "dask[distributed]"') from error
    # The workers have this workspace installed; files are named by paths that they can read.
    with distributed.Client(scheduler) as client:
        futures = [client.submit(run_task, setup, known, task, pure=False) for task in tasks]
        for future in distributed.as_completed(futures):
            yield future.result()
