"""Optional dependencies: which extra of the package brings a module that is missing."""

from importlib import metadata
import re

OTHER_NAMES = {'PIL': 'pillow', 'can': 'python-can'}   # modules that are called otherwise


def lacking(error: ModuleNotFoundError) -> str:
    """What to type, in one line."""
    module = (error.name or '?').split('.')[0]
    package = OTHER_NAMES.get(module, module)
    try:
        needs = metadata.requires('armsense') or []
    except metadata.PackageNotFoundError:
        needs = []
    for need in needs:
        if extra := re.match(rf'{re.escape(package)}\b.*extra == [\'"](\w+)', need):
            return f'{module} is not installed; type: pip install "armsense[{extra[1]}]"'
    return f'{module} is not installed'
