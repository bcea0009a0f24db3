"""The server as a service of a person's login: systemd's user manager, launchd, or the task scheduler of Windows."""
