// Fills the folder of a management API with keys: one is made by the API, and the others are copies of it with names, owners and
// secrets of their own. A hundred thousand requests would take longer than the benchmark.
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { LoopShares } from '../src/apiserver/limits/loop-time.ts';
import { systemClock } from '../src/clock.ts';
import type { ManagementSettings } from '../src/config/settings/management-settings.ts';
import { silentLog } from '../src/log.ts';
import { readSecrets } from '../src/management/keys/folder/data-folder.ts';
import { makeToken } from '../src/management/keys/secret/token.ts';
import { ManagementApi } from '../src/management/server/server.ts';
import { SqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../src/store/store.ts';

export interface Population {
  keys: number;
  owners: number;
}

export interface Seeded {
  admin: string;
  /** A key of each of the first owners. */
  owners: string[];
  /** A key of the owner who has ten keys. */
  few: string;
}

/** So many owners are asked for, in watches and reads. */
const knownOwners = 50;
const fewKeys = 10;
/** Turns alone: nobody is refused. */
export const wholeLoop: LoopShares = { ofOne: 1, ofOwner: 1, altogether: 1, small: 1 };
const writesAtOnce = 1000;
const prefix = '/registry/ownedaccesskeys/';

export const ownerName = (index: number) => `owner-${index}`;

export function settingsOf({ owners }: Population): ManagementSettings {
  const names = [...Array.from({ length: owners }, (_, index) => ownerName(index)), 'few'];
  return {
    administrators: { users: [], groups: [] },
    users: names.map((name) => ({ name, groups: [], disabled: false })),
    teams: [],
    clusters: [],
    projects: [],
    keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1_000_000 },
    audit: { reads: false, keepFiles: 100 },
  } as unknown as ManagementSettings;
}

/** Of the user whom a cluster behind the server knows by this token. */
export function kubeconfigOf(to: { port: number; caPem: string }, token: string): string {
  const certificateAuthority = Buffer.from(to.caPem).toString('base64');
  const cluster = { server: `https://localhost:${to.port}`, 'certificate-authority-data': certificateAuthority };
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'bench' },
    clusters: [{ name: 'bench', cluster }],
    users: [{ name: 'bench', user: { token } }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
  });
}

export function serverSettings(folder: string) {
  return { listen: '127.0.0.1:0', baseURL: 'https://localhost', dataDir: folder, ingressListen: undefined };
}

export function openApi(folder: string, population: Population): ManagementApi {
  const settings = settingsOf(population);
  const shared = { clock: systemClock, log: silentLog, version: '0.1.0', loopShares: wholeLoop };
  return new ManagementApi({ settings, server: serverSettings(folder), ...shared });
}

export async function seed(folder: string, population: Population): Promise<Seeded> {
  const api = openApi(folder, population);
  await api.open();
  const first = (await api.createKey({ metadata: { name: 'root' }, spec: { user: 'admin' } }))['spec'] as {
    key: string;
  };
  await api.createKey({ metadata: { name: 'template' }, spec: { user: ownerName(0) } });
  await api.close();
  const store = new SqliteStore({ clock: systemClock, path: join(folder, 'keys.db'), synchronous: 'NORMAL' });
  await store.start();
  const seeded = await copies(store, folder, population);
  await store.stop();
  return { admin: first.key, ...seeded };
}

async function copies(store: Store, folder: string, { keys, owners }: Population): Promise<Omit<Seeded, 'admin'>> {
  const secrets = await readSecrets(folder);
  const template = (await store.get(`${prefix}template`)).record?.value;
  if (secrets === undefined || template === undefined) throw new Error('the template of the keys is not there');
  const known: Omit<Seeded, 'admin'> = { owners: [], few: '' };
  const waiting: Promise<unknown>[] = [];
  const add = async (owner: string, name: string): Promise<string> => {
    const { text, id } = makeToken((count) => randomBytes(count));
    const uid = randomUUID();
    const user = (await store.get(`/management/records/user/${owner}`)).record?.value ?? '{}';
    const object = JSON.parse(template);
    Object.assign(object.metadata, { name, uid });
    Object.assign(object.spec, { user: owner, displayName: `Pipeline ${name}` });
    const secret = { ...secrets.peppers.digest(text), isSupplied: false };
    const subject = { kind: 'user', name: owner, uid: JSON.parse(user).uid };
    Object.assign(object.hidden.record, { name, uid, id, secrets: [secret], subject });
    waiting.push(store.write(prefix + name, { expect: 0, value: JSON.stringify(object) }));
    if (waiting.length === writesAtOnce) await Promise.all(waiting.splice(0));
    return text;
  };
  for (let n = 0; n < keys; n++) {
    const owner = n % owners;
    const text = await add(ownerName(owner), `key-${n}`);
    if (n < Math.min(owners, knownOwners)) known.owners.push(text);
  }
  for (let n = 0; n < fewKeys; n++) known.few = await add('few', `few-${n}`);
  await Promise.all(waiting);
  return known;
}
