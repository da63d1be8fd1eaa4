"""The command line `tritonsm`, with the commands of all packages."""
