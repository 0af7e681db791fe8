// A name that the host writes into a reference comes back as the tenant knows it, or not at all, before a restart and after it.
import { afterEach, describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../src/config/settings/settings.ts';
import { referenceKinds } from '../../../src/config/settings/table/patch-rules.ts';
import { generatedName, hostName } from '../../../src/object/meta/names.ts';
import { edit } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';
import { hostSecret, ReferenceWorld, secret } from './fake-references.ts';

let world: ReferenceWorld;
afterEach(() => world.stop());

const to = (kind: string, more: object = {}): PatchEntry =>
  entry({ path: 'metadata.annotations["k"]', reference: { apiVersion: 'v1', kind, ...more } });
const generated = (name: string, namespace = 'default') => generatedName({ name, namespace }, 'vc');
const long = (name: string, namespace = 'default') => hostName({ name, namespace }, 'vc');
const far = 'far-away-and-with-a-name-that-no-long-name-has-room-for';

type Write = Record<string, string>;
const write = (annotations: Write) =>
  edit(world.host, world.copy('web'), (draft) => {
    draft.metadata.annotations = { ...draft.metadata.annotations, ...annotations };
  });
const keysOf = (annotations: Write | undefined) =>
  Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !/vcluster.loft.sh|hostward.dev/.test(key)));
const tenants = () => keysOf(world.virtual.get('endpoints', 'default', 'web')?.metadata.annotations);
const hosts = () => keysOf(world.copy('web')?.metadata.annotations);
/** Not the events about names that nothing stands behind. */
const failures = () => world.eventReasons().filter((reason) => reason === 'BackflowFailed');

const times: [string, (annotations: Write) => Promise<unknown>][] = [
  ['while the daemon runs', async (annotations) => world.change(() => write(annotations))],
  [
    'while the daemon is down',
    async (annotations) => {
      await world.stop();
      write(annotations);
      await world.run();
    },
  ],
];

/** The tenant's objects, none of which another object refers to but those of `others`. */
async function start(references: readonly PatchEntry[], naming: 'generated' | 'vcluster', others: Write[] = []) {
  world = new ReferenceWorld({ references, naming });
  world.refer({ k: 'first' });
  for (const name of ['first', 'db', far]) {
    world.virtual.put('secrets', secret(name));
    world.virtual.put('configmaps', { metadata: { name, namespace: 'default' } });
    world.virtual.put('services', { metadata: { name, namespace: 'default' }, spec: {} });
    world.refer({}, name);
  }
  for (const [at, annotations] of others.entries()) world.refer(annotations, `other-${at}`);
  await world.run();
}

