"""Describers: functions that describe the change of a property, for the rows of the table."""
