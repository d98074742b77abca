"""Where arms, robot descriptions and other shared files are found."""

import os
from pathlib import Path

from armsense.errors import ArmsenseError, UnknownName


def share_folders() -> list[Path]:
    """Folders that hold `config/` and `urdf/`: installed workspaces, then the source tree."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    folders = [Path(p) / 'share' / 'armsense_bringup' for p in prefixes if p]
    folders += list(Path(__file__).resolve().parents)
    return [f for f in folders if (f / 'config' / 'arms').is_dir()]


def find(relative: str) -> Path:
    """First shared file with this relative name, such as `config/controllers.yaml`."""
    folders = share_folders()
    for folder in folders:
        if (folder / relative).is_file():
            return folder / relative
    places = ', '.join(map(str, folders)) or 'nowhere (no AMENT_PREFIX_PATH, no source tree)'
    raise ArmsenseError(f'{relative} was not found in {places}')


def arm_names() -> list[str]:
    """Arms that can be named."""
    files = (path for f in share_folders() for path in (f / 'config' / 'arms').glob('*.yaml'))
    return sorted({path.stem for path in files})


def find_arm(arm: str | Path) -> Path:
    """The yaml of an arm, by name or as a path to a file of one's own."""
    if str(arm).endswith('.yaml'):
        path = Path(arm)
        if not path.is_file():
            raise ArmsenseError(f'the arm file {path} does not exist')
        return path
    if str(arm) not in arm_names():
        raise UnknownName('arm', arm, arm_names())
    return find(f'config/arms/{arm}.yaml')


def message_definitions() -> dict[str, str]:
    """Texts of our message types by name, such as `armsense_msgs/msg/Residual`."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    folders = [Path(p) / 'share' for p in prefixes if p]
    folders += [parent / 'src' for parent in Path(__file__).resolve().parents]
    for folder in folders:
        files = sorted((folder / 'armsense_msgs' / 'msg').glob('*.msg'))
        if files:
            return {f'armsense_msgs/msg/{file.stem}': file.read_text() for file in files}
    raise ArmsenseError('the message types of armsense_msgs were found in no workspace and no '
                        'source tree')
