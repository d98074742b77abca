"""The bytes between host and motor board, and what a flipped bit does to them."""

from armsense.boards.protocol.messages import BoardCommand, FrameError, MotorCommand
from armsense.boards.protocol.spi import by_name

protocol = by_name('uomodri')
motors = (MotorCommand(position=1.5, velocity=0.2, kp=3.0, kd=0.05, current_limit=8.0),
          MotorCommand(position=-0.7, current_limit=8.0))
frame = protocol.encode_command(BoardCommand(enable=True, motors=motors, timeout_ms=20, index=7))
print(f'{len(frame)} bytes: {frame[:12].hex(" ")} ...')

heard = protocol.decode_command(frame)
print(f'the board hears {heard.motors[0].position:.4f} rad for motor 1, '
      f'{heard.motors[1].position:.4f} rad for motor 2')

damaged = bytearray(frame)
damaged[5] ^= 0x10
try:
    protocol.decode_command(bytes(damaged))
except FrameError as error:
    print(f'one flipped bit: {type(error).__name__}: {error}')
