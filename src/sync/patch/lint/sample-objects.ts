// Makes sample objects for a patch: objects in which its path matches, each with another value there. In: a patch, a kind, and the
// addresses that the configuration allows. Out: objects that the API server would take.
import type { JsonMap } from '../../../expression/path/path.ts';
import { writeResults } from '../../../expression/path/write-results.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { domainOf, literalsIn, textsFor } from './round-trip.ts';
import { sampleObjectOf, type Trial } from './sample-run.ts';

/** What many expressions expect of a text, besides the plain texts of textsFor(). */
export const shapedTexts: readonly string[] = [
  'a@b',
  'a/b',
  'a:1',
  'a-b-c',
  'a.b.c',
  'a|b|c',
  'key=value',
  '2026-01-31',
  '1Gi',
  '{"a":"b"}',
  '[1]',
];

/** The sample payloads number their addresses from here. */
const sampleNetwork = '10.0.0.';
const otherNetworks: readonly string[] = ['192.168.7.', '172.20.1.', '203.0.113.'];

export function* samplesFor(
  patch: CompiledPatch,
  { kind }: Trial,
  allowed: readonly string[] = [],
): Generator<JsonMap> {
  const { path } = patch;
  const fresh = (): JsonMap => structuredClone(sampleObjectOf(kind));
  const texts = textsFor(patch, undefined);
  const isOfMetadata = texts.length > 0 && path.segments.length > 2;
  if (!isOfMetadata) {
    yield fresh();
    for (const network of [...otherNetworks, ...allowed.flatMap(networkOf)])
      yield JSON.parse(JSON.stringify(fresh()).replaceAll(sampleNetwork, network)) as JsonMap;
  }
  const shaped = domainOf(patch.forward?.source ?? '', [...texts, ...shapedTexts]);
  const values: unknown[] = isOfMetadata ? [...new Set([...texts, ...shaped])] : literalsIn(patch.forward?.tree);
  for (const value of values) {
    const object = fresh();
    const matches = path.match(object, { createMissing: isOfMetadata });
    if (matches.whole !== undefined) return;
    if (matches.values.some((one) => typeof one !== typeof value) && !isOfMetadata) continue;
    writeResults(
      matches,
      matches.values.map(() => value),
    );
    if (kind.problemOf(payloadIn(object, kind.payloadFields)) === undefined) yield object;
  }
}

/** The value of a sample at the path of its patch. */
export function valueIn(object: JsonMap, { path }: CompiledPatch): unknown {
  return path.match(structuredClone(object)).values[0];
}

function payloadIn(object: JsonMap, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, object[field]]));
}

/** The first three numbers of an IPv4 network that has at least one octet of hosts. */
function networkOf(cidr: string): string[] {
  const found = /^(\d+\.\d+\.\d+\.)\d+\/(\d+)$/.exec(cidr);
  return found?.[1] !== undefined && Number(found[2]) <= 24 ? [found[1]] : [];
}
