"""A bag in small steps: the messages that are due, as bytes, with topics as an arm names them."""

from collections.abc import Iterator
from pathlib import Path

from armsense.errors import ArmsenseError
from armsense.recordings.bag_files import is_bag, messages, RawMessage

# Whose topic tells the namespace of the arm.
_TELLING = {'armsense_msgs/msg/MotorStates': 'motor_states',
            'armsense_msgs/msg/Residual': 'residual', 'sensor_msgs/msg/JointState': 'joint_states'}
# In a bag of a lock-step run these may have the wall clock, all others the virtual one.
_OTHER_CLOCK = ('diagnostic_msgs/msg/DiagnosticArray',)


def find_bags(folder: Path) -> list[Path]:
    """Bags below a folder, newest first."""
    files = [path for pattern in ('*.mcap', '*.db3') for path in folder.rglob(pattern)]
    found = {path.parent if (path.parent / 'metadata.yaml').exists() else path for path in files}
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


class BagPlayback:
    """A position in a bag. The file is read as it goes, so that a long bag needs no memory."""

    def __init__(self, path: Path) -> None:
        """Look through the bag once; without a message of an arm that is an error."""
        self.path = path
        if not path.exists() or not is_bag(path):
            raise ArmsenseError(f'{path} is no bag (a rosbag2 folder, .mcap or .db3)')
        self.notes: list[str] = []
        self.types: dict[str, str] = {}
        prefix: str | None = None
        self.begin = self.end = -1       # [ns]
        for message in messages(path, self.notes):
            name = _TELLING.get(message.type, ' ')
            if prefix is None and message.topic.endswith(f'/{name}'):
                prefix = message.topic.removesuffix(name)
            self.types[message.topic] = message.type
            if message.type not in _OTHER_CLOCK:
                self.begin = message.stamp if self.begin < 0 else min(self.begin, message.stamp)
                self.end = max(self.end, message.stamp)
        if prefix is None:
            raise ArmsenseError(f'{path.name} has no {", ".join(_TELLING.values())}; it has '
                                f'{", ".join(self.types) or "nothing"}')
        self._prefix = prefix
        self.types = {self._relative(topic): kind for topic, kind in self.types.items()}
        self.rewind()

    @property
    def seconds(self) -> float:
        """Length of the bag [s]."""
        return 1e-9 * (self.end - self.begin)

    @property
    def position(self) -> float:
        """[s] after its begin."""
        return 1e-9 * (self._now - self.begin)

    @property
    def finished(self) -> bool:
        return self._next is None

    def rewind(self) -> None:
        self._now = self.begin
        self._source = self._read()
        self._next = next(self._source, None)

    def advance(self, seconds: float) -> Iterator[RawMessage]:
        """Go on; the messages of the next seconds in the order of the file."""
        self._now = min(self._now + round(seconds * 1e9), self.end)
        while self._next is not None and self._next.stamp <= self._now:
            message, self._next = self._next, next(self._source, None)
            yield message

    def __iter__(self) -> Iterator[RawMessage]:
        """All that is left, one by one."""
        while self._next is not None:
            message, self._next = self._next, next(self._source, None)
            self._now = max(self._now, message.stamp)
            yield message

    def _read(self) -> Iterator[RawMessage]:
        stamp = self.begin
        for m in messages(self.path, []):
            stamp = stamp if m.type in _OTHER_CLOCK else m.stamp
            yield m._replace(topic=self._relative(m.topic), stamp=stamp)

    def _relative(self, topic: str) -> str:
        return topic.removeprefix(self._prefix).lstrip('/')
