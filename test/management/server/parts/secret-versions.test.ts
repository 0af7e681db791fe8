// A replica whose folder of secrets loses a version that is in use.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../../../src/log.ts';
import { TokenKeys } from '../../../../src/management/credentials/tokens/token-keys.ts';
import { openSecrets, proofKey } from '../../../../src/management/keys/folder/data-folder.ts';
import type { Shared } from '../../../../src/management/server/host/shared-store.ts';
import { SecretVersions } from '../../../../src/management/server/secret-versions.ts';
import { Followers } from '../../../../src/store/follow/follower.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';
import { settle, VirtualClock } from '../../../virtual-clock.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** A store that answers a question for the pepper in use only when it may. */
class SlowStore extends MemoryStore {
  /** Set while questions wait; called with each. */
  waits: ((goOn: () => void) => void) | undefined;

  override async get(key: string, options: { fresh?: boolean } = {}) {
    const { waits } = this;
    if (waits !== undefined && key === proofKey) await new Promise<void>((goOn) => waits(goOn));
    return super.get(key, options);
  }
}

const alone: Shared = {
  replica: 'a',
  epoch: () => 'first',
  sweeps: () => false,
  others: () => [],
  journals: () => ({}),
  tells: () => undefined,
  saidBefore: () => ({}),
  status: () => {
    throw new Error('nobody asks for it here');
  },
};

it('has trouble from the moment on in which it gives a pepper up that is in use, and not only when the store has answered', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-versions-'));
  endings.push(() => rmSync(folder, { recursive: true }));
  const clock = new VirtualClock();
  const store = new SlowStore({ clock });
  await store.start();
  endings.push(() => store.stop());
  await openSecrets(folder, (count) => randomBytes(count), false);
  const path = join(folder, 'secrets.json');
  const older = readFileSync(path, 'utf8');
  const { peppers, ...rest } = JSON.parse(older) as { peppers: object[] };
  const newer = { version: 2, bytes: Buffer.alloc(32, 7).toString('base64') };
  writeFileSync(path, JSON.stringify({ ...rest, peppers: [newer, ...peppers] }));
  const secrets = await openSecrets(folder, (count) => randomBytes(count), true);

  const followers = new Followers({ store, clock, log: silentLog });
  const versions = new SecretVersions({ store, followers, shared: alone, secrets, folder, clock, log: silentLog });
  await versions.start();
  const lookedOnce = new Promise<void>((resolve) => {
    store.waits = (goOn) => {
      goOn();
      resolve();
    };
  });
  await versions.openTokenKeys(() => TokenKeys.open(folder, clock.wallTime().getTime()));
  endings.push(() => versions.stop());
  await lookedOnce;
  await settle();
  expect([versions.status.pepper, versions.trouble]).toEqual([2, undefined]);

  writeFileSync(path, older);
  const asked = new Promise<() => void>((resolve) => {
    store.waits = resolve;
  });
  await clock.advance(4_000);
  const goOn = await asked;
  const found = [secrets.peppers.versions.map(({ version }) => version), versions.trouble];
  store.waits = undefined;
  goOn();
  expect(found).toEqual([
    [1],
    expect.stringContaining('pepper 2, with which other replicas make keys, has not arrived'),
  ]);
});
