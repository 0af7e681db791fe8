// hostward.exclude names keys that were in sync before: a value that sync wrote leaves the host copy, a value of the host stays.
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules, type RuleSettings } from '../../../src/sync/loop/pass/rules.ts';
import { syncStatus } from '../../../src/sync/report/status.ts';
import { defaultSettings, edit, endpoints, FakeWorld, ipOf, putPair } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';

const exclude = { labels: ['x-*', 'release'], annotations: ['x-*'] };
const keys = ['x-tenant', 'x-edited', 'x-host', 'kept'];

/** Both maps hold a key of the tenant, one of the tenant that the host edits, and one that the host sets. */
const tenants = { 'x-tenant': 'v', 'x-edited': 'v', kept: 'v' };

let world: FakeWorld;
afterEach(() => world.stop());

function own(object: KubeObject | undefined, map: 'labels' | 'annotations'): Record<string, string> {
  return Object.fromEntries(Object.entries(object?.metadata[map] ?? {}).filter(([key]) => keys.includes(key)));
}

function shown(object: KubeObject | undefined) {
  return { labels: own(object, 'labels'), annotations: own(object, 'annotations') };
}

const virtual = () => world.virtual.get('endpoints', 'default', 'web');

function editHost(changes: Record<string, string>): Promise<void> {
  return world.change(() =>
    edit(world.host, world.copy('web'), ({ metadata }) => {
      metadata.labels = { ...metadata.labels, ...changes };
      metadata.annotations = { ...metadata.annotations, ...changes };
    }),
  );
}

async function started(options: ConstructorParameters<typeof FakeWorld>[0] = {}): Promise<void> {
  world = new FakeWorld(options);
  putPair(world, 'web', '10.0.0.1', { labels: { ...tenants, release: 'r' }, annotations: tenants });
  await world.run();
  await editHost({ 'x-host': 'h' });
  expect(own(virtual(), 'labels')).toEqual({ ...tenants, 'x-host': 'h' });
  world.host.writes.length = 0;
  world.virtual.writes.length = 0;
}

function reload(settings: Partial<RuleSettings>): Promise<void> {
  return world.change(() => {
    world.options = { ...world.options, settings };
    const all = { ...defaultSettings, ...settings };
    world.sync.setRules(createRules(endpointsKind, all, { mapping: undefined, patcher: world.patches?.patcher }));
  });
}

const ofBoth = (map: Record<string, string>) => ({ labels: map, annotations: map });

describe('keys that hostward.exclude names from now on', () => {
  it('leave the host copy in one write when sync wrote them, and stay when the host set or edited them', async () => {
    await started();
    const before = shown(virtual());
    await editHost({ 'x-edited': 'edit' });
    world.virtual.writes.length = 0;
    world.host.writes.length = 0;
    // The edit flows back at once, so both sides have the value of the host.
    await reload({ exclude });
    expect(shown(world.copy('web'))).toEqual(ofBoth({ 'x-edited': 'edit', 'x-host': 'h', kept: 'v' }));
    expect(Object.keys(world.copy('web')?.metadata.labels ?? {}).filter((key) => key.includes('label-'))).toEqual([]);
    expect(shown(virtual())).toEqual({
      labels: { ...before.labels, 'x-edited': 'edit' },
      annotations: { ...before.annotations, 'x-edited': 'edit' },
    });
    expect(world.host.writes).toEqual(['patch endpoints web-x-default-x-vc']);
    expect(world.virtual.writes).toEqual([]);
    await world.restart();
    expect(world.host.writes).toHaveLength(1);
  });

  it('leave the host copy when the configuration changed while the daemon was down, but not with an edit made in the meantime', async () => {
    await started();
    await world.stop();
    edit(world.host, world.copy('web'), ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'x-edited': 'edit' };
      metadata.annotations = { ...metadata.annotations, 'x-edited': 'edit' };
    });
    world.options = { settings: { exclude } };
    await world.run();
    expect(shown(world.copy('web'))).toEqual(ofBoth({ 'x-edited': 'edit', 'x-host': 'h', kept: 'v' }));
    expect(own(virtual(), 'labels')).toEqual({ ...tenants, 'x-host': 'h' });
  });

  it('come back to the host when they are no longer excluded', async () => {
    await started();
    await reload({ exclude });
    await reload({});
    expect(shown(world.copy('web'))).toEqual(ofBoth({ ...tenants, 'x-host': 'h' }));
    expect(shown(virtual())).toEqual(ofBoth({ ...tenants, 'x-host': 'h' }));
  });

  it("are the tenant's again once the tenant has changed a value that came from the host", async () => {
    await started();
    await world.change(() =>
      world.virtual.put('endpoints', {
        ...(virtual() as KubeObject),
        metadata: { ...(virtual() as KubeObject).metadata, labels: { 'x-host': 'tenant' } },
      }),
    );
    expect(own(world.copy('web'), 'labels')).toEqual({ 'x-host': 'tenant' });
    await reload({ exclude });
    expect(own(world.copy('web'), 'labels')).toEqual({});
  });

  it('leave the host copy when the tenant makes the object again', async () => {
    await started();
    await world.stop();
    world.virtual.remove('endpoints', 'default', 'web');
    world.virtual.put('endpoints', endpoints('web', '10.0.0.2', { labels: tenants, annotations: tenants }));
    world.options = { settings: { exclude } };
    await world.run();
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    expect(shown(world.copy('web'))).toEqual(ofBoth({ 'x-host': 'h', kept: 'v' }));
  });

  it("leave the host copy of vCluster when it lists them as copied and their value is the tenant's", async () => {
    await started();
    await world.stop();
    edit(world.host, world.copy('web'), ({ metadata }) => {
      const { 'hostward.dev/base': _base, ...annotations } = metadata.annotations ?? {};
      metadata.annotations = { ...annotations, 'x-edited': 'edit' };
    });
    world.options = { settings: { exclude } };
    await world.run();
    expect(own(world.copy('web'), 'annotations')).toEqual({ 'x-edited': 'edit', 'x-host': 'h', kept: 'v' });
  });

  it('leave the host copy with the value that a patch gave them', async () => {
    const patches = [entry({ path: 'metadata.annotations["x-tenant"]', expression: '"p-" + value' })];
    await started({ patches });
    expect(own(world.copy('web'), 'annotations')).toMatchObject({ 'x-tenant': 'p-v' });
    await reload({ exclude });
    expect(own(world.copy('web'), 'annotations')).toEqual({ 'x-host': 'h', kept: 'v' });
  });

  it('are listed by a dry run', async () => {
    await started();
    await world.stop();
    world.options = { settings: { exclude }, isDryRun: true };
    await world.run();
    const touches = (syncStatus(world.sync).differences ?? []).flatMap((difference) => difference.touches);
    expect(touches.join()).toMatch(/label x-tenant.*annotation x-tenant/);
    expect(world.host.writes).toEqual([]);
  });
});
