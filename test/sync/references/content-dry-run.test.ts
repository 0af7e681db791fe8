import { afterEach, describe, expect, it } from 'vitest';
import { setGauges } from '../../../src/daemon/gauges.ts';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { objectKeys } from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { NamespaceMapping } from '../../../src/sync/plan/placement.ts';
import { syncStatus, verdictFacts } from '../../../src/sync/report/status.ts';
import { hostSecret, type ReferenceOptions, ReferenceWorld, secret, toConfigMap } from './fake-references.ts';

const name = generatedName({ name: 'db', namespace: 'default' }, 'vc');
const copy = `Secret vcluster-vc/${name}`;
const mappingTo = (to: string): NamespaceMapping => ({ mappingsOnly: true, hostNamespaceOf: () => to });

interface Case {
  says: string;
  /** Before the dry run, when writes are allowed. */
  given?: ReferenceOptions;
  change: (world: ReferenceWorld) => void;
  /** Differs from `given` in the dry run. */
  afterwards?: ReferenceOptions;
  writes: string[];
}

const referring = (world: ReferenceWorld): void => {
  world.virtual.put('secrets', secret('db'));
  world.refer({ k: 'db' });
};

/** A copy that a mapping to this namespace left. */
function cloneInto(world: ReferenceWorld, namespace: string, more: Record<string, string>): void {
  const found = world.host.get('secrets', 'h-old', 'db') as KubeObject;
  const { resourceVersion: _, uid: __, annotations } = found.metadata;
  const marks = { ...annotations, [objectKeys.hostNamespace]: namespace, ...more };
  const labels = found.metadata.labels ?? {};
  world.host.put('secrets', { ...found, metadata: { name: 'db', namespace, labels, annotations: marks } });
}

const cases: Case[] = [
  { says: 'lists no write when nothing has changed', change: () => {}, writes: [] },
  {
    says: 'lists a change of the data, and not the data',
    change: (world) => world.virtual.put('secrets', secret('db', 'bmV3')),
    writes: [`Secret default/db: host patch ${copy}, data`],
  },
  {
    says: 'lists the removal and the new copy of a Secret whose type has changed',
    change: (world) => world.virtual.put('secrets', { ...secret('db'), type: 'example.com/other' }),
    writes: [`Secret default/db: host remove ${copy}`, `Secret default/db: host create ${copy}`],
  },
  {
    says: 'lists the removal of a copy that no object refers to any more',
    change: (world) => world.refer({}),
    writes: [`Secret default/db: host remove ${copy}`],
  },
  {
    says: 'lists the removal of copies of a kind that no patch names any more',
    change: () => {},
    afterwards: { references: [toConfigMap] },
    writes: [`${copy}: host remove ${copy}`],
  },
  {
    says: 'lists the new copy and the removal of the old one when a mapping has moved the namespace',
    given: { mapping: mappingTo('h-old') },
    change: () => {},
    afterwards: { mapping: mappingTo('h-new') },
    writes: ['Secret default/db: host create Secret h-new/db', 'Secret default/db: host remove Secret h-old/db'],
  },
  {
    says: 'lists the removal of every old copy but one that the host has paused',
    given: { mapping: mappingTo('h-old') },
    change: (world) => {
      for (const namespace of ['h-1', 'h-2', 'h-3']) cloneInto(world, namespace, {});
      cloneInto(world, 'h-0', { 'hostward.dev/pause': 'true' });
    },
    afterwards: { mapping: mappingTo('h-new') },
    writes: [
      'Secret default/db: host create Secret h-new/db',
      ...['h-old', 'h-1', 'h-2', 'h-3'].map((from) => `Secret default/db: host remove Secret ${from}/db`),
    ],
  },
  {
    says: 'lists an import',
    change: (world) => {
      world.refer({ k: 'shared' }, 'other');
      world.host.put('secrets', hostSecret('shared'));
    },
    writes: ['Secret default/shared: virtual create Secret default/shared'],
  },
  {
    says: 'lists the repair of the marks of a copy',
    change: (world) => {
      const found = world.exported('db') as KubeObject;
      const labels = { 'vcluster.loft.sh/managed-by': 'vc' };
      world.host.put('secrets', { ...found, metadata: { ...found.metadata, labels } });
    },
    writes: [`Secret default/db: host patch ${copy}`],
  },
];

describe('a dry run lists the writes of content behind references, and', () => {
  let world: ReferenceWorld;
  afterEach(() => world.stop());

  it.each(cases)('$says', async ({ given = {}, change, afterwards = {}, writes }) => {
    world = await ReferenceWorld.started(given, referring);
    await world.stop();
    change(world);
    Object.assign(world.options, afterwards, { isDryRun: true });
    world.given = { ...world.given, ...afterwards };
    world.host.writes.length = 0;
    world.virtual.writes.length = 0;
    await world.run();
    expect([...world.host.writes, ...world.virtual.writes]).toEqual([]);
    const rows = (syncStatus(world.sync).differences ?? []).filter(({ object }) => object.startsWith('Secret'));
    expect(rows.map(({ object, request, touches }) => `${object}: ${request} ${touches}`)).toEqual(writes);
    const objects = new Set((syncStatus(world.sync).differences ?? []).map(({ object }) => object));
    expect(verdictFacts(world.sync).differences).toBe(objects.size);
  });

  it('lists the new copies of two Secrets that change places', async () => {
    const mappingOf = (places: Record<string, string>): NamespaceMapping => ({
      mappingsOnly: true,
      hostNamespaceOf: (namespace) => places[namespace],
    });
    world = await ReferenceWorld.started({ mapping: mappingOf({ a: 'h-a', b: 'h-b' }) }, (one) => {
      for (const namespace of ['a', 'b']) {
        one.virtual.put('secrets', secret('db', 'djE=', { namespace }));
        one.refer({ k: 'db' }, 'web', namespace);
      }
    });
    await world.stop();
    const mapping = mappingOf({ a: 'h-b', b: 'h-a' });
    Object.assign(world.options, { mapping, isDryRun: true });
    world.given = { ...world.given, mapping };
    await world.run();
    const rows = (syncStatus(world.sync).differences ?? []).filter(({ object }) => object.startsWith('Secret'));
    expect(rows.map(({ object, request, touches }) => `${object}: ${request} ${touches}`)).toEqual([
      'Secret a/db: host remove Secret h-a/db',
      'Secret a/db: host create Secret h-b/db',
      'Secret b/db: host remove Secret h-b/db',
      'Secret b/db: host create Secret h-a/db',
    ]);
  });

  it('forgets them when they are no longer needed', async () => {
    world = await ReferenceWorld.started({ isDryRun: true }, referring);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(syncStatus(world.sync).differences).toEqual([]);
  });
});

it('the metric counts each write under the kind of its object', async () => {
  const world = await ReferenceWorld.started({ isDryRun: true }, referring);
  setGauges(world.sync, { isLeader: false });
  const text = await world.metrics.metrics();
  await world.stop();
  const series = text.match(/^hostward_dry_run_differences\{.*$/gm)?.sort();
  expect(series).toEqual([
    'hostward_dry_run_differences{kind="ConfigMap"} 0',
    'hostward_dry_run_differences{kind="Endpoints"} 1',
    'hostward_dry_run_differences{kind="Secret"} 1',
  ]);
});
