"""A template of an inference component that scales to 0, and out after one call."""

from typing import Any

from local_sagemaker.tests.support.endpoints import QUIET

NAME = {"InferenceComponentName": "twice"}
METRIC = {
    "Namespace": "AWS/SageMaker",
    "MetricName": "NoCapacityInvocationFailures",
    "Dimensions": [{"Name": "InferenceComponentName", "Value": "twice"}],
    "Statistic": "Sum",
    "Period": 60,
}
TEMPLATE: dict[str, Any] = {
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": "sts:AssumeRole",
                        "Principal": {"Service": "sagemaker.amazonaws.com"},
                    }
                ],
            }
        },
    },
    "Model": {
        "Type": "AWS::SageMaker::Model",
        "Properties": {
            "ModelName": "twice",
            "ExecutionRoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
            "PrimaryContainer": {
                "Image": "sagemaker-tritonserver:24.09-py3",
                "ModelDataUrl": "s3://models/twice.tar.gz",
                "Environment": {**QUIET, "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "twice"},
            },
        },
    },
    "Config": {
        "Type": "AWS::SageMaker::EndpointConfig",
        "Properties": {
            "ExecutionRoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
            "ProductionVariants": [
                {
                    "VariantName": "AllTraffic",
                    "InstanceType": "ml.m5.xlarge",
                    "InitialInstanceCount": 1,
                    "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
                    "ManagedInstanceScaling": {
                        "Status": "ENABLED",
                        "MinInstanceCount": 0,
                        "MaxInstanceCount": 2,
                    },
                }
            ],
        },
    },
    "Endpoint": {
        "Type": "AWS::SageMaker::Endpoint",
        "Properties": {
            "EndpointName": "shop",
            "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
        },
    },
    "Component": {
        "Type": "AWS::SageMaker::InferenceComponent",
        "Properties": {
            **NAME,
            "EndpointName": {"Fn::GetAtt": ["Endpoint", "EndpointName"]},
            "VariantName": "AllTraffic",
            "RuntimeConfig": {"CopyCount": 1},
            "Specification": {
                "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                "ComputeResourceRequirements": {
                    "MinMemoryRequiredInMb": 1024,
                    "NumberOfCpuCoresRequired": 1,
                },
            },
        },
    },
    "Target": {
        "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
        "DependsOn": "Component",
        "Properties": {
            "ServiceNamespace": "sagemaker",
            "ResourceId": "inference-component/twice",
            "ScalableDimension": "sagemaker:inference-component:DesiredCopyCount",
            "MinCapacity": 0,
            "MaxCapacity": 2,
        },
    },
    "Tracking": {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": {
            "PolicyName": "calls",
            "PolicyType": "TargetTrackingScaling",
            "ScalingTargetId": {"Ref": "Target"},
            "TargetTrackingScalingPolicyConfiguration": {
                "TargetValue": 1000,
                "ScaleInCooldown": 60,
                "PredefinedMetricSpecification": {
                    "PredefinedMetricType": "SageMakerInferenceComponentInvocationsPerCopy"
                },
            },
        },
    },
    "Wake": {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": {
            "PolicyName": "wake",
            "PolicyType": "StepScaling",
            "ScalingTargetId": {"Ref": "Target"},
            "StepScalingPolicyConfiguration": {
                "AdjustmentType": "ChangeInCapacity",
                "MetricAggregationType": "Maximum",
                "Cooldown": 60,
                "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
            },
        },
    },
    "WakeAlarm": {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            **METRIC,
            "AlarmName": "wake",
            "AlarmActions": [{"Ref": "Wake"}],
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "Threshold": 1,
            "EvaluationPeriods": 1,
            "TreatMissingData": "notBreaching",
        },
    },
}
