"""The estimated cost of a run, from platform_facts/prices.toml."""

from collections.abc import Iterator, Sequence

import platform_facts

NOT_INCLUDED = (
    "Not included, because the repository has no prices for them: CodeBuild minutes, Lambda, Step "
    "Functions, S3, CloudWatch, and a KMS key until its deletion is scheduled."
)


def cost_lines(instance_type: str, region: str, steps: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the estimated cost per hour and in total; a step is (instances, minutes)."""
    peak = max(instances for instances, _ in steps)
    hours = sum(instances * minutes for instances, minutes in steps) / 60
    prices = platform_facts.prices()
    price = prices.of(region, instance_type)
    yield f"At most {peak} instances at once, about {hours:.1f} instance hours (our estimate)."
    if price is None:
        page = "https://aws.amazon.com/sagemaker/ai/pricing/"
        yield f"The price of {instance_type} in {region} is not in prices.toml: see {page}."
    else:
        yield (
            f"{instance_type} in {region}: {price} USD an hour ({prices.source}, {prices.date}); "
            f"at most {peak * price:.2f} USD an hour, about {hours * price:.2f} USD in total."
        )
    yield NOT_INCLUDED
