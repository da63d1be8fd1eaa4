"""What each property of the table reads as: functions that describe a change of it."""
