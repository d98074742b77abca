"""armsense: a robot arm that feels what it touches, without touch sensors.

    robot = armsense.load('ur10e')                     # or a URDF, or an arm file
    rec = armsense.Recording.from_csv('run.csv', robot, time='t', position='q1-q6', effort='i1-i6')
    fit = armsense.identify(rec, robot)                # print(fit); fit.report('report.html')
    watch = armsense.watch(fit.robot, rate=500)        # watch.step(t, q, effort) -> Sample
    trace = armsense.residuals(rec, fit.robot)         # arrays; trace.plot()

Everything that can be computed without ROS stands below, floor by floor; `import armsense` loads
none of it before it is asked for.
"""

import importlib
import sys
from types import ModuleType
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from armsense.api.fit import Fit, identify
    from armsense.api.motion import design_excitation, Push, simulate
    from armsense.api.recording import Recording
    from armsense.api.robot import load, robots
    from armsense.api.watching import calibrate, Hit, Residuals, residuals, Sample, Watch, watch
    from armsense.detector import ContactEstimate
    from armsense.errors import ArmsenseError
    from armsense.excite import Excitation
    from armsense.model import Arm
    from armsense.model.model_file import ModelFile, Thresholds

_PLACES = {
    'api.fit': ('Fit', 'identify'),
    'api.motion': ('design_excitation', 'Push', 'simulate'),
    'api.recording': ('Recording',),
    'api.robot': ('load', 'robots'),
    'api.watching': ('calibrate', 'Hit', 'Residuals', 'residuals', 'Sample', 'Watch', 'watch'),
    'detector': ('ContactEstimate',),
    'errors': ('ArmsenseError',),
    'excite': ('Excitation',),
    'model': ('Arm',),
    'model.model_file': ('ModelFile', 'Thresholds'),
}
_PLACE = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    'Arm', 'ArmsenseError', 'calibrate', 'ContactEstimate', 'design_excitation', 'Excitation',
    'Fit', 'Hit', 'identify', 'load', 'ModelFile', 'Push', 'Recording', 'residuals', 'Residuals',
    'robots', 'Sample', 'simulate', 'Thresholds', 'watch', 'Watch']


class _Root(ModuleType):
    """Functions have the names of the rooms `identify` and `watch`: here the functions count."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PLACE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name == '__version__':
            return importlib.import_module('importlib.metadata').version('armsense')
        if name not in _PLACE:
            raise AttributeError(f'armsense has no {name!r}; known: {", ".join(__all__)}')
        try:
            value = getattr(importlib.import_module(f'armsense.{_PLACE[name]}'), name)
        except ModuleNotFoundError as error:
            from armsense.extras import lacking
            raise ImportError(f'armsense.{name}: {lacking(error)}', name=error.name) from error
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Root
