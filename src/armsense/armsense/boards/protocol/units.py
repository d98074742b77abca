"""Wire units of the boards in SI: how many least significant bits make one SI unit.

The boards count turns, thousands of turns per minute (krpm) and amperes in fixed point. All
quantities are on the motor side of the gear.
"""

from __future__ import annotations

from math import tau

TURN = tau                    # [rad] one turn
KRPM = 1000.0 * TURN / 60.0   # [rad/s] one krpm

POSITION_PER_RAD = 2.0**24 / TURN          # [LSB/rad] i32, +-128 turns
VELOCITY_PER_RAD_S = 2.0**11 / KRPM        # [LSB s/rad] i16, +-16 krpm
CURRENT_PER_A = 2.0**10                    # [LSB/A] i16, +-32 A
LIMIT_PER_A = 2.0**3                       # [LSB/A] u8, 31.875 A
KP_PER_A_RAD = 2.0**11 * TURN              # [LSB rad/A] u16, 32 A/turn
KD_PER_A_S_RAD = 2.0**10 * KRPM            # [LSB rad/(A s)] u16, 64 A/krpm
RESISTANCE_PER_OHM = 2.0**15               # [LSB/Ohm] u16, 2 Ohm
KI_PER_A_RAD_S = 2.0**7 * TURN             # [LSB rad s/A] u16, 512 A/(turn s); laas_inhouse only
POWER_PER_W = 2.0**6                       # [LSB/W] i16, +-512 W; laas_inhouse only

Q24 = 2.0**24                              # [LSB/1] CAN fixed point, +-128 of any unit

ROLLOVER_TURNS = 128                       # the 32-bit position wraps at +- this many turns
