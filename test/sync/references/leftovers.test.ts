import { afterEach, describe, expect, it } from 'vitest';
import type { Writer } from '../../../src/cluster/write/writer.ts';
import { silentLog } from '../../../src/log.ts';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { projectCopy } from '../../../src/sync/kinds/content/content-kind.ts';
import { Leftovers } from '../../../src/sync/loop/content/leftovers.ts';
import { createPlacement } from '../../../src/sync/plan/placement.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { entry } from '../patch/fake-patch.ts';
import { hostSecret, type ReferenceOptions, ReferenceWorld, secret, toConfigMap } from './fake-references.ts';

let world: ReferenceWorld;
const start = async (...given: Parameters<typeof ReferenceWorld.started>): Promise<ReferenceWorld> => {
  world = await ReferenceWorld.started(...given);
  return world;
};
afterEach(() => world.stop());

/** The daemon dies, the configuration changes, the daemon comes back. */
async function restartWith(change: Partial<ReferenceOptions>): Promise<void> {
  await world.stop();
  world.given = { ...world.given, ...change };
  await world.run();
}

function edited(object: KubeObject | undefined, metadata: Partial<KubeObject['metadata']>): KubeObject {
  const draft = structuredClone(object as KubeObject);
  const { labels, annotations, ...rest } = metadata;
  const { metadata: before } = draft;
  draft.metadata = {
    ...before,
    ...rest,
    labels: { ...before.labels, ...labels },
    annotations: { ...before.annotations, ...annotations },
  };
  return draft;
}

const six = (name: string, hostName: string) => ({
  'vcluster.loft.sh/object-name': name,
  'vcluster.loft.sh/object-namespace': 'default',
  'vcluster.loft.sh/object-uid': 'u',
  'vcluster.loft.sh/object-kind': '/v1, Kind=Secret',
  'vcluster.loft.sh/object-host-name': hostName,
  'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
});
const labels = { 'vcluster.loft.sh/managed-by': 'vc', 'vcluster.loft.sh/namespace': 'default' };
const copyNamed = (name: string, hostName: string) =>
  secret(hostName, 'djE=', { namespace: 'vcluster-vc', labels, annotations: six(name, hostName) });
const nameOf = (name: string) => generatedName({ name, namespace: 'default' }, 'vc');
const exports = (w: ReferenceWorld) => {
  w.refer({ k: 'db' });
  w.virtual.put('secrets', secret('db'));
};
const secretsOnHost = () => world.host.list('secrets').map(({ metadata }) => metadata.name);

