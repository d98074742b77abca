"""Many independent tasks: in this process, on all cores, or on a Dask cluster."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed, ProcessPoolExecutor
import importlib
import multiprocessing
import os
from typing import Any, TypeVar

from armsense.errors import ArmsenseError

T = TypeVar('T')
R = TypeVar('R')

CONNECT = 10.0   # [s] granted to a scheduler to answer


def run_tasks(work: Callable[[T], R], tasks: Sequence[T], jobs: int = 1,
              scheduler: str | None = None) -> Iterator[R]:
    """Results in the order in which they come; a result must tell which task it belongs to.

    The work must be picklable: a function of a module, or `functools.partial` of one. One job is
    done in this process. A Dask scheduler has an address such as tcp://host:8786; its workers need
    this workspace and must find files under the same paths.
    """
    if scheduler is not None:
        yield from _on_cluster(work, tasks, scheduler)
    elif min(jobs, len(tasks)) <= 1:
        for task in tasks:
            yield work(task)
    else:
        yield from _on_cores(work, tasks, min(jobs, len(tasks)))


def _on_cores(work: Callable[[T], R], tasks: Sequence[T], jobs: int) -> Iterator[R]:
    # One thread of linear algebra per process: more only fight for the cores.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    context = multiprocessing.get_context('spawn')   # a fork would share MuJoCo's and BLAS' state
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _on_cluster(work: Callable[[T], R], tasks: Sequence[T], scheduler: str) -> Iterator[R]:
    try:
        distributed: Any = importlib.import_module('distributed')   # it has no types
    except ImportError as error:
        raise ArmsenseError('--dask needs the package distributed, which is not installed: '
                            'pip install distributed') from error
    try:
        client = distributed.Client(scheduler, timeout=CONNECT)
    except (OSError, ValueError) as error:
        raise ArmsenseError(f'no Dask scheduler answers at {scheduler}; start one with '
                            f'"dask scheduler" and workers with "dask worker {scheduler}"'
                            ) from error
    with client:
        futures = client.map(work, list(tasks), pure=False)
        for future in distributed.as_completed(futures):
            yield future.result()
