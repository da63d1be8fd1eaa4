"""Describers: functions that describe a property change, for the rows of the table."""
