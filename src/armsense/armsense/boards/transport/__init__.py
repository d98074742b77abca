"""How frames reach the boards: spidev, Unix SEQPACKET; python-can for CAN boards."""
