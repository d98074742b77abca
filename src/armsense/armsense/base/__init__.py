"""Load cells under the base: wrench, residual, parameters, sensitivity, fusion with joints."""
