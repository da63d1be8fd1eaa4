// What the CDK's own diff engine says of pairs of templates.
//
// Reads [{ "before": template, "after": template, "changeSet": null or CloudFormation's description
// of one }, ...] from standard input and writes, for each pair, its resource changes and the text
// that `cdk diff` would show.

import { fullDiff, formatDifferences } from "@aws-cdk/cloudformation-diff";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";

function describe({ before, after, changeSet }) {
  const diff = fullDiff(before, after, changeSet ?? undefined);
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

process.stdout.write(JSON.stringify(JSON.parse(await text(process.stdin)).map(describe)));
