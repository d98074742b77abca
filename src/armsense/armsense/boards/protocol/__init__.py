"""What the motor boards put on the wire: pure functions between bytes and SI units, no I/O.

SPI boards (`udriver_spi`, `uomodri`, `laas_inhouse`) share one interface, `SpiProtocol`, taken by
name::

    protocol = by_name('uomodri')
    frame = protocol.encode_command(command)
    state = protocol.decode_state(transport.transfer(frame))

CAN boards (`udriver_can`) exchange small messages instead of one frame; see `udriver_can`.
"""
