// What an attack needs: a folder with the keys of the attackers and of an innocent, and, for the start after an attack, a database that
// was filled before the server had limits.
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { databasePath } from '../src/management/keys/folder/data-folder.ts';
import { SqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { kubeconfigOf, openApi, ownerName, settingsOf } from './management-seed.ts';

export interface Stage {
  dataDir: string;
  configPath: string;
  caPem: string;
  innocent: string;
  /** Names and texts. */
  plain: NamedKey;
  empty: NamedKey;
  many: NamedKey[];
  large: NamedKey[];
  /** Of a direct endpoint. */
  agent: NamedKey;
}

export interface NamedKey {
  name: string;
  text: string;
}

const population = { keys: 0, owners: 40 };
const attackers = 30;
/** As many keys of one owner, each nearly as long as a key may be. */
const largeKeys = 4;
const largeBytes = 29_000;

export async function makeStage(
  folder: string,
  ports: { port: number; operationsPort: number },
  behind: { port: number; caPem: string },
): Promise<Stage> {
  const { port, operationsPort } = ports;
  const dataDir = join(folder, 'data');
  const configPath = join(folder, 'hostward.yaml');
  const { users, administrators } = settingsOf(population);
  const kubeconfig = join(folder, 'behind.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigOf(behind, 'behind-token'), { mode: 0o600 });
  const members = Array.from({ length: population.owners }, (_, at) => ({ user: ownerName(at) }));
  const management = {
    listen: `127.0.0.1:${port}`,
    baseURL: `https://localhost:${port}`,
    dataDir,
    users,
    administrators,
    clusters: [{ name: 'behind', kubeconfig, members }],
  };
  writeFileSync(configPath, JSON.stringify({ hostward: { listen: `127.0.0.1:${operationsPort}`, management } }));
  const api = openApi(dataDir, population);
  await api.open();
  const key = async (name: string, user: string, spec: object = {}, annotations = {}): Promise<NamedKey> => {
    const made = await api.createKey({ metadata: { name, annotations }, spec: { user, ...spec } });
    return { name, text: (made['spec'] as { key: string }).key };
  };
  await key('root', 'admin');
  const innocent = (await key('innocent', 'owner-0')).text;
  const plain = await key('plain', 'owner-1');
  const empty = await key('empty', 'owner-2', { scope: {} });
  const many: NamedKey[] = [];
  for (let at = 0; at < attackers; at++) many.push(await key(`many-${at}`, `owner-${at + 3}`));
  const large: NamedKey[] = [];
  const note = { note: 'x'.repeat(largeBytes) };
  for (let at = 0; at < largeKeys; at++) large.push(await key(`large-${at}`, ownerName(attackers + 3), {}, note));
  const agent = await key('agent', 'admin', { scope: { roles: [{ role: 'agent' }] } });
  await api.close();
  const caPem = readFileSync(join(dataDir, 'ca.crt'), 'utf8');
  return { dataDir, configPath, caPem, innocent, plain, empty, many, large, agent };
}

/** What one key could store before objects had a limit: 80 keys of 1.3 MiB, and a history of as much as the memory limit. */
export async function fillDatabase(dataDir: string): Promise<number> {
  const path = databasePath(dataDir);
  const store = new SqliteStore({ clock: systemClock, path, synchronous: 'NORMAL', history: { maxBytes: 1024 ** 3 } });
  await store.start();
  const prefix = '/registry/ownedaccesskeys/';
  const template = (await store.get(`${prefix}plain`)).record?.value ?? '{}';
  const ownerReferences = Array.from({ length: filled.owners }, (_, at) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', name: `owner-${at}`, uid: randomUUID() },
    ...{ blockOwnerDeletion: false, controller: false, note: 'as large as an object could be before'.repeat(4) },
  }));
  const write = async (name: string, text: string) => {
    const object = JSON.parse(template);
    const uid = randomUUID();
    Object.assign(object.metadata, { name, uid, ownerReferences });
    Object.assign(object.spec, { displayName: text });
    Object.assign(object.hidden.record, { name, uid, id: name.replaceAll('-', ''), secrets: [] });
    await store.write(prefix + name, { expect: undefined, value: JSON.stringify(object) });
  };
  for (let at = 0; at < filled.keys; at++) await write(`filled-${at}`, 'one of many');
  for (let at = 0; at < filled.updates; at++) await write('filled-0', `update ${at}`);
  await store.stop();
  return statSync(path).size;
}

const filled = { owners: 4_800, keys: 80, updates: 180 };

/** Database and its log. */
export function databaseBytes(dataDir: string): number {
  const path = databasePath(dataDir);
  return [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
}
