"""The resources of a small stack with an endpoint, for tests of single changes."""

from typing import Any

KEY = {"Fn::GetAtt": ["Key", "Arn"]}
RESOURCES: dict[str, Any] = {
    "Bucket": {
        "Type": "AWS::S3::Bucket",
        "Properties": {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [
                    {"ServerSideEncryptionByDefault": {"KMSMasterKeyID": KEY}}
                ]
            },
            "PublicAccessBlockConfiguration": {"BlockPublicAcls": True, "BlockPublicPolicy": True},
        },
    },
    "BucketPolicy": {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {
            "Bucket": {"Ref": "Bucket"},
            "PolicyDocument": {
                "Statement": [
                    {
                        "Effect": "Deny",
                        "Action": "s3:*",
                        "Principal": {"AWS": "*"},
                        "Resource": {"Fn::GetAtt": ["Bucket", "Arn"]},
                        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                    }
                ]
            },
        },
    },
    "RetainedBucket": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain", "Properties": {}},
    "FunctionRole": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {
                "Statement": {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRole",
                    "Principal": {"Service": "lambda.amazonaws.com"},
                }
            }
        },
    },
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": "sts:AssumeRole",
                        "Principal": {"Service": "sagemaker.amazonaws.com"},
                    }
                ]
            }
        },
    },
    "Policy": {
        "Type": "AWS::IAM::Policy",
        "Properties": {
            "Roles": [{"Ref": "Role"}],
            "PolicyDocument": {
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": ["s3:GetObject", "s3:ListBucket"],
                        "Resource": {"Fn::GetAtt": ["Bucket", "Arn"]},
                        "Condition": {"StringLike": {"s3:prefix": ["text/*"]}},
                    }
                ]
            },
        },
    },
    "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"KmsMasterKeyId": KEY}},
    "Group": {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {
            "GroupDescription": "instances",
            "SecurityGroupEgress": [{"CidrIp": "255.255.255.255/32", "IpProtocol": "icmp"}],
        },
    },
    "Model": {
        "Type": "AWS::SageMaker::Model",
        "Properties": {
            "PrimaryContainer": {"Image": "tritonserver:25.09-py3", "Mode": "MultiModel"},
            "VpcConfig": {"Subnets": ["a"]},
        },
    },
    "Config": {
        "Type": "AWS::SageMaker::EndpointConfig",
        "Properties": {
            "KmsKeyId": KEY,
            "ProductionVariants": [
                {
                    "VariantName": "AllTraffic",
                    "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                    "InstanceType": "ml.g5.xlarge",
                    "InitialInstanceCount": 2,
                }
            ],
        },
    },
    "Endpoint": {
        "Type": "AWS::SageMaker::Endpoint",
        "Properties": {
            "EndpointName": "prod-text",
            "DeploymentConfig": {
                "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "errors"}]}
            },
        },
    },
    "AllTrafficErrors": {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {"Threshold": 1},
        "Metadata": {"aws:cdk:path": "prod-text/Alarm-AllTraffic"},
    },
    "Quota": {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {"Threshold": 1},
        "Metadata": {"aws:cdk:path": "prod-text/Quota/Resource"},
    },
    "Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": 30}},
    "Entry": {
        "Type": "Custom::TritonCatalog",
        "Properties": {"Endpoint": "text", "Digest": "1"},
    },
}
