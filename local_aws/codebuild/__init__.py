"""CodeBuild builds that really run: the buildspec's commands, as processes of this machine."""
