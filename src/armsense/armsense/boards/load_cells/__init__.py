"""Load cells: what their converters and amplifiers say."""
