// The owner of the copies is replaced while the daemon cannot watch host Services: the embedded API servers refuse that watch
// on demand.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceUnavailable } from '../../../src/object/meta/status.ts';
import { stageForEach } from '../../contract/stage-for-each.ts';
import { hostNamespace, until, virtualCluster } from '../../contract/sync-stage/backend.ts';
import type { SyncStage } from '../../contract/sync-stage/stage.ts';
import { type EmbeddedBackend, startEmbeddedBackend } from './embedded-backend.ts';

const names = Array.from({ length: 12 }, (_, number) => `web-${number}`);

describe('an owner that is replaced while its watch is broken', () => {
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
    { hasOwner: false },
  );

  it('creates no copy with the uid of the old owner', async () => {
    await stage.createOwner();
    for (const name of names) await stage.pair({ name });
    const daemon = await stage.daemon();
    let refused = 0;
    backend.host.fault = ({ resource, verb }, isDaemon) => {
      if (!isDaemon || resource !== 'services' || (verb !== 'list' && verb !== 'watch')) return { kind: 'pass' };
      refused++;
      return { kind: 'answer', status: serviceUnavailable('no Services are shown') };
    };
    try {
      backend.host.cluster.server.endWatches();
      await daemon.clock.jump(3000);
      await until('a watch that is refused', async () => refused > 0 || undefined);
      await stage.forgetWrites();
      await stage.remove('host', 'services', { namespace: hostNamespace, name: virtualCluster });
      const { metadata } = await stage.createOwner();
      await until('the new uid on all', async () => {
        await daemon.clock.jump(1000);
        const copies = await Promise.all(names.map((name) => stage.copy(name)));
        return copies.every((one) => one?.metadata.ownerReferences?.[0]?.uid === metadata.uid) || undefined;
      });
    } finally {
      backend.host.fault = undefined;
    }
    const made = (await stage.writes()).filter((one) => /^host create \S+$/.test(one));
    expect(made.length, 'copies made').toBe(new Set(made).size);
  });
});
