// Objects and patches for bench/expressions.bench.ts: common patches for Endpoints with three to a thousand addresses.

import type { ValueGroup } from '../src/expression/evaluate/request.ts';
import { type CompiledExpression, compileExpression } from '../src/expression/language/compile.ts';
import { type CompiledPath, type JsonMap, type Matches, parsePath } from '../src/expression/path/path.ts';
import { writeResults } from '../src/expression/path/write-results.ts';

export interface Patch {
  path: CompiledPath;
  expression: CompiledExpression;
}

const sources: readonly (readonly [path: string, expression: string])[] = [
  ['subsets[*].addresses[*].ip', 'value.startsWith("10.0.") ? "172.16." + value.slice(5) : value'],
  ['subsets[*].addresses[*].hostname', '"host-" + value'],
  ['subsets[*].addresses[*].targetRef.name', 'value + "-x-" + context.vcluster.name'],
  ['subsets[*].ports[*].name', ['`tenant-$', '{value}`'].join('')],
  ['metadata.annotations["example.com/owner"]', 'value.toLowerCase()'],
  ['metadata.annotations["example.com/url"]', 'value.replace("internal.svc", "internal.svc.cluster.local")'],
  ['metadata.annotations["example.com/from"]', 'context.virtualObject.metadata.name + "/" + value'],
  ['metadata.labels["team"]', 'value.replace(/^team-/, "")'],
  ['metadata.labels["stage"]', 'value === "prod" ? "production" : value'],
  ['metadata.labels["app"]', 'value?.trim() || "none"'],
];

export function patches(count: number): Patch[] {
  return sources.slice(0, count).map(([pathText, source]) => {
    const path = parsePath(pathText);
    const expression = compileExpression(source);
    if (path.kind === 'fault' || expression.kind === 'faults') throw new Error(`${pathText}: ${source}`);
    return { path: path.path, expression: expression.expression };
  });
}

/** Every object has other values, as real objects do. The objects are parsed from JSON, as the daemon's are. */
export function endpoints(addresses: number, serial: number): JsonMap {
  return JSON.parse(JSON.stringify(drafted(addresses, serial)));
}

function drafted(addresses: number, serial: number): JsonMap {
  const address = (_: unknown, at: number) => ({
    // Large numbers give no valid address, but a different text in every object.
    ip: `10.${at % 4}.${serial}.${at}`,
    hostname: `web-${serial}-${at}`,
    nodeName: `node-${at % 50}`,
    targetRef: { kind: 'Pod', name: `web-${serial}-${at}`, namespace: 'default', uid: `${serial}-${at}` },
  });
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name: `web-${serial}`,
      namespace: 'default',
      labels: { team: `team-${serial}`, stage: 'prod', app: ' web ' },
      annotations: {
        'example.com/owner': `Owner-${serial}`,
        'example.com/url': `http://db-${serial}.internal.svc:5432`,
        'example.com/from': `${serial}`,
      },
    },
    subsets: [
      {
        addresses: Array.from({ length: addresses }, address),
        ports: ['http', 'metrics', 'admin'].map((name, at) => ({ name, port: 8_000 + at, protocol: 'TCP' })),
      },
    ],
  };
}

export function matchesOf(object: JsonMap, list: readonly Patch[]): Matches[] {
  return list.map(({ path }) => path.match(object));
}

export function groupsOf(matches: readonly Matches[], list: readonly Patch[]): ValueGroup[] {
  return list.map(({ expression }, at) => ({ expression, values: (matches[at] as Matches).values }));
}

export function write(matches: readonly Matches[], results: readonly { results: readonly unknown[] }[]): void {
  for (let at = 0; at < matches.length; at++) {
    writeResults(matches[at] as Matches, (results[at] as { results: unknown[] }).results);
  }
}

export type Native = (value: unknown, valueExists: boolean, context: unknown) => unknown;

/** The same expressions as functions of this process, as the lower bound for every sandbox. */
export function natives(list: readonly Patch[]): Native[] {
  return list.map(
    ({ expression }) =>
      new Function('value', 'valueExists', 'context', `'use strict'; return (${expression.source});`) as Native,
  );
}
