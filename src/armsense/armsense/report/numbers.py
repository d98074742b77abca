"""Numbers as a reader wants them: as many digits as they deserve, no more."""

from __future__ import annotations

import math

MINUS = '\N{MINUS SIGN}'


def significant(value: float | None, digits: int = 3) -> str:
    """A few significant digits without exponent where possible; a dash for nothing."""
    if value is None or not math.isfinite(value):
        return '–'
    if value == 0.0:
        return '0'
    exponent = math.floor(math.log10(abs(value)))
    if -5 <= exponent < 6:
        text = f'{value:.{max(0, digits - 1 - exponent)}f}'
    else:
        mantissa, power = f'{value:.{digits - 1}e}'.split('e')
        text = f'{mantissa}·10^{int(power)}'
    return text.replace('-', MINUS)


def with_interval(value: float, low: float, high: float) -> str:
    """Value and half width of its interval, both to the second digit of the half width."""
    half = 0.5 * (high - low)
    if not (half > 0.0 and math.isfinite(half)):
        return significant(value)
    places = min(8, max(0, 1 - math.floor(math.log10(half))))
    return f'{value:.{places}f} ± {half:.{places}f}'.replace('-', MINUS)
