"""CodeBuild: projects, and builds that run as processes on this machine.

Requests that AWS rejects, and settings that are not emulated, are rejected. Sources are cited as
"guide, PAGE" (CodeBuild User Guide), "API, TYPE" (API Reference), or a GitHub repository in which
AWS's behaviour was reported.
"""
