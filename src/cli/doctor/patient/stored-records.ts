// What lies in the namespace of the records: read once, for all checks of a store in a cluster. In: a connection. Out: counts, what is
// not ours, and what the store says of itself. Keeps no record.

import { resolve } from 'node:path';
import { listPages } from '../../../cluster/window/list-pages.ts';
import type { ClusterConnection } from '../../../cluster/wire/connection.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import { keyPrefix } from '../../../management/keys/book/key-book.ts';
import { configurationKey } from '../../../management/keys/callers/ruling-configuration.ts';
import { proofKey, readSecrets, replicaFile, type Secrets } from '../../../management/keys/folder/data-folder.ts';
import { isUsable } from '../../../management/server/host/host-database.ts';
import { hiddenBecause, recordOf, secretsResource } from '../../../management/server/host/records/host-secrets.ts';
import { isMarked, recordText } from '../../../management/server/host/records/marked-records.ts';
import { wordsIn } from '../../../management/server/host/shared-store.ts';
import { movedKey, movingKey } from '../../../management/server/host/store-marks.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { KnownStore } from '../../../store/kubernetes/meta-record.ts';
import type { HostRecord } from '../../../store/kubernetes/records/host-records.ts';
import {
  metaName,
  type ReadRecord,
  readRecord,
  type StoreMeta,
} from '../../../store/kubernetes/records/record-format.ts';
import { LastSeen, type Told } from '../../../store/kubernetes/trust/last-seen.ts';
import { whyNot } from '../../../store/kubernetes/trust/record-reader.ts';
import type { Seals } from '../../../store/kubernetes/trust/seals.ts';
import type { Context } from '../../line/context.ts';

export interface StoredRecords {
  count: number;
  /** Of all values. */
  bytes: number;
  /** Names of Secrets that are not ours. */
  foreign: readonly string[];
  unusable: readonly { name: string; why: string }[];
  /** That somebody has marked immutable, and what each holds. */
  marked: readonly { name: string; what: string }[];
  /** That have lately used the store. */
  replicas: readonly string[];
  /** Undefined for an empty store; a text says why it cannot be read. */
  meta: StoreMeta | string | undefined;
  /** What the secrets of the installation are proved by. */
  proof: string | undefined;
  /** The names of the configuration files that those have. */
  files: readonly string[];
  /** What the configuration says that rules. */
  configuration: string | undefined;
  /** Where the records were moved to. */
  movedTo: string | undefined;
  isMoving: boolean;
}

export type SurveyEnd = { kind: 'read'; records: StoredRecords } | { kind: 'failed'; why: string };

export interface WrittenReplica {
  replica: string;
  /** By the clock of the cluster; undefined where the cluster does not say. */
  writtenMs: number | undefined;
}

/** Fifteen beats: a replica whose machine stalls for a moment still counts. */
const livesForMs = 30_000;

/** A replica that has ended leaves its record behind. Each record is compared with the newest one, so no clock of ours matters. */
export function living(replicas: readonly WrittenReplica[]): string[] {
  const newestMs = Math.max(...replicas.map(({ writtenMs = 0 }) => writtenMs));
  const lives = ({ writtenMs }: WrittenReplica) => writtenMs === undefined || writtenMs > newestMs - livesForMs;
  return replicas.filter(lives).map(({ replica }) => replica);
}

function writtenMs({ metadata: { managedFields = [] } }: KubeObject): number | undefined {
  const times = managedFields.map((entry) => (isRecord(entry) ? Date.parse(String(entry['time'])) : Number.NaN));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? undefined : Math.max(...known);
}

