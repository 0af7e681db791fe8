// Keys of matrix cases as they lie in the folder of a management API: the server finds them when it opens the folder, as after
// a start. Written to the store rather than made by requests, because a case also has keys whose maker is long gone.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../src/clock.ts';
import { databasePath, makeDataFolder, openSecrets } from '../../../src/management/keys/folder/data-folder.ts';
import type { KeyRecord } from '../../../src/management/keys/secret/key-record.ts';
import type { Peppers } from '../../../src/management/keys/secret/pepper.ts';
import { makeToken } from '../../../src/management/keys/secret/token.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import type { MatrixCase, MatrixConfiguration, MatrixKey } from '../matrix-case.ts';
import { now } from '../model/cases/key-cases.ts';

/** The values of the keys by name. */
export type KeyValues = ReadonlyMap<string, string>;

export async function seedFolder(
  folder: string,
  cases: readonly MatrixCase[],
  { clock, nowMs }: { clock: Clock; nowMs: number },
): Promise<KeyValues> {
  await makeDataFolder(folder);
  const { peppers } = await openSecrets(folder, randomBytes, false);
  const store = new SqliteStore({ clock, path: databasePath(folder) });
  await store.start();
  const values = new Map<string, string>();
  try {
    for (const { configuration } of cases.slice(0, 1)) await seedSubjects(store, configuration);
    const uses = new Map<string, string>([['activity-is-whole', '1']]);
    const shiftMs = nowMs - Date.parse(now);
    for (const { keys } of cases)
      for (const key of keys) {
        const { text, id } = makeToken(randomBytes);
        values.set(key.name, text);
        await store.write(`/registry/ownedaccesskeys/${key.name}`, {
          expect: 0,
          value: JSON.stringify(storedKey(key, recordOf(key, { keys, peppers, text, id }), shiftMs)),
        });
        if (key.lastActivity !== undefined)
          uses.set(`activity/${uidOf(key.name)}`, String(Date.parse(key.lastActivity) + shiftMs));
      }
    await store.writeSideValues(uses);
  } finally {
    await store.stop();
  }
  return values;
}

/** The users and teams of all configurations are the same; members and groups differ. */
async function seedSubjects(store: Store, { users, teams, administrators }: MatrixConfiguration): Promise<void> {
  const names = [...new Set(['admin', ...users.map(({ name }) => name), ...administrators.users]).values()].map(
    (name) => ({ kind: 'user', name }),
  );
  for (const { kind, name } of [...names, ...teams.map((team) => ({ kind: 'team', name: team.name }))]) {
    const value = JSON.stringify({ kind, name, uid: `${kind} ${name}`, firstSeenMs: 0, retired: [] });
    await store.write(`/management/records/${kind}/${name}`, { expect: 0, value });
  }
}

function uidOf(name: string): string {
  return `uid-${name}`;
}

function subjectOf(key: MatrixKey): KeyRecord['subject'] {
  const kind = key.user !== undefined ? 'user' : key.team !== undefined ? 'team' : 'subject';
  const name = key.user ?? key.team ?? key.subject ?? '';
  return { kind, name, uid: kind === 'subject' ? `subject:${name}` : `${kind} ${name}` };
}

function recordOf(
  key: MatrixKey,
  { keys, peppers, text, id }: { keys: readonly MatrixKey[]; peppers: Peppers; text: string; id: string },
): KeyRecord {
  const isThere = keys.some(({ name }) => name === key.madeBy);
  const maker = key.madeBy === undefined ? undefined : { name: key.madeBy, uid: isThere ? uidOf(key.madeBy) : 'gone' };
  return {
    name: key.name,
    uid: uidOf(key.name),
    id,
    secrets: [{ ...peppers.digest(text), validUntilMs: undefined, isSupplied: false }],
    subject: subjectOf(key),
    grantedGroups: key.grantedGroups ?? [],
    madeBy: maker,
    tokenGeneration: 1,
  };
}

function storedKey(key: MatrixKey, record: KeyRecord, shiftMs: number): object {
  const { name, creationTimestamp, deletionTimestamp, lastActivity: _, grantedGroups: __, madeBy: ___, ...spec } = key;
  const shifted = (text: string) => `${new Date(Date.parse(text) + shiftMs).toISOString().slice(0, 19)}Z`;
  // A finalizer holds a key that is being deleted.
  const going =
    deletionTimestamp === undefined
      ? {}
      : {
          deletionTimestamp: shifted(deletionTimestamp),
          deletionGracePeriodSeconds: 0,
          finalizers: ['example.com/hold'],
        };
  const metadata = { name, uid: uidOf(name), creationTimestamp: shifted(creationTimestamp), generation: 1, ...going };
  return { metadata, spec: { type: 'User', ...spec }, hidden: { record, sealed: {} } };
}
