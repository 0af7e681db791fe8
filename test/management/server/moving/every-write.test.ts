// `hostward store recover` whose cluster goes away at each of its writes: no server starts on what it leaves, and the command that is
// repeated ends as one that nothing has disturbed.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiPrefix, ManagementClient } from '../../../../src/cli/keys/client/management-client.ts';
import { systemClock } from '../../../../src/clock.ts';
import type { ManagementServerSettings } from '../../../../src/config/settings/management-settings.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../../src/log.ts';
import { localSocketPath } from '../../../../src/management/server/commands/local-socket.ts';
import { inParallel } from '../../../../src/management/server/moving/make-equal.ts';
import { type Recovered, recover } from '../../../../src/management/server/moving/recover.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { wayOutOfSetBack } from '../../../../src/store/kubernetes/meta-record.ts';
import { readRecord, type StoreMeta } from '../../../../src/store/kubernetes/records/record-format.ts';
import { ApiClient } from '../../../contract/client.ts';
import { newNamespace } from '../../../contract/store/on-host.ts';
import { people } from '../bench.ts';
import { type Ending, EndingHost } from './ending-host.ts';

const folder = mkdtempSync(join(tmpdir(), 'hostward-every-write-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A host, two replicas on it, and what lies on their disks. */
interface Place {
  folder: string;
  namespace: string;
}

const hostIn = (place: Place) =>
  startDevcluster({
    name: 'host',
    authorityFolder: join(folder, 'authority'),
    store: { kind: 'sqlite', path: join(place.folder, 'host.db') },
  });

function settingsOf({ folder: home, namespace }: Place, name: string, kubeconfig: string): ManagementServerSettings {
  return {
    ...{ listen: '127.0.0.1:0', baseURL: 'https://localhost', ingressListen: undefined },
    ...{ dataDir: join(home, name), secretsDir: join(home, 'secrets') },
    store: { kubernetes: { kubeconfig, namespace }, maxRecords: 1_000, maxBytes: 1_000_000 },
  };
}

async function opened(server: ManagementServerSettings): Promise<ManagementApi> {
  const api = new ManagementApi({ settings: people, server, clock: systemClock, log: silentLog, version: '0.1.0' });
  await api.open();
  return api;
}

async function change({ dataDir }: ManagementServerSettings, key: string, spec: object | undefined): Promise<void> {
  const door = new ManagementClient({ kind: 'socket', path: localSocketPath(dataDir), osUser: 'root' });
  const path = `${apiPrefix}/apis/management.platform/v1/ownedaccesskeys/${key}`;
  const patch = { method: 'PATCH', body: { spec }, contentType: 'application/merge-patch+json' } as const;
  await door.send({ path, ...(spec === undefined ? { method: 'DELETE' } : patch) });
}

/** Two replicas revoke what a copy of their host does not know. `forgets`: their journals of before the copy are lost. */
async function setBack({ forgets }: { forgets: boolean }): Promise<Place> {
  const home = join(folder, forgets ? 'late' : 'whole');
  mkdirSync(home);
  const place: Place = { folder: home, namespace: '' };
  const kubeconfig = join(home, 'kubeconfig');
  const servers = () => ['one', 'two'].map((name) => settingsOf(place, name, kubeconfig));
  const whileRunning = async (act: (apis: ManagementApi[]) => Promise<void>) => {
    const host = await hostIn(place);
    writeFileSync(kubeconfig, host.kubeconfig, { mode: 0o600 });
    if (place.namespace === '') place.namespace = await newNamespace(host);
    const apis: ManagementApi[] = [];
    for (const server of servers()) {
      const api = await opened(server);
      await api.serve();
      apis.push(api);
    }
    await act(apis);
    for (const api of apis) await api.close();
    await host.stop();
  };
  await whileRunning(async ([api]) => {
    for (const name of ['gone', 'off', 'narrow', 'stays', 'stays-too'])
      await api?.createKey({ metadata: { name }, spec: { user: 'alice' } });
  });
  const copy = readdirSync(home).filter((name) => name.startsWith('host.db'));
  for (const name of copy) cpSync(join(home, name), join(home, `copy-${name}`));
  if (forgets) for (const { dataDir } of servers()) rmSync(join(dataDir, 'revocations.log'));
  await whileRunning(async () => {
    const [one, two] = servers() as [ManagementServerSettings, ManagementServerSettings];
    await change(one, 'gone', undefined);
    await change(two, 'off', { disabled: true });
    // As many lines as were lost.
    for (let ttl = 9_000; ttl > 8_980; ttl--) await change(ttl % 2 === 0 ? one : two, 'narrow', { ttl });
  });
  for (const name of readdirSync(home).filter((one) => one.startsWith('host.db'))) rmSync(join(home, name));
  for (const name of copy) renameSync(join(home, `copy-${name}`), join(home, name));
  return place;
}

async function recordsIn(host: Devcluster, { namespace }: Place) {
  const found = new Map<string, unknown>();
  let meta: StoreMeta | undefined;
  const client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
  const { json } = await client.request('GET', `/api/v1/namespaces/${namespace}/secrets`);
  for (const { metadata, data } of (json as { items: { metadata: { name: string }; data: object }[] }).items) {
    const texts = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]);
    const read = readRecord({ name: metadata.name, version: 1, data: Object.fromEntries(texts) }, 0);
    if (read.kind === 'record') found.set(read.record.key, JSON.parse(read.record.value));
    if (read.kind === 'meta') meta = read.meta;
  }
  await client.close();
  return { found, meta };
}

