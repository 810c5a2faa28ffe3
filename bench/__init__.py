"""Measurements that can be run again: `make bench` lists them, `python -m bench.ROOM.NAME` runs one."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
