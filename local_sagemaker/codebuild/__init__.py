"""CodeBuild: projects, and builds whose commands run as processes on this machine.

The local CodeBuild rejects requests that AWS rejects, and settings that are not emulated. It has no
queue and no quotas: each build starts at once. Sources are cited as "guide, PAGE" (CodeBuild User
Guide), "API, TYPE" (API Reference), or a GitHub repository that reports AWS's behaviour.
"""