describe('copies whose reference patch was removed while the daemon was down', () => {
  it('are removed at the next start when no patch names their kind any more', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db', c: 'conf' });
      w.virtual.put('secrets', secret('db'));
      w.virtual.put('configmaps', { metadata: { name: 'conf', namespace: 'default' }, data: { a: '1' } });
    });
    expect(world.exported('db')).toBeDefined();
    await restartWith({ references: [toConfigMap] });
    expect([world.exported('db'), world.said('k')]).toEqual([undefined, 'db']);
    expect(world.exported('conf', 'default', 'configmaps')).toBeDefined();
    await restartWith({ references: [] });
    expect(world.exported('conf', 'default', 'configmaps')).toBeUndefined();
    expect(world.virtual.list('secrets')).toHaveLength(1);
    expect(world.references.status()).toBeUndefined();
  });

  it('are not confused with objects that only look like them', async () => {
    await start({ references: [] }, (w) => {
      const own = copyNamed('db', nameOf('db'));
      w.host.put('secrets', own);
      w.host.put(
        'secrets',
        edited(copyNamed('held', nameOf('held')), { annotations: { 'hostward.dev/pause': 'true' } }),
      );
      const theirs = { annotations: { 'vcluster.loft.sh/controlled-by': 'x' } };
      w.host.put('secrets', edited(copyNamed('theirs', nameOf('theirs')), theirs));
      // What vCluster syncs itself, a copy of a copy, one of another virtual cluster, one of another kind, one of the host's.
      w.host.put('secrets', copyNamed('db', 'db-x-default-x-vc'));
      w.host.put(
        'secrets',
        secret('restored', 'djE=', { namespace: 'vcluster-vc', labels, annotations: six('db', nameOf('db')) }),
      );
      w.host.put(
        'secrets',
        edited(copyNamed('other', nameOf('other')), { labels: { 'vcluster.loft.sh/managed-by': 'vd' } }),
      );
      const kind = { 'vcluster.loft.sh/object-kind': '/v1, Kind=ConfigMap' };
      w.host.put('secrets', edited(copyNamed('kind', nameOf('kind')), { annotations: kind }));
      w.host.put('secrets', hostSecret('shared'));
    });
    const removed = world.contentWrites();
    expect(removed).toHaveLength(1);
    expect(removed[0]).toContain(nameOf('db'));
    expect(secretsOnHost()).toHaveLength(7);
    await world.restart();
    expect(world.contentWrites()).toHaveLength(1);
  });

  it('stay, with one sentence in status and log, when the Role no longer allows a list', async () => {
    const said: string[] = [];
    const log = {
      info: (_: object, message: string) => said.push(message),
      warn: () => {},
      error: () => {},
      debug: () => {},
    };
    await start({}, exports);
    const search = () => ({
      kind: 'forbidden' as const,
      message: 'not allowed to list secrets in namespace "vcluster-vc"',
    });
    await restartWith({ references: [], search, log: log as never });
    expect(world.exported('db')).toBeDefined();
    expect(world.references.status()).toMatchObject({
      Secret: {
        note: 'copies that earlier reference patches made of a Secret may be left on the host: not allowed to list secrets in namespace "vcluster-vc"',
      },
    });
    expect(said.filter((message) => message.includes('leftover'))).toHaveLength(2);
    expect(world.sync.isReady).toBe(true);
    await world.change(() => world.sync.enqueueAll());
    expect(said.filter((message) => message.includes('leftover'))).toHaveLength(2);
  });

  it('go a minute later when the host forbade the list for a moment, and the warning goes too', async () => {
    await start({}, exports);
    const search = () => ({ kind: 'forbidden' as const, message: 'not allowed to list secrets' });
    await restartWith({ references: [], search });
    expect(world.exported('db')).toBeDefined();
    delete world.given.search;
    await world.clock.advance(60_000);
    await world.quiet();
    expect(world.exported('db')).toBeUndefined();
    expect(world.references.status()).toBeUndefined();
  });

  it('go a minute later when the host did not answer', async () => {
    await start({}, exports);
    const searches: string[] = [];
    const search = () => {
      searches.push('one');
      return { kind: 'failed' as const };
    };
    await restartWith({ references: [], search });
    expect(world.exported('db')).toBeDefined();
    delete world.given.search;
    await world.clock.advance(60_000);
    await world.quiet();
    expect([searches.length, world.exported('db')]).toEqual([2, undefined]);
  });

  it('stay while the host copy of an object whose patch fails still names them', async () => {
    await start({}, exports);
    const failing = entry({ path: 'metadata.annotations["k"]', expression: 'value.x.y' });
    await restartWith({ references: [failing] });
    expect([world.said(), world.exported('db') !== undefined]).toEqual([nameOf('db'), true]);
    await world.reconfigure({ references: [] });
    await world.clock.advance(60_000);
    await world.quiet();
    expect([world.said(), world.exported('db')]).toEqual(['db', undefined]);
  });

  it('are left to the leader', async () => {
    await start({}, exports);
    await world.stop();
    world.isLeader = false;
    world.given = { ...world.given, references: [] };
    await world.run();
    expect(world.exported('db')).toBeDefined();
    world.isLeader = true;
    await world.change(() => world.sync.enqueueAll());
    expect(world.exported('db')).toBeUndefined();
  });

  it('stay when another replica begins to write while they are looked for, and go when this one writes again', async () => {
    await start({}, exports);
    const search = () => {
      world.isLeader = false;
      return undefined as never;
    };
    await restartWith({ references: [], search });
    expect(world.exported('db')).toBeDefined();
    delete world.given.search;
    world.isLeader = true;
    await world.clock.advance(60_000);
    await world.quiet();
    expect(world.exported('db')).toBeUndefined();
  });

  it.each([
    ['go', false, [nameOf('db')]],
    ['stay when a patch names their kind again while they are looked for', true, []],
  ])('%s', async (_, isNamedSince, wanted) => {
    await start({}, () => {});
    let isNamed = false;
    const removed: string[] = [];
    const object = copyNamed('db', nameOf('db'));
    Object.assign(object.metadata, { uid: 'u', resourceVersion: '1' });
    const leftovers = new Leftovers({
      findCopies: async ({ kind }) => {
        isNamed = isNamedSince;
        return { kind: 'found', objects: kind === 'Secret' ? [projectCopy(object, 'vc') as never] : [] };
      },
      findImports: async () => ({ kind: 'found', objects: [] }),
      virtualWriter: {} as Writer,
      hostWriter: {
        remove: async (_ref: unknown, { name }: { name: string }) => {
          removed.push(name);
          return { kind: 'notFound', message: '' };
        },
      } as unknown as Writer,
      placement: () => createPlacement({ virtualCluster: 'vc', hostNamespace: 'vcluster-vc' }),
      ...{ mayWrite: () => true, isDryRun: false, isNamed: () => isNamed, isMentioned: () => false },
      ...{ clock: new VirtualClock(), log: silentLog, series: {} as never },
    });
    leftovers.begin();
    await settle();
    expect(removed).toEqual(wanted);
    await leftovers.stop();
  });

  it('are recognised by their instance in mapped namespaces', async () => {
    const mapping = { hostNamespaceOf: (one: string) => (one === 'default' ? 'team' : undefined), mappingsOnly: true };
    await start({ mapping }, (w) => {
      exports(w);
      w.refer({ k: 'second' }, 'other');
      w.virtual.put('secrets', secret('second'));
    });
    const second = world.host.get('secrets', 'team', 'second');
    world.host.put('secrets', edited(second, { annotations: { 'hostward.dev/instance': 'elsewhere/vc' } }));
    await restartWith({ references: [] });
    expect(secretsOnHost()).toEqual(['second']);
  });
});

