import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { createLog, silentLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { WorkQueue } from '../../../src/queue/work-queue.ts';
import { References } from '../../../src/sync/loop/content/references.ts';
import type { NamespaceMapping } from '../../../src/sync/plan/placement.ts';
import type { ReferencePorts } from '../../../src/sync/references/reference-ports.ts';
import { objectStatus } from '../../../src/sync/report/object-status.ts';
import { syncStatus, verdictFacts } from '../../../src/sync/report/status.ts';
import { Ledger } from '../../../src/sync/world/ledger.ts';
import { settle } from '../../virtual-clock.ts';
import { FakeWindow, recreateBeforeAnswers } from '../fake-cluster.ts';
import { edit, endpoints, service } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';
import { hostSecret, importable, ReferenceWorld, secret, toConfigMap, toSecret } from './fake-references.ts';

let world: ReferenceWorld;
const start = async (...given: Parameters<typeof ReferenceWorld.started>): Promise<ReferenceWorld> => {
  world = await ReferenceWorld.started(...given);
  return world;
};
/** A virtual Secret and an Endpoints that refers to it. */
const startReferring = (): Promise<ReferenceWorld> =>
  start({}, (w) => {
    w.virtual.put('secrets', secret('db'));
    w.refer({ k: 'db' });
  });
afterEach(() => world.stop());

const nameOf = (name: string, namespace = 'default') => generatedName({ name, namespace }, 'vc');
const dataOf = (object: KubeObject | undefined) => (object?.['data'] as Record<string, string> | undefined)?.['value'];
const markOf = (object: KubeObject | undefined) => object?.metadata.annotations?.['hostward.dev/imported-from'];
const team: NamespaceMapping = {
  hostNamespaceOf: (one) => (one === 'default' ? 'team' : undefined),
  mappingsOnly: true,
};

function change(
  server: ReferenceWorld['host'],
  resource: string,
  object: KubeObject | undefined,
  to: (draft: KubeObject) => void,
) {
  return world.change(() => {
    const draft = structuredClone(object as KubeObject);
    to(draft);
    server.put(resource, draft);
  });
}

describe('content that is exported', () => {
  it('stays while only the addresses of the referring object change', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    for (const last of [2, 3, 4]) {
      await change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft['subsets'] = endpoints('web', `10.0.0.${last}`)['subsets'];
      });
      await world.clock.advance(120_000);
      await world.quiet();
    }
    expect(world.said('k')).toBe(nameOf('db'));
    expect(world.exported('db')).toMatchObject({ data: { value: 'djE=' } });
    await world.change(() => world.virtual.put('secrets', secret('db', 'djI=')));
    expect(world.exported('db')).toMatchObject({ data: { value: 'djI=' } });
  });

  it('goes to the host under the generated name, with our marks and without the annotations of the tenant', async () => {
    const metadata = {
      labels: { app: 'x', 'hostward.dev/importable': 'true', 'vcluster.loft.sh/other': 'y' },
      annotations: { 'reflector.example/allowed': 'true' },
    };
    await start({}, (w) => {
      w.refer({ k: 'db', c: 'conf' });
      w.virtual.put('secrets', { ...secret('db', 'djE=', metadata), immutable: true });
      w.virtual.put('configmaps', { metadata: { name: 'conf', namespace: 'default' }, binaryData: { b: 'AA==' } });
    });
    expect(world.said('k')).toBe(nameOf('db'));
    const copy = world.exported('db') as KubeObject;
    const uid = world.virtual.get('secrets', 'default', 'db')?.metadata.uid;
    expect(copy).toMatchObject({ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', data: { value: 'djE=' } });
    expect(copy['immutable']).toBeUndefined();
    expect(copy.metadata.labels).toEqual({
      app: 'x',
      'vcluster.loft.sh/managed-by': 'vc',
      'vcluster.loft.sh/namespace': 'default',
    });
    expect(copy.metadata.annotations).toEqual({
      'vcluster.loft.sh/object-name': 'db',
      'vcluster.loft.sh/object-namespace': 'default',
      'vcluster.loft.sh/object-uid': uid,
      'vcluster.loft.sh/object-kind': '/v1, Kind=Secret',
      'vcluster.loft.sh/object-host-name': nameOf('db'),
      'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
      'hostward.dev/label-keys': 'app',
    });
    expect(copy.metadata.ownerReferences).toMatchObject([{ kind: 'Service', name: 'vc', controller: false }]);
    expect(world.exported('conf', 'default', 'configmaps')).toMatchObject({
      kind: 'ConfigMap',
      binaryData: { b: 'AA==' },
    });
    expect(world.eventReasons()).toEqual([]);
  });

  it('is logged as written and as removed', async () => {
    const lines: { msg: string; kind?: string; request?: string }[] = [];
    const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
    await start({ log }, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.change(() => world.refer({}));
    expect(world.exported('db')).toBeUndefined();
    expect(lines.filter(({ kind }) => kind === 'Secret').map(({ msg, request }) => `${msg}: ${request}`)).toEqual([
      'content written: host create',
      'content removed: host remove',
    ]);
  });

  it('follows the tenant, and a restart with nothing changed writes nothing', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db', 'djE=', { labels: { app: 'x', old: '1' } }));
    });
    await change(world.virtual, 'secrets', world.virtual.get('secrets', 'default', 'db'), (draft) => {
      draft['data'] = { value: 'djI=', more: 'AA==' };
      draft.metadata.labels = { app: 'y' };
    });
    expect(world.exported('db')?.['data']).toEqual({ value: 'djI=', more: 'AA==' });
    expect(world.exported('db')?.metadata.labels).toMatchObject({ app: 'y' });
    expect(world.exported('db')?.metadata.labels?.['old']).toBeUndefined();
    await change(world.virtual, 'secrets', world.virtual.get('secrets', 'default', 'db'), (draft) => {
      draft['data'] = {};
    });
    expect(world.exported('db')?.['data']).toEqual({});
    const writes = world.contentWrites().length;
    await world.restart();
    expect(world.contentWrites()).toHaveLength(writes);
  });

  it('host edits are reverted, a copy that vanished comes back, labels of the host stay', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await change(world.host, 'secrets', world.exported('db'), (draft) => {
      draft['data'] = { value: 'ZXZpbA==', extra: 'AA==' };
      draft.metadata.labels = { mine: '1' };
      draft.metadata.annotations = { ...draft.metadata.annotations, 'vcluster.loft.sh/object-uid': 'x' };
    });
    expect(world.exported('db')?.['data']).toEqual({ value: 'djE=' });
    expect(world.exported('db')?.metadata.labels).toMatchObject({ mine: '1', 'vcluster.loft.sh/managed-by': 'vc' });
    await world.change(() => world.host.remove('secrets', 'vcluster-vc', nameOf('db')));
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('endless edits on the host are reverted once a second', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    for (let turn = 0; turn < 20; turn++)
      await change(world.host, 'secrets', world.exported('db'), (draft) =>
        Object.assign(draft, { data: { value: 'eA==' } }),
      );
    const patches = world.contentWrites().filter((one) => one.startsWith('host patch'));
    expect(patches.length).toBeLessThanOrEqual(5);
    await world.clock.advance(5000);
    await world.quiet();
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('goes with the last reference, not before', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.refer({ k: 'db' }, 'other');
      w.virtual.put('secrets', secret('db'));
    });
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(world.exported('db')).toBeDefined();
    await change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'other'), (draft) => {
      draft.metadata.annotations = {};
    });
    expect(world.exported('db')).toBeUndefined();
    expect(world.virtual.get('secrets', 'default', 'db')).toBeDefined();
  });

  it('goes when the tenant deletes it: the name stays generated, and the tenant is told', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.change(() => world.virtual.remove('secrets', 'default', 'db'));
    expect(world.exported('db')).toBeUndefined();
    expect(world.said()).toBe(nameOf('db'));
    expect(world.eventReasons()).toEqual(['ReferenceUnresolved']);
    await world.change(() => world.virtual.put('secrets', { ...secret('db'), type: 'kubernetes.io/tls' }));
    expect(world.exported('db')?.['type']).toBe('kubernetes.io/tls');
  });

  it('another type under the same name deletes the copy and creates it again', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.stop();
    world.virtual.remove('secrets', 'default', 'db');
    world.virtual.put('secrets', { ...secret('db', 'djI='), type: 'kubernetes.io/basic-auth' });
    const before = world.exported('db')?.metadata.uid;
    await world.run();
    expect(world.exported('db')).toMatchObject({ type: 'kubernetes.io/basic-auth', data: { value: 'djI=' } });
    expect(world.exported('db')?.metadata.uid).not.toBe(before);
  });

  it.each([
    ['the reference', (w: ReferenceWorld) => w.virtual.remove('endpoints', 'default', 'web')],
    ['the object', (w: ReferenceWorld) => w.virtual.remove('secrets', 'default', 'db')],
    ['the switch', (w: ReferenceWorld) => Object.assign(w.given, { exported: [] })],
    ['generated naming', (w: ReferenceWorld) => Object.assign(w.given, { naming: 'vcluster' })],
  ])('what went while we were down is found at the start: %s', async (_, act) => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
      // One of several, or the caution of the lists would ask twice.
      for (let at = 0; at < 9; at++) {
        w.refer({ k: `s${at}` }, `other-${at}`);
        w.virtual.put('secrets', secret(`s${at}`));
      }
    });
    expect(world.exported('db')).toBeDefined();
    await world.stop();
    act(world);
    await world.run();
    expect(world.exported('db')).toBeUndefined();
    expect(world.exported('s0') === undefined).toBe(
      world.given.naming === 'vcluster' || world.given.exported?.length === 0,
    );
  });

  it('is removed when its switch or its patch goes during a run, and copied again when that returns', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.reconfigure({ exported: ['ConfigMap'] });
    expect([world.exported('db'), world.said()]).toEqual([undefined, nameOf('db')]);
    await world.reconfigure({ exported: ['Secret'] });
    expect(world.exported('db')).toBeDefined();
    await world.reconfigure({ references: [toConfigMap] });
    expect([world.exported('db'), world.said()]).toEqual([undefined, 'db']);
    await world.reconfigure({ references: [toSecret] });
    expect([dataOf(world.exported('db')), world.said()]).toEqual(['djE=', nameOf('db')]);
  });

  it('tokens of service accounts do not cross', async () => {
    await start({}, (w) => {
      w.refer({ k: 'token' });
      w.virtual.put('secrets', { ...secret('token'), type: 'kubernetes.io/service-account-token' });
    });
    expect(world.exported('token')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['ReferenceRefused']);
    expect(world.contentWrites()).toEqual([]);
  });

  it.each([
    ['somebody else', {}],
    ['another virtual cluster', { labels: { 'vcluster.loft.sh/managed-by': 'other' } }],
    [
      'a copy for another object',
      {
        labels: { 'vcluster.loft.sh/managed-by': 'vc' },
        annotations: { 'vcluster.loft.sh/object-name': 'x', 'vcluster.loft.sh/object-namespace': 'y' },
      },
    ],
  ])('an object of %s at the name is never overwritten and never removed', async (_, metadata) => {
    const place = { name: nameOf('db'), namespace: 'vcluster-vc' };
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
      w.host.put('secrets', secret(place.name, 'aGlz', { ...place, ...metadata }));
    });
    const version = world.exported('db')?.metadata.resourceVersion;
    expect(world.eventReasons()).toEqual(['NotOwned']);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    await world.restart();
    expect(world.exported('db')?.metadata.resourceVersion).toBe(version);
    expect(dataOf(world.exported('db'))).toBe('aGlz');
  });

  it('when the name becomes free the copy is made', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
      w.host.put('secrets', secret(nameOf('db'), 'aGlz', { namespace: 'vcluster-vc' }));
    });
    await world.change(() => world.host.remove('secrets', 'vcluster-vc', nameOf('db')));
    await world.clock.advance(11 * 60_000);
    await world.quiet();
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('a copy without its label is repaired in place', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    const uid = world.exported('db')?.metadata.uid;
    await change(world.host, 'secrets', world.exported('db'), (draft) => Object.assign(draft.metadata, { labels: {} }));
    expect(world.exported('db')?.metadata).toMatchObject({ uid, labels: { 'vcluster.loft.sh/managed-by': 'vc' } });
  });

  it("vCluster's own copies are not treated as leftovers", async () => {
    const name = 'db-x-default-x-vc';
    await start({}, (w) => {
      const annotations = {
        'vcluster.loft.sh/object-name': 'db',
        'vcluster.loft.sh/object-namespace': 'default',
        'vcluster.loft.sh/object-host-name': name,
        'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
      };
      const labels = { 'vcluster.loft.sh/managed-by': 'vc' };
      w.host.put('secrets', secret(name, 'djE=', { namespace: 'vcluster-vc', labels, annotations }));
      w.refer({ k: 'other' });
    });
    await world.restart();
    expect(world.contentWrites()).toEqual([]);
  });

  it.each([
    ['forbids a write is asked again after a second, then less often, once a minute in the end', 403, 12, 7],
    ['rejects a write is asked again after ten seconds, then less often', 422, 6, 2],
  ])('a host that %s', async (_, code, first, later) => {
    const triesMs: number[] = [];
    let isForbidden = true;
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
      const writer = w.host.writer();
      const no: Answer =
        code === 403
          ? { kind: 'forbidden', message: 'no', namespaceTerminating: false }
          : { kind: 'refused', status: 422, reason: 'Invalid', message: 'no' };
      w.host.writer = () => ({
        ...writer,
        create: async (ref, object) => {
          if (ref.resource !== 'secrets') return writer.create(ref, object);
          triesMs.push(w.clock.now());
          return isForbidden ? no : writer.create(ref, object);
        },
      });
    });
    const wait = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        await world.clock.advance(1_000);
        await world.quiet();
      }
    };
    const triesIn = async (seconds: number) => {
      const before = triesMs.length;
      await wait(seconds);
      return triesMs.length - before;
    };
    const soonSeconds = code === 403 ? 1 : 10;
    expect(await triesIn(soonSeconds)).toBe(1);
    const tries = [await triesIn(300), await triesIn(300)] as const;
    expect(tries[0]).toBeGreaterThan(3);
    expect([tries[0] < first, tries[1] < later]).toEqual([true, true]);
    isForbidden = false;
    await wait(code === 403 ? 60 : 300);
    expect(world.exported('db')).toBeDefined();
    isForbidden = true;
    world.host.remove('secrets', 'vcluster-vc', nameOf('db'));
    await world.quiet();
    expect(await triesIn(soonSeconds)).toBeGreaterThan(0);
  });

  it('a copy that vanished with its owner gets the uid of the next owner, although the watch of the owner is behind', async () => {
    const created: unknown[] = [];
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
      const writer = w.host.writer();
      w.host.writer = () => ({
        ...writer,
        create: async (ref, object) => {
          if (ref.resource === 'secrets') created.push(object.metadata.ownerReferences?.[0]?.uid);
          return writer.create(ref, object);
        },
      });
    });
    created.length = 0;
    const { owner } = world.windows;
    if (owner !== undefined) owner.isHeld = true;
    world.host.remove('services', 'vcluster-vc', 'vc');
    const back = world.host.put('services', service('vc', 'vcluster-vc'));
    await world.change(() => world.host.remove('secrets', 'vcluster-vc', nameOf('db')));
    expect(created).toEqual([back.metadata.uid]);
  });

  it('is not copied while the owner is missing, and is copied when the owner is there', async () => {
    await start({ hasOwner: false }, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    expect(world.contentWrites()).toEqual([]);
    await world.change(() =>
      world.host.put('services', { metadata: { name: 'vc', namespace: 'vcluster-vc' }, spec: {} }),
    );
    expect(world.exported('db')?.metadata.ownerReferences).toHaveLength(1);
  });

  it('an empty list is asked for twice before copies go', async () => {
    await start({}, (w) => {
      for (let at = 0; at < 10; at++) {
        w.refer({ k: `s${at}` }, `web-${at}`);
        w.virtual.put('secrets', secret(`s${at}`));
      }
    });
    const window = world.contentWindows.get('virtual secrets');
    Object.assign(window as object, { nextList: [] });
    await world.change(() => void window?.relist());
    await world.clock.advance(11_000);
    await world.quiet();
    expect(world.host.list('secrets')).toHaveLength(10);
    expect(window?.relists).toBe(2);
    for (let at = 0; at < 10; at++) world.virtual.remove('secrets', 'default', `s${at}`);
    await world.quiet();
    expect(world.host.list('secrets')).toHaveLength(0);
  });

  it.each(['secrets', 'endpoints'])('an empty first list of %s removes no copy', async (resource) => {
    await start({}, (w) => {
      for (let at = 0; at < 10; at++) {
        w.refer({ k: `s${at}` }, `web-${at}`);
        w.virtual.put('secrets', secret(`s${at}`));
      }
    });
    await world.stop();
    const { virtual } = world;
    const truth = virtual.list.bind(virtual);
    let lists = 0;
    const relist = vi.spyOn(FakeWindow.prototype, 'relist').mockImplementation(async function (
      this: FakeWindow<never>,
    ) {
      await settle(10);
      relist.mockRestore();
      await this.relist();
    });
    virtual.list = (asked) => (asked === resource && lists++ === 0 ? [] : truth(asked));
    await world.run();
    await world.clock.advance(11_000);
    await settle(20);
    await world.quiet();
    expect(lists).toBe(2);
    expect(world.contentWrites().filter((one) => one.includes('remove'))).toEqual([]);
    expect(world.host.list('secrets')).toHaveLength(10);
  });

  it('an object whose pass fails keeps the content that its host copy names', async () => {
    const failing = entry({ path: 'metadata.annotations["bad"]', expression: 'value.x.y' });
    await start({ references: [toSecret, failing] }, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'web'), (draft) => {
      draft.metadata.annotations = { bad: '1' };
    });
    expect(world.eventReasons()).toEqual(['PatchFailed']);
    expect(world.exported('db')).toBeDefined();
    await world.restart();
    expect([world.said(), world.exported('db') !== undefined]).toEqual([nameOf('db'), true]);
  });

  it('a refused object counts no references', async () => {
    await start({ settings: { addressPolicy: { allow: [], deny: ['10.0.0.0/8'] } } }, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    expect(world.contentWrites()).toEqual([]);
  });

  it('in mapped namespaces the copy has the same name, and only the instance that made it removes it', async () => {
    await start({ mapping: team }, (w) => {
      w.refer({ k: 'db' });
      w.refer({ k: 'taken' }, 'other');
      w.virtual.put('secrets', secret('db'));
      w.virtual.put('secrets', secret('taken'));
      w.host.put('secrets', secret('taken', 'aGlz', { namespace: 'team' }));
    });
    expect(world.said()).toBe('db');
    const copy = world.host.get('secrets', 'team', 'db');
    expect(copy?.metadata.annotations).toMatchObject({ 'hostward.dev/instance': 'vcluster-vc/vc' });
    expect(copy?.metadata.ownerReferences).toBeUndefined();
    await world.change(() => {
      for (const name of ['web', 'other']) world.virtual.remove('endpoints', 'default', name);
    });
    expect(world.host.get('secrets', 'team', 'db')).toBeUndefined();
    expect(dataOf(world.host.get('secrets', 'team', 'taken'))).toBe('aGlz');
  });

  it('when two mapped namespaces swap places, so do the copies, and only our own objects are removed', async () => {
    const mapped = (to: Record<string, string>): NamespaceMapping => ({
      hostNamespaceOf: (one) => to[one],
      mappingsOnly: true,
    });
    const theirs = (name: string, more: Record<string, string>) =>
      secret(name, 'aGlz', {
        namespace: 'host-b',
        labels: { 'vcluster.loft.sh/managed-by': 'vc' },
        annotations: {
          'vcluster.loft.sh/object-name': name,
          'vcluster.loft.sh/object-namespace': 'default',
          'vcluster.loft.sh/object-uid': 'some',
          'vcluster.loft.sh/object-kind': '/v1, Kind=Secret',
          'vcluster.loft.sh/object-host-name': name,
          'vcluster.loft.sh/object-host-namespace': 'host-b',
          ...more,
        },
      });
    await start({ mapping: mapped({ default: 'host-a', other: 'host-b' }) }, (w) => {
      for (const namespace of ['default', 'other']) {
        w.refer({ k: 'db' }, `of-${namespace}`, namespace);
        w.virtual.put('secrets', secret('db', 'djE=', { namespace }));
      }
      w.virtual.put('secrets', secret('gone'));
      w.refer({ k: 'gone' }, 'gone');
    });
    expect(world.host.get('secrets', 'host-a', 'gone')).toBeDefined();
    await world.stop();
    world.host.put('secrets', theirs('native', {}));
    world.host.put('secrets', theirs('elsewhere', { 'hostward.dev/instance': 'hns/vc' }));
    const copied = { 'hostward.dev/instance': 'vcluster-vc/vc' };
    const managed = { 'vcluster.loft.sh/managed-annotations': 'x\nhostward.dev/instance' };
    world.host.put('secrets', theirs('spoofed', { ...copied, ...managed }));
    Object.assign(world.given, { mapping: mapped({ default: 'host-b', other: 'host-a' }) });
    await world.run();
    const places = world.host.list('secrets').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(places.sort()).toEqual([
      'host-a/db',
      'host-b/db',
      'host-b/elsewhere',
      'host-b/gone',
      'host-b/native',
      'host-b/spoofed',
    ]);
    expect(world.host.get('secrets', 'host-a', 'db')?.metadata.annotations).toMatchObject({
      'vcluster.loft.sh/object-namespace': 'other',
    });
    const writes = world.contentWrites().length;
    await world.restart();
    expect(world.contentWrites()).toHaveLength(writes);
  });

  it('with naming: vcluster nothing is exported', async () => {
    await start({ naming: 'vcluster' }, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    expect([world.said(), world.contentWrites()]).toEqual(['db-x-default-x-vc', []]);
  });

  it('status names what no object stands behind, and how to mend it', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.refer({ k: 'gone' }, 'other');
      w.virtual.put('secrets', secret('db'));
      w.host.put('secrets', hostSecret('gone', 'eA==', {}));
    });
    expect(world.references.status()).toMatchObject({
      Secret: { exported: 1, unresolved: 1, trouble: [{ object: 'default/gone', state: 'unresolved' }] },
    });
    expect([...world.references.gaps]).toEqual([['ReferenceUnresolved', 1]]);
    expect(JSON.stringify(world.references.status())).toContain('the label hostward.dev/importable=true');
    expect(objectStatus(world.sync, 'default/other')?.references).toEqual([
      { object: 'Secret default/gone', standing: 'unresolved' },
    ]);
    await world.change(() => world.host.put('secrets', hostSecret('gone')));
    expect(world.references.status()).toMatchObject({ Secret: { imported: 1, unresolved: 0, trouble: [] } });
    expect([...world.references.gaps]).toEqual([]);
    expect(objectStatus(world.sync, 'default/other')?.references).toEqual([
      { object: 'Secret default/gone', standing: 'imported' },
    ]);
  });

  it('a standby and a dry run write nothing', async () => {
    await start({ isDryRun: true }, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
      w.host.put('secrets', hostSecret('shared'));
      w.refer({ k: 'shared' }, 'other');
    });
    expect([world.contentWrites(), world.eventReasons()]).toEqual([[], []]);
    expect(syncStatus(world.sync).differences?.filter(({ object }) => object.startsWith('Secret'))).toEqual([
      { object: 'Secret default/shared', request: 'virtual create', touches: 'Secret default/shared' },
      { object: 'Secret default/db', request: 'host create', touches: `Secret vcluster-vc/${nameOf('db')}` },
    ]);
    expect(verdictFacts(world.sync).differences).toBe(4);
    await world.stop();
    Object.assign(world.options, { isDryRun: false });
    world.isLeader = false;
    await world.run();
    expect(world.contentWrites()).toEqual([]);
    world.isLeader = true;
    await world.change(() => world.sync.enqueueAll());
    expect(world.exported('db')).toBeDefined();
    expect(world.imported('shared')).toBeDefined();
  });

  it('a copy that was recreated before our delete was answered stays known, and goes with the last reference', async () => {
    await start({}, (w) => {
      recreateBeforeAnswers(w.host, (resource, found) => {
        if (resource !== 'secrets' || w.virtual.list('secrets').length > 1) return undefined;
        w.virtual.put('secrets', secret('another'));
        return { ...found, data: { value: 'djI=' } };
      });
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
    });
    await world.change(() => world.virtual.put('secrets', secret('db', 'djI=')));
    const [window] = [...world.contentWindows].flatMap(([name, one]) => (name === 'copies secrets' ? one : []));
    expect(window?.size).toBe(1);
    expect(world.contentWrites().filter((one) => one.startsWith('host create'))).toHaveLength(1);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(world.exported('db')).toBeUndefined();
  });

  it('a copy goes when its Secret becomes a token and all references are counted', async () => {
    await startReferring();
    world.references.of('Endpoints').expect('default/web');
    await world.change(() => {
      world.virtual.remove('secrets', 'default', 'db');
      world.virtual.put('secrets', { ...secret('db'), type: 'kubernetes.io/service-account-token' });
      world.references.of('Endpoints').expect('default/nobody');
    });
    expect(world.exported('db')).toBeDefined();
    world.references.registry.note({ kind: 'Endpoints', key: 'default/nobody' }, []);
    await world.quiet();
    expect(world.exported('db')).toBeUndefined();
  });

  it('a copy that only a failed pass kept goes when the next pass succeeds', async () => {
    await startReferring();
    const { registry } = world.references;
    const web = { kind: 'Endpoints', key: 'default/web' };
    // As after a start: nothing is known of what it refers to, but its host copy names something.
    registry.note(web, []);
    registry.noteFailed(web, []);
    await world.quiet();
    expect(world.exported('db')).toBeDefined();
    registry.note(web, []);
    await world.quiet();
    expect(world.exported('db')).toBeUndefined();
  });

  it('a copy that the host has given to another controller is left unchanged', async () => {
    await startReferring();
    await change(world.host, 'secrets', world.exported('db'), ({ metadata }) => {
      Object.assign(metadata.annotations as object, { 'vcluster.loft.sh/controlled-by': 'them' });
    });
    await world.change(() => world.virtual.put('secrets', secret('db', 'djI=')));
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('a copy without its label that is slow to go is created again once it has gone', async () => {
    await start({}, (w) => {
      const deletionTimestamp = '2026-01-01T00:00:00Z';
      const annotations = {
        'vcluster.loft.sh/object-name': 'db',
        'vcluster.loft.sh/object-namespace': 'default',
        'vcluster.loft.sh/object-uid': 'some',
        'vcluster.loft.sh/object-kind': '/v1, Kind=Secret',
        'vcluster.loft.sh/object-host-name': nameOf('db'),
        'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
      };
      w.host.put('secrets', secret(nameOf('db'), 'eA==', { namespace: 'vcluster-vc', annotations, deletionTimestamp }));
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
    });
    world.host.remove('secrets', 'vcluster-vc', nameOf('db'));
    await world.clock.advance(60_000);
    await world.quiet();
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('a standby counts all references again when it takes over', async () => {
    await startReferring();
    expect(world.exported('db')).toBeDefined();
    world.isLeader = false;
    await world.change(() => world.refer({ k: 'db' }, 'brief'));
    await world.change(() => {
      for (const name of ['web', 'brief']) world.virtual.remove('endpoints', 'default', name);
      // What the leader of that time does.
      const { namespace = '', name = '' } = world.copy('web')?.metadata ?? {};
      world.host.remove('endpoints', namespace, name);
    });
    world.isLeader = true;
    await world.change(() => world.sync.enqueueAll());
    expect(world.references.registry.isComplete).toBe(true);
    expect(world.exported('db')).toBeUndefined();
  });
});

describe('content that is imported', () => {
  it('comes under its own name, marked, and only with the label on the host', async () => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.refer({ k: 'private' }, 'other');
      w.host.put('secrets', { ...hostSecret('shared'), immutable: true });
      w.host.put('secrets', hostSecret('private', 'cHJpdmF0ZQ==', {}));
    });
    const uid = world.host.get('secrets', 'vcluster-vc', 'shared')?.metadata.uid;
    expect(world.said()).toBe('shared');
    expect(world.imported('shared')).toMatchObject({ type: 'Opaque', data: { value: 'aG9zdA==' } });
    expect(world.imported('shared')?.metadata).toMatchObject({ annotations: { 'hostward.dev/imported-from': uid } });
    expect(world.imported('shared')?.metadata.labels).toBeUndefined();
    expect(world.imported('private')).toBeUndefined();
    expect(world.said('k', 'other')).toBe(nameOf('private'));
    expect(world.eventReasons()).toEqual(['ReferenceUnresolved']);
    expect(world.host.list('secrets')).toHaveLength(2);
  });

  it('a change on the host reaches the import, and a change by the tenant is undone', async () => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', hostSecret('shared'));
    });
    await change(world.host, 'secrets', world.host.get('secrets', 'vcluster-vc', 'shared'), (draft) => {
      draft['data'] = { value: 'bmV3' };
    });
    expect(dataOf(world.imported('shared'))).toBe('bmV3');
    await change(world.virtual, 'secrets', world.imported('shared'), (draft) => {
      draft['data'] = { value: 'ZXZpbA==' };
    });
    expect(dataOf(world.imported('shared'))).toBe('bmV3');
    await world.change(() => world.virtual.remove('secrets', 'default', 'shared'));
    expect(dataOf(world.imported('shared'))).toBe('bmV3');
    expect(dataOf(world.host.get('secrets', 'vcluster-vc', 'shared'))).toBe('bmV3');
    const writes = world.contentWrites().length;
    await world.restart();
    expect(world.contentWrites()).toHaveLength(writes);
    expect(world.host.list('secrets')).toHaveLength(1);
  });

  it.each([false, true])('it goes with the last reference (while the daemon is down: %s)', async (isDown) => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.refer({}, 'other');
      w.host.put('secrets', hostSecret('shared'));
    });
    if (isDown) await world.stop();
    world.virtual.remove('endpoints', 'default', 'web');
    await (isDown ? world.run() : world.quiet());
    expect(world.imported('shared')).toBeUndefined();
    expect(world.host.get('secrets', 'vcluster-vc', 'shared')).toBeDefined();
  });

  it.each([false, true])('it goes with the label (while the daemon is down: %s)', async (isDown) => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', hostSecret('shared'));
    });
    if (isDown) await world.stop();
    const host = world.host.get('secrets', 'vcluster-vc', 'shared') as KubeObject;
    world.host.put('secrets', { ...host, metadata: { ...host.metadata, labels: {} } });
    await (isDown ? world.run() : world.quiet());
    expect(world.imported('shared')).toBeUndefined();
    expect(world.said()).toBe(nameOf('shared'));
    expect(world.exported('shared')).toBeUndefined();
  });

  it.each([false, true])(
    "it never goes because the host object is missing: then it is the tenant's (while we are down: %s)",
    async (isDown) => {
      await start({}, (w) => {
        w.refer({ k: 'shared' });
        w.host.put('secrets', hostSecret('shared'));
      });
      if (isDown) await world.stop();
      world.host.remove('secrets', 'vcluster-vc', 'shared');
      await (isDown ? world.run() : world.quiet());
      expect(dataOf(world.imported('shared'))).toBe('aG9zdA==');
      expect([world.said(), dataOf(world.exported('shared'))]).toEqual([nameOf('shared'), 'aG9zdA==']);
      await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
      expect([world.imported('shared') !== undefined, world.exported('shared')]).toEqual([true, undefined]);
    },
  );

  it.each([
    ['not shown', importable],
    ['not to be had', { ...importable, 'vcluster.loft.sh/managed-by': 'vc' }],
  ])('the host is asked once about an import whose object is there and %s', async (_, labels) => {
    let asked = 0;
    await start({}, (w) => {
      const writer = w.host.writer();
      w.host.writer = () => ({
        ...writer,
        get: async (ref, place) => {
          if (ref.resource === 'secrets') asked++;
          return writer.get(ref, place);
        },
      });
      w.host.put('secrets', hostSecret('shared'));
      w.refer({ k: 'shared' });
    });
    const window = world.contentWindows.get('importable secrets');
    await world.change(() => {
      Object.assign(window as object, { isHeld: true });
      world.host.put('secrets', hostSecret('shared', 'aG9zdA==', labels));
      Object.assign(window as object, { nextList: [] });
      void window?.relist();
    });
    expect(asked).toBe(1);
  });

  it('a mark that a tenant made up means nothing', async () => {
    const forged = (uid: string) => ({ annotations: { 'hostward.dev/imported-from': uid } });
    await start({}, (w) => {
      w.host.put('secrets', hostSecret('private', 'cHJpdmF0ZQ==', {}));
      w.host.put('secrets', hostSecret('shared'));
      w.virtual.put('secrets', secret('private', 'djE=', forged('uid-guess')));
      w.virtual.put('secrets', secret('shared', 'djE=', forged('uid-guess')));
      w.refer({ k: 'private' });
      w.refer({ k: 'shared' }, 'other');
    });
    expect([dataOf(world.imported('private')), dataOf(world.imported('shared'))]).toEqual(['djE=', 'djE=']);
    expect([dataOf(world.exported('private')), dataOf(world.exported('shared'))]).toEqual(['djE=', 'djE=']);
  });

  it("a tenant's own object is stronger than the host's", async () => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', hostSecret('shared'));
      w.virtual.put('secrets', secret('shared'));
    });
    expect([dataOf(world.imported('shared')), markOf(world.imported('shared'))]).toEqual(['djE=', undefined]);
    expect([world.said(), dataOf(world.exported('shared'))]).toEqual([nameOf('shared'), 'djE=']);
  });

  it('an object that appears on either side changes the name that is written', async () => {
    await start({}, (w) => w.refer({ k: 'late' }));
    expect(world.said()).toBe(nameOf('late'));
    await world.change(() => world.host.put('secrets', hostSecret('late')));
    expect([world.said(), dataOf(world.imported('late'))]).toEqual(['late', 'aG9zdA==']);
    await world.change(() => world.host.put('secrets', hostSecret('other')));
    await change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'web'), (draft) => {
      draft.metadata.annotations = { k: 'other' };
    });
    expect([world.said(), world.imported('late'), world.imported('other') !== undefined]).toEqual([
      'other',
      undefined,
      true,
    ]);
    expect(world.sync.contest.contested()).toEqual([]);
  });

  it('in mapped namespaces it comes from the mapped host namespace', async () => {
    await start({ mapping: team }, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', secret('shared', 'aG9zdA==', { namespace: 'team', labels: importable }));
      w.host.put('secrets', hostSecret('shared', 'b3RoZXI='));
    });
    expect([world.said(), dataOf(world.imported('shared'))]).toEqual(['shared', 'aG9zdA==']);
    await change(world.host, 'secrets', world.host.get('secrets', 'team', 'shared'), (draft) => {
      draft.metadata.labels = {};
    });
    expect(world.imported('shared')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['ReferenceUnresolved']);
    expect(world.contentWrites().filter((one) => one.startsWith('host'))).toEqual([]);
  });

  it('a name that changes again and again with the objects behind it does not count as contested', async () => {
    await start({}, (w) => w.refer({ k: 'late' }));
    for (let turn = 0; turn < 6; turn++) {
      await world.change(() => world.host.put('secrets', hostSecret('late')));
      expect(world.said()).toBe('late');
      await world.change(() => world.host.put('secrets', hostSecret('late', 'aG9zdA==', {})));
      expect(world.said()).toBe(nameOf('late'));
    }
    expect(world.sync.contest.contested()).toEqual([]);
  });

  it('neither our own copies nor tokens of service accounts can be imported', async () => {
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
      w.host.put('secrets', { ...hostSecret('token'), type: 'kubernetes.io/service-account-token' });
      w.refer({ k: 'token' }, 'other');
    });
    await change(world.host, 'secrets', world.exported('db'), (draft) =>
      Object.assign(draft.metadata.labels as object, importable),
    );
    await world.change(() => world.refer({ k: nameOf('db') }, 'third'));
    expect(world.virtual.list('secrets')).toHaveLength(1);
  });

  it('the name of an import flows back unchanged', async () => {
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
      w.host.put('secrets', hostSecret('shared'));
    });
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, k: 'shared' };
      }),
    );
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata.annotations).toEqual({ k: 'shared' });
    expect([world.said(), world.exported('db'), dataOf(world.imported('shared'))]).toEqual([
      'shared',
      undefined,
      'aG9zdA==',
    ]);
  });

  it('a name that was given before a restart flows back, for any kind and any referring object', async () => {
    const toService = entry({ path: 'metadata.annotations["s"]', reference: { apiVersion: 'v1', kind: 'Service' } });
    const editWeb = (annotations: Record<string, string>) =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, ...annotations };
      });
    await start({ references: [toSecret, toService] }, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'other', s: 'own' });
      w.refer({ k: 'db' }, 'gone');
      // More than are worked on at a time.
      for (let at = 0; at < 100; at++) w.refer({}, `other-${at}`);
      w.refer({ s: 'backend' }, 'zulu');
    });
    await world.stop();
    editWeb({ k: nameOf('db'), s: nameOf('backend') });
    world.virtual.remove('endpoints', 'default', 'gone');
    await world.run();
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata.annotations).toEqual({ k: 'db', s: 'backend' });
    expect([world.said('k'), dataOf(world.exported('db'))]).toEqual([nameOf('db'), 'djE=']);
  });
});