/** `seals`: of the secrets of the installation, where they are here. */
export async function surveyOf(
  connection: ClusterConnection,
  { namespace, signal, seals }: { namespace: string; signal: AbortSignal; seals: Seals | undefined },
): Promise<SurveyEnd> {
  const foreign: string[] = [];
  const unusable: { name: string; why: string }[] = [];
  const marked: { name: string; what: string }[] = [];
  const replicas: WrittenReplica[] = [];
  const told: Told[] = [];
  const files = new Map<string, string | undefined>();
  const usable: Pick<HostRecord, 'name' | 'version'>[] = [];
  const marks = new Map<string, string>();
  let meta: StoredRecords['meta'];
  let count = 0;
  let bytes = 0;
  const end = await listPages({
    connection,
    scope: { ref: secretsResource, namespace, labelSelector: undefined, fieldSelector: undefined },
    signal,
    page: () => undefined,
    accept(object) {
      const found = recordOf(object);
      if (found === undefined) return void foreign.push(object.metadata.name ?? '');
      if (isMarked(object)) marked.push({ name: found.name, what: recordText(found.data['key'] ?? '', keyPrefix) });
      // In the order of a replica: a newer version may seal in another way.
      const plain = readRecord(found, 0);
      const forged = plain.kind === 'unusable' ? undefined : seals?.fault(found);
      const read: ReadRecord = forged === undefined ? plain : { kind: 'unusable', why: forged };
      if (found.name === metaName) meta = read.kind === 'meta' ? read.meta : 'why' in read ? read.why : undefined;
      // It is the first of the list, which is in order of the names.
      if (read.kind === 'meta') seals?.useStore(read.meta.store);
      if (read.kind === 'replica') {
        replicas.push({ replica: read.replica, writtenMs: writtenMs(object) });
        files.set(read.replica, wordsIn(read.about).configuration);
        told.push({ version: found.version, sight: read.sight });
      }
      if (read.kind === 'unusable') unusable.push({ name: found.name, why: read.why });
      const hidden = hiddenBecause(object);
      if (hidden !== undefined) return void unusable.push({ name: found.name, why: hidden });
      if (read.kind !== 'record') return;
      const { key, value } = read.record;
      count++;
      bytes += value.length;
      if (!isUsable(read.record)) return void unusable.push({ name: found.name, why: 'its value is damaged' });
      usable.push({ name: found.name, version: found.version });
      if (!key.startsWith('/registry/')) marks.set(key, value);
    },
  });
  if (end.kind === 'failed')
    return { kind: 'failed', why: end.answer.kind === 'notSent' ? 'not sent' : end.answer.message };
  if (end.kind !== 'listed') return { kind: 'failed', why: 'message' in end ? end.message : 'interrupted' };
  if (typeof meta === 'object') {
    // The list cannot show it: only replicas that followed the store know.
    const lastSeen = new LastSeen(told, meta.epoch);
    for (const one of usable) {
      const told = lastSeen.told(one);
      if (told !== undefined) unusable.push({ name: one.name, why: whyNot[told] });
    }
  }
  const moved = marks.get(movedKey);
  const lives = living(replicas);
  return {
    kind: 'read',
    records: {
      ...{ count, bytes, foreign, unusable, marked, replicas: lives, meta, proof: marks.get(proofKey) },
      files: lives.flatMap((replica) => files.get(replica) ?? []),
      configuration: marks.get(configurationKey),
      movedTo: moved === undefined ? undefined : String(JSON.parse(moved)),
      isMoving: marks.has(movingKey),
    },
  };
}

/** The secrets that prove the records; undefined where they are not on this machine. */
export async function secretsHere(of: {
  settings: { managementServer: ManagementServerSettings | undefined };
  context: { cwd: string };
}): Promise<Secrets | undefined> {
  const server = of.settings.managementServer;
  return server && readSecrets(resolve(of.context.cwd, secretsFolder(server))).catch(() => undefined);
}

/** What a replica on this machine knows of its store; undefined = it never ran. */
export async function knownStore(
  { cwd, files }: Pick<Context, 'cwd' | 'files'>,
  dataDir: string,
): Promise<KnownStore | undefined> {
  try {
    const known: unknown = JSON.parse(await files.read(resolve(cwd, dataDir, replicaFile)));
    if (!isRecord(known) || typeof known['epoch'] !== 'string') return undefined;
    return { epoch: known['epoch'], store: typeof known['store'] === 'string' ? known['store'] : undefined };
  } catch {
    return undefined;
  }
}

/** Whether the store is not the one that a replica knows, or that one as it was before its last recovery or migration. */
export function strayFrom(known: KnownStore | undefined, meta: StoreMeta | undefined): 'another' | 'older' | undefined {
  if (known === undefined || known.epoch === meta?.epoch || meta?.earlier.includes(known.epoch) === true)
    return undefined;
  return known.store !== undefined && known.store === meta?.store ? 'older' : 'another';
}
