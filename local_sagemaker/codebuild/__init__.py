"""CodeBuild: projects, and builds that run as processes on this machine.

The local CodeBuild rejects requests that AWS rejects, and settings that are not emulated. Sources
are cited as "guide, PAGE" (CodeBuild User Guide), "API, TYPE" (API Reference), or a GitHub
repository that reports AWS's behaviour.
"""
