"""`./armsense doctor [--json] [--live]`: what this machine has and lacks, or how a running arm is.

Problems are what keeps the simulation from running; notes are what only the real arm needs.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
from pathlib import Path
import platform
import resource
import shutil
import subprocess
from typing import Any

from armsense_bringup.workspace.machine import become, check_machine, compiler, SetupError
from armsense_bringup.workspace.workspace import Workspace


def examine(workspace: Workspace) -> dict[str, Any]:
    """Findings by name; `problems` lists what has to be mended."""
    problems: list[str] = []
    try:
        check_machine(workspace.root, need_compiler=not workspace.ready())
    except SetupError as error:
        problems.append(str(error))
    return {
        'python': platform.python_version(),
        'machine': f'{platform.machine()}, {os.cpu_count()} cores, {platform.system()} '
                   f'{platform.release()}',
        'workspace': 'built' if workspace.ready() else 'not built yet (./armsense build)',
        'ros': ros(workspace),
        'rmw': os.environ.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp (default)'),
        'compiler': compiler_version(),
        'can': can_interfaces(),
        'spi': sorted(glob.glob('/dev/spidev*')),
        'realtime_priority': realtime_priority(),
        'locked_memory': locked_memory(),
        'kernel': kernel(),
        'governor': governor(),
        'disk_free_gb': round(shutil.disk_usage(workspace.root).free / 1e9, 1),
        'problems': problems,
    }


def ros(workspace: Workspace) -> str:
    if workspace.ros_distro:
        return f'{workspace.ros_distro} (installed)'
    if not workspace.python.exists():
        return 'jazzy (wheels, not installed yet)'
    query = 'import importlib.metadata as m; print(m.version("ros-rclpy"))'
    answer = subprocess.run([str(workspace.python), '-c', query], capture_output=True, text=True)
    version = answer.stdout.strip() or 'incomplete'
    return f'jazzy (wheels, rclpy {version})'


def compiler_version() -> str | None:
    path = compiler()
    if path is None:
        return None
    answer = subprocess.run([path, '--version'], capture_output=True, text=True)
    return answer.stdout.splitlines()[0] if answer.stdout else path


def can_interfaces() -> list[str]:
    return sorted(path.parent.name for path in Path('/sys/class/net').glob('*/type')
                  if path.read_text().strip() == '280')  # ARPHRD_CAN


def realtime_priority() -> int:
    """Highest SCHED_FIFO priority this user may take; 0: none."""
    if os.geteuid() == 0:
        return 99
    return max(0, resource.getrlimit(resource.RLIMIT_RTPRIO)[0])


def locked_memory() -> str:
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return 'unlimited' if limit == resource.RLIM_INFINITY else f'{limit // 1024} KiB'


def kernel(folder: Path = Path('/sys/kernel')) -> str:
    """How far the kernel lets an urgent thread interrupt it."""
    realtime = folder / 'realtime'
    if realtime.exists() and realtime.read_text().strip() == '1':
        return 'real-time (PREEMPT_RT)'
    return 'preemptible' if 'PREEMPT' in platform.version() else 'ordinary'


def governor(folder: Path = Path('/sys/devices/system/cpu')) -> str | None:
    """How the first core chooses its clock; None: it does not say."""
    file = folder / 'cpu0/cpufreq/scaling_governor'
    return file.read_text().strip() if file.exists() else None


def notes(found: dict[str, Any]) -> list[str]:
    """Advice for the real arm."""
    advice = []
    if not found['can']:
        advice.append('no CAN interface: hardware:=can needs one (ip link set can0 up type can '
                      'bitrate 1000000)')
    if not found['spi']:
        advice.append('no /dev/spidev*: hardware:=spi needs one (enable SPI in the boot config)')
    if not found['realtime_priority']:
        advice.append('no real-time priority: on the real arm add "@realtime - rtprio 98" to '
                      '/etc/security/limits.d')
    if not found['kernel'].startswith('real-time'):
        advice.append(f'the kernel is {found["kernel"]}: with PREEMPT_RT fewer periods are missed '
                      '(docs/process.md)')
    if found['governor'] not in (None, 'performance'):
        advice.append(f'the clock of the cores follows their load ({found["governor"]}): on the '
                      'real arm choose "performance" (cpupower frequency-set -g performance)')
    if (os.cpu_count() or 1) < 2:
        advice.append('one core: everything shares it with the loop; process:=one needs least')
    return advice


def main(workspace: Workspace, arguments: list[str]) -> int:
    """Examine, in this Python; the exit code."""
    parser = argparse.ArgumentParser(prog='armsense doctor', description=__doc__)
    parser.add_argument('--json', action='store_true', help='one JSON object')
    parser.add_argument('--live', action='store_true',
                        help='listen to a running arm and say what is wrong with it')
    options, rest = parser.parse_known_args(arguments)
    if options.live:   # needs ROS
        workspace.ensure()
        become([str(workspace.python), '-m', 'armsense_bringup.workspace.doctor_live', *rest,
                *(['--json'] if options.json else [])], workspace.environment())
    if rest:
        parser.error(f'unknown arguments: {" ".join(rest)}')
    found = examine(workspace)
    if options.json:
        print(json.dumps(found))
    else:
        show(found)
    return 1 if found['problems'] else 0


def show(found: dict[str, Any]) -> None:
    for name, value in found.items():
        if name != 'problems':
            text = ', '.join(value) or 'none' if isinstance(value, list) else value
            print(f'{name.replace("_", " "):<18} {text}')
    for advice in notes(found):
        print(f'note: {advice}')
    for problem in found['problems']:
        print(f'PROBLEM: {problem}')
    print('no problems' if not found['problems'] else '')
