"""URDF text of an arm, from a URDF or xacro file."""

from __future__ import annotations

import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree
from xml.parsers.expat import ExpatError

import xacro

from armsense_core import share
from armsense_core.errors import ArmsenseError, BadValue


def find_description(name: str, beside: Path | None = None) -> Path:
    """The file `name`: absolute, beside the arm's yaml, or in the shared `urdf/` folder."""
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


def load_description(path: Path, arguments: dict[str, str] | None = None) -> str:
    """URDF text; xacro files are expanded with `arguments`."""
    try:
        if path.suffix == '.xacro':
            text = str(xacro.process_file(str(path), mappings=arguments or {}).toxml())
        else:
            text = path.read_text()
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ArmsenseError(f'{path} is not valid XML: {error}') from error
    except UnicodeDecodeError as error:
        raise ArmsenseError(f'{path} is not text: {error.reason}') from error
    except OSError as error:
        raise ArmsenseError(f'cannot read {path}: {error.strerror}') from error
    except (xacro.XacroException, ExpatError) as error:
        raise ArmsenseError(f'{path}: xacro: {" ".join(str(error).split())}') from error
    check_inertials(root, path.name)
    return text


def check_inertials(root: ElementTree.Element, where: str) -> None:
    """Raise where a mass is not positive or a number is not finite."""
    for link in root.findall('link'):
        name = link.get('name', '?')
        for tag in link.findall('inertial'):
            for element in tag.iter():
                for key, value in element.attrib.items():
                    _check_numbers(value, f'{where}: link {name!r}: {element.tag} {key}')
            mass = tag.find('mass')
            kilograms = math.nan if mass is None else float(mass.get('value', 'nan'))
            if not kilograms > 0.0:
                raise BadValue(f'{where}: link {name!r}: mass', kilograms, '> 0 kg')


def _check_numbers(text: str, what: str) -> None:
    for word in text.split():
        try:
            finite = math.isfinite(float(word))
        except ValueError:
            finite = False
        if not finite:
            raise BadValue(what, word, 'a finite number')