/** As after a restart of the host: on a copy of everything. */
let copies = 0;
function copyOf(place: Place): Place {
  const copy = { ...place, folder: join(folder, `copy-${++copies}`) };
  cpSync(place.folder, copy.folder, { recursive: true });
  return copy;
}

interface Attempt {
  place: Place;
  others: readonly string[];
}

function recovered(server: ManagementServerSettings, { place, others }: Attempt): Promise<Recovered> {
  const journals = others.map((name) => join(place.folder, name));
  const options = { trustsKeys: false, isForced: true, clock: systemClock, log: silentLog, environment: {} };
  return recover({ server, others: journals, ...options });
}

/** `isEnded`: all that was wanted was written, and only the answer to the last write is missing. */
async function brokenOff(from: Attempt, ending: Ending) {
  const place = copyOf(from.place);
  const attempt = { ...from, place };
  const host = await hostIn(place);
  const direct = join(place.folder, 'kubeconfig');
  writeFileSync(direct, host.kubeconfig, { mode: 0o600 });
  const { meta: before } = await recordsIn(host, place);
  const away = new EndingHost(host, ending);
  await away.open(join(place.folder, 'away'));
  const failure = await recovered(settingsOf(place, 'one', join(place.folder, 'away')), attempt).then(
    () => undefined,
    (error: Error) => error.message,
  );
  away.close();
  const half = await recordsIn(host, place);
  const started = () =>
    opened(settingsOf(place, 'two', direct)).then(
      (api) => api.close().then(() => 'started'),
      (error: Error) => error.message,
    );
  const firstStart = await started();
  const hasBegun = half.meta?.epoch !== before?.epoch;
  const isEnded = hasBegun && half.meta?.recoversFrom === undefined;
  if (!isEnded) await recovered(settingsOf(place, 'one', direct), attempt);
  const { found } = isEnded ? half : await recordsIn(host, place);
  const lastStart = isEnded ? firstStart : await started();
  await host.stop();
  rmSync(place.folder, { recursive: true });
  return {
    write: away.isGone ? away.writes.at(-1) : undefined,
    writes: away.writes.length,
    failure,
    hasBegun,
    isEnded,
    firstStart,
    found,
    lastStart,
  };
}

const specOf = (found: ReadonlyMap<string, unknown>, key: string) =>
  (found.get(`/registry/ownedaccesskeys/${key}`) as { spec: object } | undefined)?.spec;

describe('a recovery that its cluster breaks off at any of its writes', () => {
  const cases = [
    { name: 'with all journals', forgets: false, others: ['two'], knowsAll: true },
    { name: 'without the journal of the other replica', forgets: false, others: [], knowsAll: false },
    { name: 'with journals that begin after the copy', forgets: true, others: ['two'], knowsAll: false },
  ];
  const places = new Map<boolean, Place>();
  beforeAll(async () => {
    for (const forgets of [false, true]) places.set(forgets, await setBack({ forgets }));
  }, 30_000);

  it.each(cases)(
    'leaves nothing that is served, and ends the same when it is repeated, $name (at length)',
    async (of) => {
      const attempt = { place: places.get(of.forgets) as Place, others: of.others };
      const whole = await brokenOff(attempt, {});
      expect(whole).toMatchObject({ write: undefined, failure: undefined, isEnded: true, lastStart: 'started' });
      const specs = ['gone', 'off', 'narrow', 'stays'].map((key) => specOf(whole.found, key));
      const disabled = expect.objectContaining({ disabled: true });
      const narrow = expect.objectContaining({ ttl: 8_981 });
      expect(specs.slice(1, 3)).toEqual([disabled, of.forgets || of.knowsAll ? narrow : disabled]);
      expect([specs[0], specs[3]]).toEqual([undefined, of.knowsAll ? { type: 'User', user: 'alice' } : disabled]);
      const points = Array.from({ length: whole.writes }, (_, at) =>
        [false, true].map((isWritten) => ({ at: at + 1, isWritten })),
      );
      const ends = { unbegun: 0, halfDone: 0, ended: 0 };
      await inParallel(points.flat(), async (ending) => {
        const one = await brokenOff(attempt, ending);
        const why = `write ${ending.at}, ${one.write}, ${ending.isWritten ? 'made' : 'not made'}: ${one.failure}`;
        if (one.write === undefined) return;
        const end = one.isEnded ? 'ended' : one.hasBegun ? 'halfDone' : 'unbegun';
        ends[end]++;
        if (end === 'halfDone') expect(one.firstStart, why).toContain('a recovery of it has begun and not ended; ');
        if (end !== 'ended') expect(one.firstStart, why).toContain(wayOutOfSetBack);
        expect(one.failure, why).toBeTypeOf('string');
        expect(one.found, why).toEqual(whole.found);
        expect(one.lastStart, why).toBe('started');
      });
      // The first heartbeat, the mark, each record, and the end of the mark.
      expect([ends.unbegun > 1, ends.halfDone > 10, ends.ended > 0]).toEqual([true, true, true]);
    },
    120_000,
  );
});
