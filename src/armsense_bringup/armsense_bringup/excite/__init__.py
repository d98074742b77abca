"""`./armsense excite`."""
