"""Motor boards and load cells: wire protocols, transports, driver nodes, board emulator."""
