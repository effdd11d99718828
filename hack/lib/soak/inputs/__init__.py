"""The hostile inputs: functions that attack a server, one file for each kind of input."""
