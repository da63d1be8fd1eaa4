"""Describers: functions that describe a property change, for the rows of describer_table.py."""
