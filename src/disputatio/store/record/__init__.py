"""The system of record: tables, manifest, the one writer, checks and repairs."""
