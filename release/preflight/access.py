"""What IAM Access Analyzer says of the templates' policies."""

import json
from collections.abc import Iterator
from typing import Any

from release.preflight.account import Account
from release.preflight.policies import TRUST, Policy, policies
from release.preflight.rows import Row, Topic

TOPIC = Topic("access")

CHECKED_FOR_PUBLIC_ACCESS = ("AWS::S3::Bucket", "AWS::KMS::Key", "AWS::SNS::Topic", TRUST)
"""What CheckNoPublicAccess knows, of what the templates have (API reference, resourceType)."""

VALIDATED_FOR = ("AWS::S3::Bucket", TRUST)
"""What ValidatePolicy has rules of its own for (API reference, validatePolicyResourceType)."""

REFUSED = ("ERROR", "SECURITY_WARNING")
"""Types of finding that end a preflight; warnings and suggestions are said."""

PRICE = "https://aws.amazon.com/iam/access-analyzer/pricing/"
"""What each CheckNoNewAccess costs: "a charge is associated with each check for new access", and so
with neither of the other two (IAM user guide, access-analyzer-checks-validating-policies)."""


def ask(account: Account) -> Iterator[Row]:
    """Validate every policy, and check those of resources for public access: both are free.

    The package cfn-policy-validator, which does the same, makes an analyzer and access previews in
    the account, and ends at an export of a stack that is not deployed yet.
    """
    analyzer = account.client("accessanalyzer")
    clean = 0
    for policy in policies(account):
        rows = [*_validated(analyzer, policy), *_public(analyzer, policy)]
        clean += not rows
        yield from rows
    if clean:
        yield TOPIC.ok("policies", f"nothing to say of {clean}")


def new_access(analyzer: Any, old: Policy, new: Policy) -> str:
    """Return what Access Analyzer says of a policy that takes another's place; it is charged."""
    answer = analyzer.check_no_new_access(
        existingPolicyDocument=json.dumps(old.document),
        newPolicyDocument=json.dumps(new.document),
        policyType="RESOURCE_POLICY" if new.guards else "IDENTITY_POLICY",
    )
    if answer["result"] == "PASS":
        return "no access that was not there"
    return " ".join([answer["message"], *(it["description"] for it in answer.get("reasons", ()))])


def _validated(analyzer: Any, policy: Policy) -> Iterator[Row]:
    more = {"validatePolicyResourceType": policy.guards} if policy.guards in VALIDATED_FOR else {}
    pages = analyzer.get_paginator("validate_policy").paginate(
        policyDocument=json.dumps(policy.document),
        policyType="RESOURCE_POLICY" if policy.guards else "IDENTITY_POLICY",
        **more,
    )
    for page in pages:
        for it in page["findings"]:
            said = f"{it['issueCode']}: {it['findingDetails']}"
            if it["findingType"] in REFUSED:
                yield TOPIC.refused(policy.subject, said, it["learnMoreLink"])
            else:
                yield TOPIC.ok(policy.subject, said, it["learnMoreLink"])


def _public(analyzer: Any, policy: Policy) -> Iterator[Row]:
    if policy.guards not in CHECKED_FOR_PUBLIC_ACCESS:
        return
    answer = analyzer.check_no_public_access(
        policyDocument=json.dumps(policy.document), resourceType=policy.guards
    )
    if answer["result"] != "PASS":
        yield TOPIC.refused(
            policy.subject, answer["message"], "name who may, or restrict it by a condition"
        )
