// The implementation's answer to a case of the authorisation matrix. Thin on purpose: it only builds what the daemon builds
// from its configuration file and its store.
import { Activity } from '../../src/management/keys/life/activity.ts';
import { credentialOf, type KeyWorld } from '../../src/management/keys/life/credential.ts';
import { type KeyFacts, keyFacts } from '../../src/management/keys/life/key-facts.ts';
import { isVisible, namesNoVisibleKey } from '../../src/management/keys/life/visible.ts';
import type { KeyRecord } from '../../src/management/keys/secret/key-record.ts';
import { allows } from '../../src/management/scope/allows.ts';
import type { Directory } from '../../src/management/scope/directory.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { VirtualClock } from '../virtual-clock.ts';
import type { MatrixAnswer, MatrixCase, MatrixConfiguration, MatrixKey } from './matrix-case.ts';
import { directoryOf } from './scope/scopes.ts';

/** Cases share their configuration, and loading one is most of the work. */
const directories = new WeakMap<MatrixConfiguration, Directory>();

function directoryFor(configuration: MatrixConfiguration): Directory {
  const known = directories.get(configuration);
  if (known !== undefined) return known;
  // JSON is YAML, so the case takes the way of a configuration file.
  const directory = directoryOf(JSON.stringify({ hostward: { management: configuration } }));
  directories.set(configuration, directory);
  return directory;
}

export function matrixAnswer(of: MatrixCase): MatrixAnswer {
  const directory = directoryFor(of.configuration);
  const nowMs = Date.parse(of.now);
  const activity = new Activity(new VirtualClock(of.now), { write: async () => {} }, () => {});
  const facts = new Map<string, KeyFacts>();
  for (const key of of.keys) {
    facts.set(key.name, keyFacts(objectOf(key), recordOf(key, of.keys)));
    if (key.lastActivity !== undefined) activity.load(`uid-${key.name}`, Date.parse(key.lastActivity), false);
  }
  const world: KeyWorld = {
    directory,
    key: (name) => facts.get(name),
    lastActivityMs: ({ record, times }) => activity.forExpiryMs(record.uid, times.ttl),
    subjectUid: (kind, name) => `${kind} ${name}`,
    instanceUid: (project, name) => `${project}/${name}`,
  };
  const caller = facts.get(of.caller);
  if (caller === undefined) return { allowed: false, sees: [] };
  const authenticated = credentialOf(caller, world, { nowMs, address: undefined });
  if (authenticated.kind === 'dead') return { allowed: false, sees: [] };
  const { credential } = authenticated;
  const sees = [...facts.values()].filter((key) => isVisible(key, credential, directory)).map(({ name }) => name);
  // As Rights has it: what is refused on a key that the caller cannot see is 404.
  const allowed = allows(directory, credential, of.request).allowed || namesNoVisibleKey(of.request, credential, world);
  return { allowed, sees: sees.sort() };
}

function objectOf(key: MatrixKey): KubeObject {
  const { name, creationTimestamp, deletionTimestamp, lastActivity: _, grantedGroups: __, madeBy: ___, ...spec } = key;
  const metadata = { name, creationTimestamp, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) };
  return { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata, spec };
}

function recordOf(key: MatrixKey, keys: readonly MatrixKey[]): KeyRecord {
  const kind = key.user !== undefined ? 'user' : key.team !== undefined ? 'team' : 'subject';
  const name = key.user ?? key.team ?? key.subject ?? '';
  const maker = keys.some((other) => other.name === key.madeBy) ? `uid-${key.madeBy}` : 'gone';
  return {
    name: key.name,
    uid: `uid-${key.name}`,
    id: key.name,
    secrets: [],
    subject: { kind, name, uid: `${kind} ${name}` },
    grantedGroups: key.grantedGroups ?? [],
    madeBy: key.madeBy === undefined ? undefined : { name: key.madeBy, uid: maker },
    tokenGeneration: 1,
  };
}
