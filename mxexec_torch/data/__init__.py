"""Data files that ship with the package (sources and licences: README.md in this folder)."""
