"""A rosbag2 folder (MCAP) written without rosbag2: `ros2 bag` and Foxglove open it."""

from pathlib import Path
from typing import Any, Literal

from mcap.writer import CompressionType, Writer
import yaml

from armsense.errors import ArmsenseError
from armsense.recordings.bag_files import schema_text

Delivery = Literal['stream', 'event', 'latched']   # how a topic was published
RELIABILITY_AND_DURABILITY: dict[Delivery, tuple[str, str]] = {
    'stream': ('best_effort', 'volatile'), 'event': ('reliable', 'volatile'),
    'latched': ('reliable', 'transient_local')}
_FOR_EVER = {'sec': 9223372036, 'nsec': 854775807}


class BagWriter:
    """Writes serialised messages; the folder is complete after `close`."""

    def __init__(self, folder: str | Path) -> None:
        """Make the folder; one that is there already is an error, never overwritten."""
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            raise ArmsenseError(f'the bag {self.folder} exists already; choose another name or '
                                'remove it') from None
        self._name = f'{self.folder.name}_0.mcap'
        self._file = (self.folder / self._name).open('wb')
        self._writer: Any = Writer(self._file, compression=CompressionType.ZSTD)
        self._writer.start(profile='ros2', library='armsense')
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._types: dict[str, str] = {}
        self._profiles: dict[str, list[dict[str, object]]] = {}
        self.counts: dict[str, int] = {}
        self._first = self._last = 0          # [ns]

    def add_topic(self, topic: str, message_type: str, delivery: Delivery = 'event') -> None:
        """Have a topic; `ros2 bag play` publishes it as `delivery` says."""
        if message_type not in self._schemas:
            self._schemas[message_type] = self._writer.register_schema(
                message_type, 'ros2msg', schema_text(message_type).encode())
        self._profiles[topic] = [_profile(delivery)]
        self._channels[topic] = self._writer.register_channel(
            topic, 'cdr', self._schemas[message_type],
            {'offered_qos_profiles': yaml.safe_dump(self._profiles[topic], sort_keys=False)})
        self._types[topic] = message_type
        self.counts[topic] = 0

    def write(self, topic: str, data: bytes, stamp: int) -> None:
        """Add one serialised message of a known topic, `stamp` [ns]."""
        self._writer.add_message(self._channels[topic], stamp, data, stamp)
        self.counts[topic] += 1
        self._first = min(self._first, stamp) if sum(self.counts.values()) > 1 else stamp
        self._last = max(self._last, stamp)

    def close(self) -> None:
        """Finish the file and write `metadata.yaml`."""
        if self._file.closed:
            return
        self._writer.finish()
        self._file.close()
        (self.folder / 'metadata.yaml').write_text(yaml.safe_dump(self._metadata(),
                                                                  sort_keys=False))

    def _metadata(self) -> dict[str, object]:
        total = sum(self.counts.values())
        topics = [{'topic_metadata': {'name': topic, 'type': self._types[topic],
                                      'serialization_format': 'cdr',
                                      'offered_qos_profiles': self._profiles[topic],
                                      'type_description_hash': ''},
                   'message_count': count} for topic, count in self.counts.items()]
        start = {'nanoseconds_since_epoch': self._first}
        duration = {'nanoseconds': self._last - self._first}
        return {'rosbag2_bagfile_information': {
            'version': 9, 'storage_identifier': 'mcap', 'duration': duration,
            'starting_time': start, 'message_count': total,
            'topics_with_message_count': topics, 'compression_format': '', 'compression_mode': '',
            'relative_file_paths': [self._name],
            'files': [{'path': self._name, 'starting_time': start, 'duration': duration,
                       'message_count': total}],
            'custom_data': None, 'ros_distro': 'jazzy'}}


def _profile(delivery: Delivery) -> dict[str, object]:
    """As rosbag2 writes it since Jazzy; it reads a profile only with all of its fields."""
    reliability, durability = RELIABILITY_AND_DURABILITY[delivery]
    return {'history': 'unknown', 'depth': 0, 'reliability': reliability,
            'durability': durability, 'deadline': dict(_FOR_EVER), 'lifespan': dict(_FOR_EVER),
            'liveliness': 'automatic', 'liveliness_lease_duration': dict(_FOR_EVER),
            'avoid_ros_namespace_conventions': False}
