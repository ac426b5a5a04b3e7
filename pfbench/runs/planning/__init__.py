"""Plans of sweeps: specs, their runs, and the resolution of names."""
