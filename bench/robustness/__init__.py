"""Attacks, damaged files, full disks and kill -9."""
