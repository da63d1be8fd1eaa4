"""CodeBuild: its projects, and builds that really run as processes of this machine.

What AWS refuses is refused here, and what AWS does and this does not is refused too. Rules cite
the CodeBuild User Guide by its page ("guide, builds-working") and the API Reference by the member
that says so ("API, ProjectArtifacts"); what is in neither names who saw it.
"""