describe('the memory of content', () => {
  it('holds only a digest of each tenant object, and the object is read again for a write', async () => {
    const planted = 'cGxhbnRlZA==';
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db', planted));
      w.virtual.put('secrets', secret('nobodys', planted));
      w.refer({ k: 'db' });
    });
    expect(dataOf(world.exported('db'))).toBe(planted);
    const window = world.contentWindows.get('virtual secrets') as FakeWindow<never>;
    const kept = [...window.keys()].map((key) => window.get(key));
    expect(kept).toHaveLength(2);
    expect(JSON.stringify(kept)).not.toContain(planted);
  });
});

describe('a reference that moves from one object to another', () => {
  it('removes no copy in between, because the references of changed objects are unknown until their next pass', async () => {
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' }, 'api');
      w.refer({}, 'web');
    });
    expect(world.exported('db')).toBeDefined();
    await world.change(() => {
      world.refer({}, 'api');
      // More than are worked on at a time.
      for (let at = 0; at < 100; at++) world.refer({ new: '1' }, `other-${at}`);
      world.refer({ k: 'db' }, 'web');
    });
    expect(world.contentWrites().filter((one) => one.includes('remove'))).toEqual([]);
    expect(world.references.registry.isComplete).toBe(true);
  });
});

describe('two referring kinds', () => {
  it('one kind does not wait for content that only the patches of the other kind name', async () => {
    await startReferring();
    let isEndless = false;
    const never = new Promise<void>(() => {});
    const window = new FakeWindow<never>(world.virtual, 'secrets', (() => undefined) as never);
    vi.spyOn(window, 'whenSynced').mockReturnValue(never);
    const other = new References({
      queue: new WorkQueue(world.clock),
      settings: world.settings,
      openWindows: () => {
        isEndless = true;
        return { virtual: window, copies: window, importable: window };
      },
      findCopies: async () => ({ kind: 'failed' }),
      clock: world.clock,
      random: () => 0.5,
      log: silentLog,
      metrics: createMetrics(),
    });
    other.connect({ ledger: new Ledger(), isDryRun: false, mayWrite: () => true } as ReferencePorts);
    await other.start('EndpointSlice');
    expect(isEndless).toBe(false);
    const waiting = other.start('Endpoints');
    const first = await Promise.race([waiting.then(() => 'started'), settle(5).then(() => 'waiting')]);
    expect([isEndless, first]).toEqual([true, 'waiting']);
  });
});