describe.each(times)('written on the host %s', (_, act) => {
  describe.each(['generated', 'vcluster'] as const)('with naming: %s', (naming) => {
    const standing = ['Secret', 'ConfigMap', 'Service', 'Endpoints'].flatMap((kind): [string, string, string][] => [
      [kind, 'db', generated('db')],
      [kind, 'db', long('db')],
      [kind, far, generated(far)],
      [kind, far, long(far)],
    ]);
    it.each([
      ...standing,
      ['Pod', 'db', long('db')],
      ['ServiceAccount', 'db', long('db')],
      ['PersistentVolumeClaim', 'db', long('db')],
    ])('the host name of a %s that nobody refers to comes back as %s', async (kind, name, written) => {
      await start([to(kind)], naming);
      await act({ k: written });
      const wanted = naming === 'vcluster' ? long(name) : generated(name);
      expect([tenants(), hosts(), failures()]).toEqual([{ k: name }, { k: wanted }, []]);
    });

    it.each(['db', far])('the host name of a Pod comes back as %s when another object refers to it', async (name) => {
      for (const written of [generated(name), long(name)]) {
        await start([to('Pod')], naming, [{ k: name }]);
        await act({ k: written });
        expect([tenants(), failures()]).toEqual([{ k: name }, []]);
        await world.stop();
      }
    });

    it.each([
      ['a generated name of nobody', generated('never')],
      ['that of an object in another namespace', generated('db', 'other')],
      ['a long name of another namespace', long('db', 'other')],
      ['a long name of another virtual cluster', 'db-x-default-x-other'],
      ['a hashed name of nobody', long(`${far}-more`)],
      ['a name that was made from a generated one', generated(generated('db'))],
      ['a name with a space behind it', `${generated('db')} `],
      ['a name with a line break behind it', `${generated('db')}\n`],
      ['two names', `${generated('db')},${generated('first')}`],
      ['a name with the namespace before it', `vcluster-vc/${generated('db')}`],
      ['a name in capitals', generated('db').toUpperCase()],
      ['a name with something behind it', `${generated('db')}-x`],
      ['a name with a domain behind it', `${generated('db')}.example`],
    ])('%s stays on the host and is reported', async (_name, written) => {
      await start([to('Secret')], naming);
      await act({ k: written, plain: 'x' });
      expect([tenants(), hosts(), failures()]).toEqual([
        { k: 'first', plain: 'x' },
        { k: written, plain: 'x' },
        ['BackflowFailed'],
      ]);
      const said = world.virtual.list('events').map((event) => String(event['message']));
      expect(said.join()).not.toContain(written);
    });
  });

  it('a generated name of a Pod that nothing refers to stays on the host', async () => {
    await start([to('Pod')], 'generated');
    await act({ k: generated('db') });
    expect([tenants(), hosts(), failures()]).toEqual([{ k: 'first' }, { k: generated('db') }, ['BackflowFailed']]);
  });

  it('the name of a Pod that only an expression makes comes back once every object has had its pass', async () => {
    const makes = entry({ path: 'metadata.annotations["m"]', expression: '"my-" + value' });
    const names = entry({ path: 'metadata.annotations["m"]', reference: { apiVersion: 'v1', kind: 'Pod' } });
    // More than are worked on at a time, and the maker after them.
    const others = [...Array.from({ length: 100 }, () => ({})), { m: 'pod' }];
    await start([to('Pod'), makes, names], 'generated', others);
    await act({ k: generated('my-pod') });
    await world.clock.advance(11_000);
    await world.quiet();
    expect([tenants(), hosts()]).toEqual([{ k: 'my-pod' }, { k: generated('my-pod') }]);
  });

  describe.each(['generated', 'vcluster'] as const)('with naming: %s, a plain name stays on the host', (naming) => {
    it.each(
      referenceKinds.flatMap((kind): [string, string, string][] => [
        [kind, 'of an object of the host', 'hosts-own'],
        [kind, 'of no object', 'nobody'],
        [kind, 'that the tenant uses for an object of its own', 'db'],
      ]),
    )('where it should be that of a %s: one %s', async (kind, _whose, written) => {
      await start([to(kind)], naming);
      for (const resource of ['secrets', 'configmaps', 'services'])
        world.host.put(resource, { metadata: { name: 'hosts-own', namespace: 'vcluster-vc' } });
      await world.quiet();
      const before = hosts();
      await act({ k: written });
      expect([tenants(), hosts(), failures()]).toEqual([{ k: 'first' }, { k: written }, ['BackflowFailed']]);
      await world.restart();
      expect([tenants(), hosts()]).toEqual([{ k: 'first' }, { k: written }]);
      await world.change(() => write(before));
      expect([tenants(), hosts(), world.sync.ledger.backflowFailures.size]).toEqual([{ k: 'first' }, before, 0]);
    });
  });

  it('the label that makes an object importable stands in the message about a plain name', async () => {
    await start([to('Secret')], 'generated');
    await act({ k: 'hosts-own' });
    const said = world.virtual.list('events').map((event) => String(event['message']));
    expect(said.join()).toContain('a Secret of the host needs the label hostward.dev/importable: "true"');
  });

  it.each(['Secret', 'ConfigMap'])('the name of a %s comes back as soon as it may be imported', async (kind) => {
    await start([to(kind)], 'generated');
    await act({ k: 'late' });
    expect([tenants(), hosts()]).toEqual([{ k: 'first' }, { k: 'late' }]);
    await world.change(() => world.host.put(kind === 'Secret' ? 'secrets' : 'configmaps', hostSecret('late')));
    expect([tenants(), hosts()]).toEqual([{ k: 'late' }, { k: 'late' }]);
    expect(world.sync.ledger.backflowFailures.size).toBe(0);
  });

  it('the name of a Secret comes back that may be imported in the middle of the pass', async () => {
    await start([to('Secret')], 'generated');
    for (let turns = 0; turns < 40; turns++) {
      const name = `late-${turns}`;
      const acting = act({ k: name });
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      world.host.put('secrets', hostSecret(name));
      await acting;
      await world.quiet();
      expect([tenants(), hosts()]).toEqual([{ k: name }, { k: name }]);
      // Back-flow is slowed down where both sides keep changing one key.
      await world.clock.advance(61_000);
    }
  });

  it('the name of an import comes back as soon as the tenant has no object of this name any more', async () => {
    await start([to('Secret')], 'generated');
    world.host.put('secrets', hostSecret('db'));
    await act({ k: 'db' });
    expect([tenants(), hosts()]).toEqual([{ k: 'first' }, { k: 'db' }]);
    await world.change(() => world.virtual.remove('secrets', 'default', 'db'));
    expect([tenants(), hosts()]).toEqual([{ k: 'db' }, { k: 'db' }]);
  });

  it('the name of an import is the same on both sides, whatever its form', async () => {
    world = new ReferenceWorld({});
    world.refer({ k: 'first' });
    for (const name of [generated('x'), 'a-x-b-x-vc']) world.host.put('secrets', hostSecret(name));
    await world.run();
    for (const name of [generated('x'), 'a-x-b-x-vc']) {
      await act({ k: name });
      expect([tenants(), hosts(), failures()]).toEqual([{ k: name }, { k: name }, []]);
    }
  });

  it('the API server of the virtual cluster comes back from the Service that is named like it', async () => {
    await start([to('Service')], 'vcluster');
    world.virtual.put('services', { metadata: { name: 'kubernetes', namespace: 'default' }, spec: {} });
    await act({ k: 'vc' });
    expect([tenants(), hosts()]).toEqual([{ k: 'kubernetes' }, { k: 'vc' }]);
  });

  it('one lost name holds back neither other names nor other keys', async () => {
    const each = entry({ path: 'metadata.annotations.*', reference: { apiVersion: 'v1', kind: 'Secret' } });
    await start([each], 'generated');
    await act({ a: generated('db'), b: generated('never'), c: long(far) });
    expect([tenants(), failures()]).toEqual([{ k: 'first', a: 'db', c: far }, ['BackflowFailed']]);
    expect(hosts()).toEqual({ k: generated('first'), a: generated('db'), b: generated('never'), c: generated(far) });
  });
});

