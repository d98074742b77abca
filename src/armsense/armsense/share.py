"""Where arms, robot descriptions and other shared files are found."""

from collections.abc import Iterable
import os
from pathlib import Path

from armsense.errors import ArmsenseError, UnknownName

PACKAGE_DATA = Path(__file__).resolve().parent / 'data'   # in a wheel alone

def share_folders() -> list[Path]:
    """Folders with `config/` and `urdf/`: workspaces, the wheel, then the source tree."""
    folders = [folder / 'armsense_bringup' for folder in workspaces()]
    folders += [PACKAGE_DATA, *PACKAGE_DATA.parents]
    return [f for f in folders if (f / 'config' / 'arms').is_dir()]


def workspaces() -> list[Path]:
    """`share` folders of the ROS workspaces of this shell."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    return [Path(prefix) / 'share' for prefix in prefixes if prefix]


def find(relative: str) -> Path:
    """First shared file with this relative name, such as `config/controllers.yaml`."""
    folders = share_folders()
    for folder in folders:
        if (folder / relative).is_file():
            return folder / relative
    places = ', '.join(map(str, folders)) or 'nowhere (no workspace, no wheel, no source tree)'
    raise ArmsenseError(f'{relative} was not found in {places}')


def arm_names() -> list[str]:
    """Arms that can be named."""
    files = (path for f in share_folders() for path in (f / 'config' / 'arms').glob('*.yaml'))
    return sorted({path.stem for path in files})


def find_arm(arm: str | Path, robots: Iterable[str] = ()) -> Path:
    """The yaml of an arm, by name or as a path to a file of one's own.

    Robots are other names that would have been known.
    """
    if str(arm).endswith('.yaml'):
        path = Path(arm)
        if not path.is_file():
            raise ArmsenseError(f'the arm file {path} does not exist')
        return path
    if str(arm) not in arm_names():
        raise UnknownName('arm', arm, [*arm_names(), *robots])
    return find(f'config/arms/{arm}.yaml')


def message_definitions() -> dict[str, str]:
    """Texts of our message types by name, such as `armsense_msgs/msg/Residual`."""
    for folder in (*workspaces(), PACKAGE_DATA, *(up / 'src' for up in PACKAGE_DATA.parents)):
        files = sorted((folder / 'armsense_msgs' / 'msg').glob('*.msg'))
        if files:
            return {f'armsense_msgs/msg/{file.stem}': file.read_text() for file in files}
    raise ArmsenseError('the message types of armsense_msgs were found in no workspace, no '
                        'wheel and no source tree')
