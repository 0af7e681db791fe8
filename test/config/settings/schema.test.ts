import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Loaded } from '../../../src/config/load/load.ts';
import { configurationSchema } from '../../../src/config/settings/table/schema.ts';
import { runAtOnce } from '../../../src/config/steps.ts';
import { parseYaml } from '../../../src/config/yaml/parse-yaml.ts';
import { decode } from '../../../src/config/yaml/source-text.ts';
import { toPlain } from '../../../src/config/yaml/tree.ts';
import { caseNames, fixtures, loadFolder } from '../loading.ts';

const schema = configurationSchema();
// Another program reads the schema, and must accept the same files as the loader.
const judge = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);

/** Faults of a single value; a schema cannot express other faults. */
const inOneValue = new Set(['CONFIG_WRONG_TYPE', 'CONFIG_WRONG_VALUE', 'CONFIG_UNKNOWN_KEY', 'CONFIG_MISSING_KEY']);
/** Cases that only the loader refuses: wrong letter case in open maps. */
const onlyOurs = new Set(['values/letter-case-on-open-paths', 'places/misspelt-names']);

function readNetworks(): string[] {
  const addresses = [
    '10.0.0.0',
    '999.1.1.1',
    '010.0.0.0',
    '10.0.0',
    '::',
    '::1',
    'fd00:ec2::254',
    '1:2:3:4:5:6:7:8',
    'a::b::c',
  ];
  addresses.push(
    '64:ff9b::10.0.0.0',
    '1::10.0.0',
    '1:2:3:4:5:6:7::',
    '::2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7:8:9',
    'g::',
    '12345::',
    ':',
  );
  return addresses.flatMap((address) =>
    ['', '/0', '/8', '/32', '/33', '/99', '/128', '/129', '/08'].map((length) => address + length),
  );
}

/** Of the family of its address. */
function isLength(text: string): boolean {
  const [address = '', length = ''] = text.split('/');
  return /^(0|[1-9]\d*)$/.test(length) && Number(length) <= (address.includes(':') ? 128 : 32);
}

function isRefused(loaded: Loaded): boolean {
  return loaded.kind === 'faults' && loaded.faults.some((of) => inOneValue.has(of.code));
}

describe('configurationSchema()', () => {
  const folders = caseNames().filter((name) => !onlyOurs.has(name));
  const single = folders.filter((name) => readdirSync(join(fixtures, name)).includes('vcluster.yaml'));

  it.each(single)('agrees with the loader about %s', (name) => {
    const text = readFileSync(join(fixtures, name, 'vcluster.yaml'));
    const decoded = decode({ name, text });
    const parsed = decoded.kind === 'text' ? runAtOnce(parseYaml(decoded.source)) : undefined;
    if (parsed?.kind !== 'tree') return;
    expect(judge.safeParse(toPlain(parsed.root)).success).toBe(!isRefused(loadFolder(join(fixtures, name))));
  });

  it.each(readNetworks())('takes or refuses the network %s as the loader does, but for its last bits', (text) => {
    const taken = judge.safeParse({ hostward: { addressPolicy: { deny: [text] } } }).success;
    expect(taken).toBe(isIP(text.split('/')[0] ?? '') !== 0 && isLength(text));
  });

  it('describes every setting, and refuses unknown keys in closed maps', () => {
    const text = JSON.stringify(schema);
    expect(text).toContain('"$schema":"https://json-schema.org/draft/2020-12/schema"');
    const { properties } = schema as { properties: Record<string, { additionalProperties?: boolean }> };
    expect(properties['hostward']?.additionalProperties).toBe(false);
    expect(properties['sync']?.additionalProperties).toBeUndefined();
  });
});
