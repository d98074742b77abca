"""A MuJoCo arm behind emulated motor boards and load cells."""
