"""Where the URDF of a robot is found: a file, or in a package that somebody else publishes.

my_arm.urdf                                          beside the arm's yaml, or shared
package:ur_description/urdf/ur.urdf.xacro            the vendor's, in a ROS workspace
example-robot-data:panda_description/urdf/panda.urdf    of PyPI
robot_descriptions:ur10e_description                 of PyPI; it fetches with git, once
"""

from collections.abc import Callable
import importlib
import os
from pathlib import Path
import sys

from armsense import share
from armsense.errors import ArmsenseError

INSIDE = 'cmeel.prefix/share'   # of a site-packages folder: where example-robot-data stands


def find_description(name: str, beside: Path | None = None) -> Path:
    """The file that `name` stands for; see the module text."""
    scheme, _, rest = name.partition(':')
    if scheme in SCHEMES:
        return SCHEMES[scheme](rest)
    if Path(name).is_absolute():
        candidates = [Path(name)]
    else:
        candidates = [beside / name] if beside else []
        candidates += [folder / 'urdf' / name for folder in share.share_folders()]
    for path in candidates:
        if path.is_file():
            return path
    places = ', '.join(str(path) for path in candidates)
    raise ArmsenseError(f'robot description {name!r} was not found; looked at {places}')


def package_folders() -> list[Path]:
    """Folders whose subfolders are packages, as `package://NAME/...` means them."""
    said = os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep)
    return [*(Path(folder) for folder in said if folder), *share.workspaces(),
            *(Path(folder) / INSIDE for folder in sys.path)]


def _of_workspace(name: str) -> Path:
    for folder in package_folders():
        if (folder / name).is_file():
            return folder / name
    package = name.split('/')[0]
    raise ArmsenseError(f'{package} is in no workspace of this shell; type: apt install '
                        f'ros-$ROS_DISTRO-{package.replace("_", "-")}, or source the workspace '
                        'that has it')


def _of_example_robot_data(name: str) -> Path:
    for folder in sys.path:
        path = Path(folder) / INSIDE / 'example-robot-data' / 'robots' / name
        if path.is_file():
            return path
    raise ArmsenseError(f'example-robot-data:{name} was not found; type: pip install '
                        'example-robot-data')


def _of_robot_descriptions(name: str) -> Path:
    try:
        module = importlib.import_module(f'robot_descriptions.{name}')
        # A xacro file of theirs finds its own package without a workspace.
        path = importlib.import_module('robot_descriptions._xacro').get_urdf_path(module)
    except ImportError as error:
        raise ArmsenseError(f'robot_descriptions:{name} was not found ({error}); type: pip '
                            'install robot_descriptions xacrodoc') from error
    except Exception as error:   # git's own, and those of a machine without network
        raise ArmsenseError(f'robot_descriptions:{name} could not be fetched '
                            f'({" ".join(str(error).split())[:120]})') from error
    return Path(path)


SCHEMES: dict[str, Callable[[str], Path]] = {
    'package': _of_workspace, 'example-robot-data': _of_example_robot_data,
    'robot_descriptions': _of_robot_descriptions}
