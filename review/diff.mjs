// Differences between pairs of templates, computed by the CDK.
//
// Each line of stdin is [[template, template], ...]. The program answers with one line of JSON: for
// each pair, the resource changes and the output of `cdk diff`.

import { fullDiff, formatDifferences } from "@aws-cdk/cloudformation-diff";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

function describe([before, after]) {
  const diff = fullDiff(before, after);
  const changes = [];
  diff.resources.forEachDifference((id, change) => {
    changes.push({
      id,
      type: change.newResourceType ?? change.oldResourceType,
      impact: change.changeImpact,
      properties: Object.keys(change.propertyUpdates ?? {}).sort(),
    });
  });
  const chunks = [];
  const sink = new Writable({ write: (chunk, _, done) => (chunks.push(chunk), done()) });
  if (diff.differenceCount) formatDifferences(sink, diff, {});
  return { changes, text: Buffer.concat(chunks).toString() };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(JSON.parse(line).map(describe))}\n`);
}
