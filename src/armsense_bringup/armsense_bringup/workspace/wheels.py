"""The ROS wheels of PyPI; standard library only."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess


def adapt_wheels(venv: Path) -> None:
    """Make the ROS wheels usable by CMake and colcon on this machine.

    Their exported targets carry include folders of the machine that built them, and they ship no
    `local_setup` scripts.
    """
    python = venv / 'bin' / 'python'
    query = ('import sysconfig, numpy; print(sysconfig.get_paths()["include"]); '
             'print(numpy.get_include())')
    python_include, numpy_include = subprocess.run(
        [str(python), '-c', query], check=True, text=True, capture_output=True).stdout.split()
    for path in (venv / 'share').rglob('*.cmake'):
        text = path.read_text(errors='surrogateescape')
        fixed = re.sub(r'/opt/python/cp\d+-cp\d+/include/python3\.\d+', python_include, text)
        fixed = re.sub(r'[^;"\s]*/numpy/_?core/include', numpy_include, fixed)
        if fixed != text:
            path.write_text(fixed, errors='surrogateescape')
    site = subprocess.run(
        [str(python), '-c', 'import sysconfig; print(sysconfig.get_paths()["purelib"])'],
        check=True, text=True, capture_output=True).stdout.strip()
    script = (
        f'export PATH="{venv}/bin:$PATH"\n'
        f'export AMENT_PREFIX_PATH="{venv}${{AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}}"\n'
        f'export CMAKE_PREFIX_PATH="{venv}${{CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}}"\n'
        f'export LD_LIBRARY_PATH="{venv}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"\n'
        f'export PYTHONPATH="{site}${{PYTHONPATH:+:$PYTHONPATH}}"\n')
    for shell in ('sh', 'bash', 'zsh'):
        (venv / f'local_setup.{shell}').write_text(script)
