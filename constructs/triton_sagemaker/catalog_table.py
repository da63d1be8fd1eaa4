"""The table of a stage's catalog."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from platform_facts.rules.catalog import INDEX, table_name
from triton_sagemaker.problems import reject_plain_values


class CatalogTable(dynamodb.Table):
    """The current and earlier entries of the models of a stage, by endpoint and model.

    The partition key `model_key` is `ENDPOINT#MODEL`. The item with the sort key 0 is current, with
    the number of its revision in `latest`; 1, 2, 3... are the revisions. Current items with an
    `entry` have `endpoint` and so are in the index. The table is retained when the stack is
    deleted, cannot be deleted by mistake, and can be restored to every second of the last 35 days.
    `encryption_key` is a key of the account, instead of one of DynamoDB.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: str,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        reject_plain_values(encryption_key=encryption_key)
        text, number = dynamodb.AttributeType.STRING, dynamodb.AttributeType.NUMBER
        encryption = dynamodb.TableEncryption.CUSTOMER_MANAGED if encryption_key else None
        super().__init__(
            scope,
            construct_id,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            deletion_protection=True,
            encryption=encryption,
            encryption_key=encryption_key,
            partition_key=dynamodb.Attribute(name="model_key", type=text),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            removal_policy=RemovalPolicy.RETAIN,
            sort_key=dynamodb.Attribute(name="revision", type=number),
            table_name=table_name(stage),
        )
        self.add_global_secondary_index(
            index_name=INDEX,
            partition_key=dynamodb.Attribute(name="endpoint", type=text),
            sort_key=dynamodb.Attribute(name="model_key", type=text),
        )
