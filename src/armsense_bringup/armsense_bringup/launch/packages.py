"""Where installed packages keep their files, over an AMENT_PREFIX_PATH."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path


class PackageError(LookupError):
    """A package, executable or launch file is not installed."""

    def __str__(self) -> str:
        return str(self.args[0])


def package_prefix(package: str, environment: Mapping[str, str]) -> Path:
    """The installation prefix of a package, the first along the path."""
    prefixes = [p for p in environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    for prefix in prefixes:
        if (Path(prefix) / 'share/ament_index/resource_index/packages' / package).is_file():
            return Path(prefix)
    raise PackageError(
        f'package {package!r} is not installed; looked in AMENT_PREFIX_PATH='
        f'{os.pathsep.join(prefixes) or "(not set)"}')


def package_share(package: str, environment: Mapping[str, str]) -> Path:
    """`<prefix>/share/<package>`."""
    return package_prefix(package, environment) / 'share' / package


def package_executable(package: str, name: str, environment: Mapping[str, str]) -> Path:
    """`<prefix>/lib/<package>/<name>`, which has to be executable."""
    folder = package_prefix(package, environment) / 'lib' / package
    path = folder / name
    if path.is_file() and os.access(path, os.X_OK):
        return path
    known = sorted(
        item.name for item in folder.glob('*') if item.is_file() and os.access(item, os.X_OK))
    raise PackageError(
        f'package {package!r} has no executable {name!r}; known: {", ".join(known) or "none"}')


def package_launch_file(package: str, name: str, environment: Mapping[str, str]) -> Path:
    """A launch file anywhere in the share folder of a package, as `ros2 launch` finds it."""
    share = package_share(package, environment)
    files = [path for path in sorted(share.rglob('*.launch.xml')) if path.is_file()]
    matches = [path for path in files if path.name == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise PackageError(
            f'package {package!r} has {name!r} more than once: {", ".join(map(str, matches))}')
    known = ', '.join(path.name for path in files) or 'none'
    raise PackageError(f'package {package!r} has no launch file {name!r}; known: {known}')
