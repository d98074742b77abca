"""Motor boards that exist only as bytes, with the faults their users meet."""
