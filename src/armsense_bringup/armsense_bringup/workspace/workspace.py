"""The workspace of a checkout: virtual environment, pinned wheels, colcon build.

Only the standard library is used, because this runs before anything is installed. Every stage
leaves a stamp with the hash of its inputs, so that nothing is done twice and an interrupted
start resumes where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import fcntl
import hashlib
import json
import os
from pathlib import Path
import platform
import re
import shutil
import subprocess
import sys
import sysconfig

from armsense_bringup.workspace.machine import (
    check_machine,
    explain_failure,
    own_middleware,
    Progress,
    SetupError,
)

COMPAT_PACKAGES = ('control_msgs', 'tf2_msgs')   # of src/compat, built where ROS lacks them
# What a ROS environment consists of; everything else of the user's environment is left alone.
ROS_VARIABLES = (
    'PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH',
    'COLCON_PREFIX_PATH', 'ROS_DISTRO', 'ROS_VERSION', 'ROS_PYTHON_VERSION')


class Workspace:
    """The checkout at `root` and what was made of it."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.venv = self.root / '.venv'
        self.python = self.venv / 'bin' / 'python'
        self.log = self.root / 'log' / 'setup.log'

    @property
    def ros_distro(self) -> str | None:
        """Name of the ROS 2 installation in this shell; None where the wheels serve."""
        if os.environ.get('ARMSENSE_ROS') == 'wheels':  # our own child process
            return None
        return os.environ.get('ROS_DISTRO') or None

    @property
    def lock_files(self) -> list[Path]:
        names = ['base.lock'] if self.ros_distro else ['base.lock', 'ros.lock']
        return [self.root / 'requirements' / name for name in names]

    def ready(self) -> bool:
        """Whether nothing has to be installed or built."""
        return self._installed() and self._built()

    def ensure(self) -> None:
        """Install and build what is not there yet; a second starter waits for the first."""
        if self.ready():
            return
        with self._exclusive():
            if not self._installed():
                check_machine(self.root, need_compiler=not self._built())
                self._install()
            if not self._built():
                check_machine(self.root)
                self._build()

    def build(self) -> None:
        """Build even where the stamps say that all is there."""
        with self._exclusive():
            if not self._installed():
                check_machine(self.root)
                self._install()
            self._build()

    def environment(self) -> dict[str, str]:
        """Variables of a process that runs in the built workspace."""
        env = dict(os.environ)
        # Guard of the wheels' start-up hook; inherited, it would keep the hook from working.
        env.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
        env.update(json.loads((self.root / 'install' / 'armsense_env.json').read_text()))
        env['PATH'] = f'{env.pop("PATH_ADDED")}:{env.get("PATH", "/usr/bin:/bin")}'
        env.update(own_middleware(self.root, env))
        env['ARMSENSE_ROOT'] = str(self.root)
        # Matrices are small here: a second BLAS thread only takes a core from another node.
        env.setdefault('OMP_NUM_THREADS', '1')
        if not self.ros_distro:
            env['ARMSENSE_ROS'] = 'wheels'
        return env

    # -- stamps ------------------------------------------------------------------------------

    def _made_here(self) -> bool:
        """Whether the virtual environment is of this folder, this Python and this kind of ROS."""
        return self.python.exists() and _read(self.venv / 'created.stamp') == self._origin()

    def _installed(self) -> bool:
        return self._made_here() and _read(self.venv / 'installed.stamp') == self._install_key()

    def _built(self) -> bool:
        return _read(self.root / 'install' / 'built.stamp') == self._build_key()

    def _origin(self) -> str:
        """What .venv and build belong to; they hold absolute paths, no tool moves them."""
        return (f'{self.root.resolve()}\npython {sysconfig.get_python_version()}\n'
                f'{self.ros_distro or "wheels"}\n')

    def _install_key(self) -> str:
        digest = hashlib.sha256(f'{platform.python_version()} {self._origin()}'.encode())
        for lock in self.lock_files:
            digest.update(lock.read_bytes())
        return digest.hexdigest()

    def _build_key(self) -> str:
        """Changes when colcon has something to do; symlinked Python sources do not count."""
        digest = hashlib.sha256(self._install_key().encode())
        contents = ('package.xml', 'CMakeLists.txt', 'setup.py', 'setup.cfg', '.msg', '.srv',
                    '.action')
        for path in sorted((self.root / 'src').rglob('*')):
            if path.name.endswith(contents):
                digest.update(f'{path.relative_to(self.root)}'.encode() + path.read_bytes())
        installed_by_name = [self.root / name for name in ('launch', 'config', 'urdf')]
        installed_by_name.append(self.root / 'src' / 'armsense_bringup' / 'armsense_bringup')
        for folder in installed_by_name:
            for path in sorted(folder.rglob('*')):
                if '__pycache__' not in path.parts:
                    digest.update(f'{path.relative_to(self.root)}\n'.encode())
        return digest.hexdigest()

    # -- stages ------------------------------------------------------------------------------

    def _install(self) -> None:
        progress = Progress()
        if not self._made_here():
            self._keep_installed_ros()
            progress.show('creating .venv')
            for folder in (self.venv, self.root / 'build', self.root / 'install'):
                shutil.rmtree(folder, ignore_errors=True)
            # Not sys.executable: that may be the one in the folder that has just been removed.
            python = getattr(sys, '_base_executable', sys.executable)
            command = [python, '-m', 'venv', str(self.venv)]
            if self.ros_distro:
                command.append('--system-site-packages')
            self._run(command, 'creating the virtual environment', lambda line: None)
            if self.ros_distro:
                prefer_venv(self.venv)
            (self.venv / 'COLCON_IGNORE').touch()
            (self.venv / 'created.stamp').write_text(self._origin())
        total = sum(_count_pins(lock) for lock in self.lock_files)
        seen = 0

        def count(line: str) -> None:
            nonlocal seen
            found = re.match(r'(?:Collecting|Processing|Requirement already satisfied:) (\S+)',
                             line)
            if found:
                seen += 1
                name = Path(found.group(1)).name.split('=')[0].split('-py3')[0]
                progress.show(f'wheel {seen} of at most {total}: {name}')
            elif line.startswith('Installing collected packages'):
                progress.show('unpacking the wheels (about a minute)')

        # The lock files are complete; without --no-deps older pips stumble over extras in them.
        # -I: what ROS has on PYTHONPATH does not count as installed.
        command = [str(self.python), '-I', '-m', 'pip', 'install', '--require-hashes', '--no-deps',
                   '--no-input', '--disable-pip-version-check', '--progress-bar', 'off']
        for lock in self.lock_files:
            command += ['-r', str(lock)]
        self._run(command, 'installing the wheels', count)
        if not self.ros_distro:
            adapt_wheels(self.venv)
        (self.venv / 'installed.stamp').write_text(self._install_key())
        progress.done('wheels installed')

    def _keep_installed_ros(self) -> None:
        """A build on an installed ROS is not lost because a shell did not source it."""
        distro = (_read(self.venv / 'created.stamp') or 'wheels').split()[-1]
        if self.ros_distro is None and distro != 'wheels':
            raise SetupError(f'this workspace was built with ROS 2 {distro}: source /opt/ros/'
                             f'{distro}/setup.bash (or remove .venv, then wheels are taken)')

    def _build(self) -> None:
        progress = Progress()
        key = self._build_key()
        packages = (len(list((self.root / 'src').glob('*/package.xml')))
                    + len(self._missing_packages()))
        finished = 0

        def count(line: str) -> None:
            nonlocal finished
            if line.startswith('Finished <<<'):
                finished += 1
            if line.startswith(('Starting >>>', 'Finished <<<')):
                progress.show(f'building {finished}/{packages}: {line.split()[2]}')

        progress.show('building the workspace')
        self._run(['bash', '-c', self._build_script()], 'building the workspace', count,
                  env=_clean_environment(self))
        self._capture_environment()
        (self.root / 'install' / 'built.stamp').write_text(key)
        progress.done(f'{packages} packages built')

    def _build_script(self) -> str:
        # COLCON_IGNORE hides src/compat, also from a plain `colcon build`; named, they are built.
        folders = ['src', *(f'src/compat/{name}' for name in self._missing_packages())]
        colcon = (   # exec: a signal must reach colcon, not the shell
            f'exec "{self.python}" -m colcon build --base-paths {" ".join(folders)} '
            '--symlink-install --event-handlers console_direct- '
            '--cmake-args -DPython3_FIND_VIRTUALENV=ONLY '
            f'-DPython3_EXECUTABLE="{self.python}"')
        return colcon if self.ros_distro else f'. "{self.venv}/local_setup.sh" && {colcon}'

    def _missing_packages(self) -> list[str]:
        """Those of `COMPAT_PACKAGES` that the ROS below this workspace lacks."""
        below = [self.venv]
        if self.ros_distro:
            entries = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
            below = [Path(entry) for entry in entries
                     if entry and not Path(entry).resolve().is_relative_to(
                         self.root.resolve() / 'install')]
        return [name for name in COMPAT_PACKAGES
                if not any((prefix / 'share' / name / 'package.xml').exists()
                           for prefix in below)]

    def _capture_environment(self) -> None:
        """Keep what `install/setup.bash` sets: sourcing it again costs a second at each start."""
        script = f'. "{self.root}/install/setup.bash" && env -0'
        out = subprocess.run(['bash', '-c', script], env=_clean_environment(self), check=True,
                             capture_output=True).stdout.decode()
        variables = dict(entry.split('=', 1) for entry in out.split('\0') if '=' in entry)
        kept = {name: variables[name] for name in ROS_VARIABLES if name in variables}
        # Only what the workspace adds to PATH: the user's own part may change between starts.
        usual = os.environ.get('PATH', '').split(':')
        added = [entry for entry in kept.pop('PATH').split(':') if entry not in usual]
        kept['PATH_ADDED'] = ':'.join([f'{self.venv}/bin', *added])
        kept['VIRTUAL_ENV'] = str(self.venv)
        (self.root / 'install' / 'armsense_env.json').write_text(json.dumps(kept, indent=1))

    # -- running -----------------------------------------------------------------------------

    def _run(self, command: list[str], what: str, on_line: Callable[[str], None],
             env: dict[str, str] | None = None) -> None:
        self.log.parent.mkdir(exist_ok=True)
        lines: list[str] = []
        with self.log.open('a') as log:
            log.write(f'\n$ {" ".join(command)}\n')
            process = subprocess.Popen(
                command, cwd=self.root, env=env, text=True, errors='replace',
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    log.write(line)
                    lines.append(line)
                    on_line(line)
                code = process.wait()
            except BaseException:   # Ctrl-C and SIGTERM too
                process.terminate()
                process.wait()
                raise
        if code != 0:
            raise SetupError(explain_failure(what, lines, self.log))

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        self.log.parent.mkdir(exist_ok=True)
        with (self.log.parent / 'setup.lock').open('w') as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print('another ./armsense is setting this workspace up: waiting for it',
                      file=sys.stderr)
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def adapt_wheels(venv: Path) -> None:
    """Make the ROS wheels usable by CMake and colcon on this machine.

    Their exported targets carry include folders of the machine that built them, and they ship no
    `local_setup` scripts.
    """
    python = venv / 'bin' / 'python'
    query = ('import sysconfig, numpy; paths = sysconfig.get_paths(); '
             'print(paths["include"], numpy.get_include(), paths["purelib"], sep="\\n")')
    python_include, numpy_include, site = subprocess.run(
        [str(python), '-c', query], check=True, text=True, capture_output=True).stdout.splitlines()
    for path in (venv / 'share').rglob('*.cmake'):
        text = path.read_text(errors='surrogateescape')
        fixed = re.sub(r'/opt/python/cp\d+-cp\d+/include/python3\.\d+', python_include, text)
        fixed = re.sub(r'[^;"\s]*/numpy/_?core/include', numpy_include, fixed)
        if fixed != text:
            path.write_text(fixed, errors='surrogateescape')
    script = (
        f'export PATH="{venv}/bin:$PATH"\n'
        f'export AMENT_PREFIX_PATH="{venv}${{AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}}"\n'
        f'export CMAKE_PREFIX_PATH="{venv}${{CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}}"\n'
        f'export LD_LIBRARY_PATH="{venv}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"\n'
        f'export PYTHONPATH="{site}${{PYTHONPATH:+:$PYTHONPATH}}"\n')
    for shell in ('sh', 'bash', 'zsh'):
        (venv / f'local_setup.{shell}').write_text(script)


def prefer_venv(venv: Path) -> None:
    """Let a virtual environment come before PYTHONPATH, where ROS has packages for apt's NumPy."""
    site, = venv.glob('lib/python3.*/site-packages')
    (site / 'zz_before_pythonpath.pth').write_text(   # zz: those of others add folders before it
        "import os, sys; sys.path.sort(key=os.environ.get('PYTHONPATH', '').split(os.pathsep)"
        '.__contains__)\n')


def _clean_environment(workspace: Workspace) -> dict[str, str]:
    """The user's environment without traces of other workspaces (or of our own children)."""
    env = dict(os.environ)
    if workspace.ros_distro is None:
        for name in ('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'COLCON_PREFIX_PATH', 'PYTHONPATH',
                     'LD_LIBRARY_PATH', 'ROS_DISTRO'):
            env.pop(name, None)
    env.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    return env


def _count_pins(lock: Path) -> int:
    return sum('==' in line for line in lock.read_text().splitlines())


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
