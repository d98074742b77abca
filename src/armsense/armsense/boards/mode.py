"""What the driver of an arm does with its motors, and the faults for which it brakes them."""

from enum import Enum, IntEnum
from typing import NamedTuple


class Mode(IntEnum):
    """The same numbers as in armsense_msgs/DriverMode."""

    DISCONNECTED = 0
    STARTING = 1
    DISABLED = 2
    ENABLED = 3
    DAMPING = 4


class FaultKind(Enum):
    """Every reason for which the driver leaves `ENABLED`; the value is cause | remedy."""

    BOARD_LOST = 'a board does not answer | check its power and cable, then clear the fault'
    BOARD_CORRUPT = ('a board answers garbage | check shielding, ground and clock of the bus, '
                     'then clear the fault')
    BOARD_STALE = ('a board repeats an old state | power-cycle the board at the home pose, then '
                   'clear the fault')
    BOARD_RESET = ('a board has restarted and forgot its position | bring the arm to its home '
                   'pose, then clear the fault; to clear it once more says that the arm is there')
    BOARD_REJECTS = ('a board rejects the commands | check the wiring towards the board, then '
                     'clear the fault')
    BOARD_SWAPPED = ("a motor's coil resistance is not that of the arm file | check the order of "
                     'the boards and the resistances in the arm file')
    WATCHDOG = ('a board stopped because commands came too late | power-cycle the board at the '
                'home pose (on CAN clear the fault and enable again); run the host with real-time '
                'priority')
    ENCODER = ('a board reports an encoder error | check encoder and alignment, power-cycle at '
               'the home pose')
    ROLLOVER = 'a motor has turned beyond the range of its counter | power-cycle at the home pose'
    DRIVER_CHIP = ('a board reports a driver fault | let the motor cool down, then power-cycle '
                   'at the home pose')
    BUS_OFF = 'the CAN controller has left the bus | check termination and bit rate, then clear'
    ALIGNMENT = ('a motor did not become ready | check that it turns freely, power-cycle at the '
                 'home pose, clear and enable')
    INDEX_NOT_FOUND = 'an encoder index was not found | check the encoder, then enable again'
    COMMAND_TIMEOUT = 'no command arrived in time | check that a controller runs, then clear'
    COMMAND_STALE = 'commands answer states that are too old | check the load of the machine'
    COMMAND_NOT_FINITE = 'a command holds NaN or infinity | restart the controller, then clear'
    COMMAND_STEP = ('a position command is too far from the arm | start trajectories where the '
                    'arm is, then clear')
    COMMAND_UNSUPPORTED = 'a command asks for what the boards cannot do | use other gains'
    TWO_CONTROLLERS = ('more than one controller commands the arm | stop the others or give them '
                       'another namespace or ROS_DOMAIN_ID, then clear; one that was stopped '
                       'counts for 5 s more')
    POSITION_LIMIT = ('a joint is beyond its limit | move it back by hand, then clear; if it is '
                      'not there, its encoder has lost its zero: power-cycle its board at the '
                      'home pose')
    OVERSPEED = 'a joint is faster than its limit | lower speed or gains, then clear'
    JUMP = ('a position reading jumped | the encoder has lost counts or the board was reset: '
            'power-cycle the board at the home pose, then clear the fault; to clear it once more '
            'says that the arm is there')
    COLLISION_UNANSWERED = ('a collision was reported and no controller answered it in time | '
                            'check the controller, then clear')
    NODE_FAILED = ('a node of the same process has failed, which ends it | correct what it says, '
                   'then start the arm again')
    NODE_OVERRUN = ('a node of the same process took too long for a step | check the load of the '
                    'machine, then clear; process:=many keeps nodes from stopping each other')
    EMERGENCY_STOP = 'emergency stop | clear the fault when it is safe'
    JOINT_STATES = ("the robot's joint states are missing or unusable | it gets zero efforts now, "
                    'with which a robot without gravity compensation sinks: check its driver, '
                    'then clear the fault')


class Fault(NamedTuple):
    """One fault that happened."""

    kind: FaultKind
    detail: str = ''     # which board, joint, value

    @property
    def name(self) -> str:
        return self.kind.name.lower()

    @property
    def explanation(self) -> str:
        cause, remedy = self.kind.value.split(' | ')
        return f'{cause} ({self.detail}): {remedy}' if self.detail else f'{cause}: {remedy}'
