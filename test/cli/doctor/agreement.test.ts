// What `hostward doctor` says of the files of two replicas, on the records that they have written.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isAgreed } from '../../../src/cli/doctor/checks/records/agreement.ts';
import type { Patient } from '../../../src/cli/doctor/patient/patient.ts';
import { surveyOf } from '../../../src/cli/doctor/patient/stored-records.ts';
import { systemClock } from '../../../src/clock.ts';
import type { ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../src/log.ts';
import { RulingConfiguration } from '../../../src/management/keys/callers/ruling-configuration.ts';
import { Followers } from '../../../src/store/follow/follower.ts';
import { Seals } from '../../../src/store/kubernetes/trust/seals.ts';
import { connectionTo, newNamespace, sealKey, storeOn } from '../../contract/store/on-host.ts';
import { people } from '../../management/server/bench.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

const withCarl: ManagementSettings = { ...people, users: [{ name: 'carl', groups: [], disabled: false }] };
const newer: ManagementSettings = { ...withCarl, generation: 1 };

/** `others`: the names of the files that the replicas before it have; its own is added. */
async function replica(namespace: string, name: string, settings: ManagementSettings, others: string[]) {
  let words = '';
  const store = storeOn(host, namespace, { replica: name, about: () => words });
  await store.start();
  const parts = { store, clock: systemClock, log: silentLog };
  const ruling = new RulingConfiguration({ ...parts, followers: new Followers(parts), others: () => others }, settings);
  await ruling.start();
  others.push(ruling.name);
  words = JSON.stringify({ configuration: ruling.name });
  await store.currentRevision({ fresh: true });
  return {
    async stop() {
      await ruling.stop();
      await store.stop();
    },
  };
}

it.each([
  { says: 'that rules', first: people, second: withCarl, own: people, verdict: 'fault', found: ' count' },
  { says: 'that does not', first: people, second: withCarl, own: withCarl, verdict: 'fault', found: 'do not count' },
  { says: 'that both have', first: people, second: people, own: people, verdict: 'ok', found: 'rule' },
  { says: 'that is newer', first: people, second: newer, own: newer, verdict: 'ok', found: 'rule' },
])('two replicas and the file $says: $verdict', async ({ first, second, own, verdict, found }) => {
  const namespace = await newNamespace(host);
  const names: string[] = [];
  const replicas = [await replica(namespace, 'a', first, names), await replica(namespace, 'b', second, names)];
  const connection = connectionTo(host);
  try {
    const signal = new AbortController().signal;
    const end = await surveyOf(connection, { namespace, signal, seals: new Seals([sealKey]) });
    if (end.kind !== 'read') throw new Error(end.why);
    const patient = { settings: { management: own }, records: end.records };
    const finding = await isAgreed.look(patient as unknown as Patient);
    expect([finding.verdict, finding.says]).toEqual([verdict, expect.stringContaining(found)]);
  } finally {
    for (const one of replicas) await one.stop();
    await connection.close();
  }
});