describe('imports whose reference patch was removed while the daemon was down', () => {
  const imports = (w: ReferenceWorld) => {
    w.refer({ k: 'shared' });
    w.host.put('secrets', hostSecret('shared'));
  };
  const isThere = () => world.imported('shared') !== undefined;

  it('go at the next start, and the object of the host stays', async () => {
    await start({}, imports);
    world.virtual.put('secrets', secret('own'));
    await restartWith({ references: [toConfigMap] });
    expect([isThere(), world.said('k'), secretsOnHost()]).toEqual([false, 'shared', ['shared']]);
    expect(world.imported('own')).toBeDefined();
    expect(world.references.status()).toMatchObject({ ConfigMap: {} });
    expect(world.contentWrites().at(-1)).toBe('virtual remove secrets shared');
  });

  it('go too when the host has taken its label back', async () => {
    await start({}, imports);
    await world.stop();
    const found = world.host.get('secrets', 'vcluster-vc', 'shared') as KubeObject;
    world.host.put('secrets', { ...found, metadata: { ...found.metadata, labels: {} } });
    await restartWith({ references: [] });
    expect(isThere()).toBe(false);
  });

  it.each([
    ['has gone', () => {}],
    ['was made anew', () => void world.host.put('secrets', hostSecret('shared'))],
  ])('stay when the object of the host %s: then they are the tenant’s', async (_, then) => {
    await start({}, imports);
    await world.stop();
    world.host.remove('secrets', 'vcluster-vc', 'shared');
    then();
    await restartWith({ references: [] });
    await world.clock.advance(120_000);
    await world.quiet();
    expect([isThere(), world.references.status()]).toEqual([true, undefined]);
  });

  it('are not confused with what a tenant has marked', async () => {
    await start({ references: [] }, (w) => {
      w.host.put('secrets', hostSecret('shared'));
      const labels = { 'hostward.dev/imported': 'true' };
      w.virtual.put('secrets', secret('shared', 'djE=', { labels }));
      const annotations = { 'hostward.dev/imported-from': 'uid-guess' };
      w.virtual.put('secrets', secret('other', 'djE=', { labels, annotations }));
    });
    expect(world.virtual.list('secrets')).toHaveLength(2);
    expect(world.contentWrites()).toEqual([]);
  });

  it('stay, with one sentence in status, while they may not be listed, and go a minute after', async () => {
    await start({}, imports);
    const searchImports = () => ({ kind: 'forbidden' as const, message: 'not allowed to list secrets' });
    await restartWith({ references: [], searchImports });
    const note =
      'imports that earlier reference patches made of a Secret may be left in the virtual cluster: not allowed to list secrets';
    expect([isThere(), world.references.status()]).toMatchObject([true, { Secret: { note } }]);
    delete world.given.searchImports;
    await world.clock.advance(60_000);
    await world.quiet();
    expect([isThere(), world.references.status()]).toEqual([false, undefined]);
  });

  it('are listed by a dry run, and stay', async () => {
    await start({}, imports);
    Object.assign(world.options, { isDryRun: true });
    await restartWith({ references: [] });
    expect(isThere()).toBe(true);
    expect(
      [...world.references.differences('Endpoints')].map(({ object, writes }) => [object, writes[0]?.request]),
    ).toEqual([['Secret default/shared', 'virtual remove']]);
  });
});
