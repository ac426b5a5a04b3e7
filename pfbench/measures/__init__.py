"""Measures of stationarity and error: functions of a problem and a state; no call is counted."""
