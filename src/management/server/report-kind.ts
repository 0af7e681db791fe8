// AgentReport as data for the kit: a direct endpoint sends its audit lines and the uses of access keys, and nothing is kept as an
// object. In: reports of callers who may send them. Out: lines in the audit log of this server, with the name of the cluster and of
// the agent's key; and the last uses of keys.
import { text } from '../../apiserver/kinds/fields.ts';
import type { Kind, SubresourceAction } from '../../apiserver/kinds/kind.ts';
import type { Decision, User } from '../../apiserver/request/identity.ts';
import { forbiddenBecause, StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Clock } from '../../clock.ts';
import { notFound, serviceUnavailable, soonSeconds, tooManyRequests } from '../../object/meta/status.ts';
import { type TokenBucket, TokenBuckets } from '../../pace/token-bucket.ts';
import { entriesIn, type KeyUse, usesIn } from '../audit/agent-lines.ts';
import type { AuditEntry } from '../audit/entries.ts';
import { reportNames } from '../credentials/schema/agent-schemas.ts';
import type { TokenLedger } from '../credentials/tokens/token-ledger.ts';
import { rightsOf, scopesOf } from '../credentials/tokens/token-rights.ts';
import { credentialOf, type KeyWorld } from '../keys/life/credential.ts';

export interface ReportParts {
  ledger: TokenLedger;
  world: KeyWorld;
  clock: Clock;
  /** Whether the caller may send reports about the cluster. */
  mayReport(user: User, cluster: string): Decision;
  isAgent(user: User): boolean;
  /** Resolves when the lines are on the disk. */
  append(entries: readonly (AuditEntry & ReportedBy)[]): Promise<void>;
  used(uid: string, ttl: number, atMs: number): Promise<void>;
  keyNameOf(user: User): string;
}

export interface ReportedBy {
  /** Cluster of the endpoint that wrote the line. */
  cluster: string;
  /** Name of the key that sent it. */
  agent: string;
  /** By the clock of this server; the time of the line is the endpoint's, which may be wrong. */
  received: string;
}

/** Four times what an endpoint sends in one report. The key of an administrator, which may do everything, is no agent's. */
export const maxReportBytes = 1024 * 1024;

/** What the log adds to a line: its number, two digests, the cluster, the key and the time. */
const addedBytes = 440;
/**
 * Bytes of audit lines of one key. The log keeps the newest files, so whoever writes as fast as the disk takes it pushes the lines of
 * everybody else out: the 704 MiB that are kept last three quarters of an hour against one key. An endpoint writes a kilobyte for a request,
 * and after an outage it has 10,000 lines to send.
 */
const linesOfOneKey = { burst: 16 * 1024 * 1024, perSecond: 256 * 1024 };

export function reportKind(parts: ReportParts): Kind {
  return {
    ...reportNames,
    namespaced: false,
    verbs: ['create'],
    storage: '',
    strategy: {},
    bodyBytes: (user) => (parts.isAgent(user) ? maxReportBytes : undefined),
    columns: [],
    answer: takeReport(parts),
  };
}

function takeReport(parts: ReportParts): SubresourceAction {
  const buckets = new TokenBuckets(linesOfOneKey);
  return async (report, { user, dryRun }) => {
    const { directory } = parts.world;
    const cluster = text(report, 'spec', 'cluster');
    checkCluster(parts, user, cluster);
    const spec = report['spec'] as { entries?: unknown; uses?: unknown };
    const entries = spec.entries === undefined ? [] : entriesIn(spec.entries, cluster, directory);
    const uses = spec.uses === undefined ? [] : usesIn(spec.uses);
    if (dryRun) return { metadata: {}, status: { entries: entries.length, uses: 0 } };
    const agent = parts.keyNameOf(user);
    payFor(entries, buckets.of(agent, parts.clock.now()), parts.clock);
    await takeLines(parts, entries, { cluster, agent, received: parts.clock.wallTime().toISOString() });
    return { metadata: {}, status: { entries: entries.length, uses: await takeUses(parts, uses, cluster) } };
  };
}

const resource = { group: reportNames.group, resource: reportNames.plural };

function checkCluster({ mayReport, world }: ReportParts, user: User, cluster: string): void {
  const { allowed, reason = '' } = mayReport(user, cluster);
  if (!allowed) {
    const message = `the report is about cluster "${cluster}": ${reason}`;
    const cause = { reason: 'FieldValueForbidden', message, field: 'spec.cluster' };
    throw forbiddenBecause(resource, '', `spec.cluster: ${message}`, [cause]);
  }
  if (!world.directory.clusters.has(cluster))
    throw new StatusFault(notFound({ group: '', resource: 'clusters' }, cluster));
}

function payFor(entries: readonly AuditEntry[], bucket: TokenBucket, clock: Clock): void {
  const bytes = entries.reduce((sum, entry) => sum + JSON.stringify(entry).length + addedBytes, 0);
  const waitMs = bucket.take(clock.now(), bytes);
  if (waitMs === 0) return;
  const message = 'this key has reported more audit lines than the log can keep for one key; send them again later';
  throw new StatusFault(tooManyRequests(message, Math.ceil(waitMs / 1000)));
}

async function takeLines(parts: ReportParts, entries: readonly AuditEntry[], by: ReportedBy): Promise<void> {
  try {
    await parts.append(entries.map((entry) => ({ ...entry, ...by })));
  } catch {
    throw new StatusFault(serviceUnavailable('the audit log cannot be written; send the lines again', soonSeconds));
  }
}

/** Only uses of living keys whose tokens reach the cluster count, so that no endpoint can keep any other key alive. */
async function takeUses(parts: ReportParts, uses: readonly KeyUse[], cluster: string): Promise<number> {
  const { ledger, world, clock, used } = parts;
  const nowMs = clock.wallTime().getTime();
  let taken = 0;
  for (const { key, atMs } of uses) {
    const facts = world.key(ledger.nameOf(key, nowMs) ?? '');
    if (facts?.record.uid !== key) continue;
    const found = credentialOf({ ...facts, networks: undefined }, world, { nowMs, address: undefined });
    if (found.kind === 'dead') continue;
    const scopes = { scopes: scopesOf(facts, world), networks: undefined };
    if (!rightsOf(world.directory, found.credential.subject, scopes).reached.includes(cluster)) continue;
    await used(key, facts.times.ttl, Math.min(atMs, nowMs));
    taken++;
  }
  return taken;
}
