// The operator changes hostward.endpoints.enabled while the daemon runs: off stops all writes, on catches up.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stageForEach } from '../../contract/stage-for-each.ts';
import { until } from '../../contract/sync-stage/backend.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../../contract/sync-stage/stage.ts';
import { type EmbeddedBackend, startEmbeddedBackend } from '../live/embedded-backend.ts';

describe('hostward.endpoints.enabled, changed while running', () => {
  let backend: EmbeddedBackend;
  let stage: SyncStage;
  beforeAll(async () => {
    backend = await startEmbeddedBackend();
  });
  afterAll(() => backend.stop());
  stageForEach(
    () => backend,
    (made) => {
      stage = made;
    },
  );

  const off = { hostward: { endpoints: { enabled: false } } };
  const on = { hostward: { endpoints: { enabled: true } } };

  it('writes to neither side while off, and catches up with every missed change when on again', async () => {
    const daemon = await stage.daemon({ config: on });
    await stage.pair({ name: 'db' });
    await stage.pair({ name: 'gone' });
    await daemon.settled();
    await stage.forgetWrites();

    daemon.apply(off);
    await stage.editTenants('db', { subsets: subsetsOf('10.0.0.2') });
    await stage.editCopy('db', { metadata: { labels: { host: 'edit' } } });
    await stage.removeTenants('gone');
    await stage.pair({ name: 'new' });
    await daemon.settled();
    expect(await stage.writes()).toEqual([]);

    daemon.apply(on);
    await until('the missed changes', async () => {
      const isCurrent = ipsOf(await stage.copy('db')).includes('10.0.0.2');
      return isCurrent && (await stage.copy('gone')) === undefined && (await stage.copy('new')) ? true : undefined;
    });
    expect((await stage.tenants('db'))?.metadata.labels).toMatchObject({ host: 'edit' });
  });

  it('tells nothing of a kind that is switched off: its changes do not wait', async () => {
    const endpointSlices = { enabled: true };
    const daemon = await stage.daemon({ config: { hostward: { endpoints: { enabled: true }, endpointSlices } } });
    await stage.pair({ name: 'db' });
    await daemon.settled();
    daemon.apply({ hostward: { endpoints: { enabled: false }, endpointSlices } });
    await stage.editTenants('db', { subsets: subsetsOf('10.0.0.2') });
    await daemon.settled();
    const { objects, ...status } = daemon.status as Partial<typeof daemon.status>;
    expect(status).toMatchObject({ verdict: { state: 'inStep', sentence: 'in step: 0 objects' } });
    expect(objects).toBeUndefined();
  });

  it('starts to sync when it is switched on after a start in the off state', async () => {
    await stage.pair({ name: 'db' });
    const daemon = stage.assemble({ config: off });
    expect(await daemon.start()).toEqual({ kind: 'started' });
    expect(await stage.copy('db')).toBeUndefined();
    daemon.apply(on);
    await until('the copy', () => stage.copy('db'));
  });
});
