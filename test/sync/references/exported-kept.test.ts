import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { NamespaceMapping } from '../../../src/sync/plan/placement.ts';
import { objectStatus } from '../../../src/sync/report/object-status.ts';
import { syncStatus, verdictFacts } from '../../../src/sync/report/status.ts';
import { settle } from '../../virtual-clock.ts';
import { FakeWindow, recreateBeforeAnswers } from '../fake-cluster.ts';
import { service } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';
import { hostSecret, secret, toSecret } from './fake-references.ts';
import { change, dataOf, nameOf, start, startReferring, team, world } from './reference-stage.ts';

const absent =
  'the virtual cluster does not have it, and the host has none of this name with the label hostward.dev/importable=true';

afterEach(() => world.stop());

describe('content that is exported, when something is missing, refused or handed over', () => {
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
      { object: 'Secret default/gone', standing: 'unresolved', message: absent },
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
