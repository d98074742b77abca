"""Load cells: what converters and amplifiers send, as counts; calibration and health."""