describe.each(times)('a name with its namespace beside it, written on the host %s', (_, act) => {
  const both = entry({
    path: 'metadata.annotations',
    reference: { apiVersion: 'v1', kind: 'Secret', namePath: 'k', namespacePath: 'space' },
  });

  it('comes back from any namespace of the tenant', async () => {
    await start([both], 'generated');
    world.virtual.put('secrets', secret('queue', 'djE=', { namespace: 'data' }));
    await world.quiet();
    await act({ k: generated('queue', 'data'), space: 'vcluster-vc' });
    expect([tenants(), failures()]).toEqual([{ k: 'queue', space: 'data' }, []]);
  });

  it('comes back if its long name can be split in several ways and one of the objects exists', async () => {
    await start([both], 'generated');
    world.virtual.put('secrets', secret('a-x-b', 'djE=', { namespace: 'c' }));
    await world.quiet();
    await act({ k: 'a-x-b-x-c-x-vc', space: 'vcluster-vc' });
    expect(tenants()).toEqual({ k: 'a-x-b', space: 'c' });
  });

  it.each([
    ['the long name can be split in several ways', { k: 'a-x-b-x-c-x-vc', space: 'vcluster-vc' }],
    ['the name is that of nobody', { k: generated('never', 'data'), space: 'vcluster-vc' }],
    ['the namespace does not belong to the virtual cluster', { k: 'plain', space: 'kube-system' }],
    ['a generated name is in another host namespace', { k: generated('db'), space: 'kube-system' }],
  ])('stays on the host, name and namespace, where %s', async (_why, written) => {
    await start([both], 'generated');
    await act(written);
    expect([tenants(), hosts(), failures()]).toEqual([{ k: 'first' }, written, ['BackflowFailed']]);
  });
});

it('a name that came back is not carried on after its object has gone, with or without a restart', async () => {
  for (const isRestarted of [false, true]) {
    await start([to('Pod')], 'generated', [{ k: 'db' }]);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'other-0'));
    if (isRestarted) await world.restart();
    await world.change(() => write({ k: generated('db') }));
    expect([tenants(), failures()]).toEqual([{ k: 'first' }, ['BackflowFailed']]);
    await world.stop();
  }
});
