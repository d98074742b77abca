"""`./armsense demo`."""
