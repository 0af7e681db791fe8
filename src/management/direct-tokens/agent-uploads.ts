// Takes the audit lines and the key uses of direct endpoints: POST /agent/CLUSTER/audit and /agent/CLUSTER/activity below the
// management API. In: requests of callers whom the rights of the role agent have let through. Out: lines in the audit log of this
// server, with the name of the cluster and of the agent's key; and the last uses of keys.
import type { IncomingMessage } from 'node:http';
import type { OtherPaths } from '../../apiserver/discovery/serve-path.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { badRequest, methodNotAllowed, StatusFault } from '../../apiserver/request/status-fault.ts';
import { readBody } from '../../apiserver/wire/request-body.ts';
import { sendJson } from '../../apiserver/wire/respond.ts';
import type { Clock } from '../../clock.ts';
import { notFound, serviceUnavailable } from '../../object/meta/status.ts';
import type { AuditEntry } from '../audit/entries.ts';
import { credentialOf, type KeyWorld } from '../keys/life/credential.ts';
import { entriesIn, usesIn } from './agent-lines.ts';
import type { TokenLedger } from './token-ledger.ts';
import { rightsOf, scopesOf } from './token-rights.ts';

export interface UploadParts {
  ledger: TokenLedger;
  world: KeyWorld;
  clock: Clock;
  /** Resolves when the lines are on the disk. */
  append(entries: readonly (AuditEntry & UploadedBy)[]): Promise<void>;
  used(uid: string, ttl: number, atMs: number): Promise<void>;
  keyNameOf(user: User): string;
}

export interface UploadedBy {
  /** Cluster of the endpoint that wrote the line. */
  cluster: string;
  /** Name of the key that sent it. */
  agent: string;
}

/** Four times what an endpoint sends in one body. */
export const maxUploadBytes = 1024 * 1024;
export const uploadPath = /^\/agent\/([^/%]+)\/(audit|activity)$/;

export function agentUploads(parts: UploadParts, otherwise: OtherPaths): OtherPaths {
  return async (target, request, response, user, trail) => {
    const [, cluster, what] = uploadPath.exec(target.path) ?? [];
    if (cluster === undefined) return otherwise(target, request, response, user, trail);
    if (request.method !== 'POST') throw methodNotAllowed();
    if (!parts.world.directory.clusters.has(cluster))
      throw new StatusFault(notFound({ group: '', resource: 'clusters' }, cluster));
    const body = await jsonIn(request);
    const taken =
      what === 'audit'
        ? await takeLines(parts, body, { cluster, agent: parts.keyNameOf(user) })
        : await takeUses(parts, body, cluster);
    sendJson(response, 200, JSON.stringify({ kind: 'AgentUpload', apiVersion: 'management.platform/v1', taken }));
    return true;
  };
}

async function takeLines(parts: UploadParts, body: unknown, by: UploadedBy): Promise<number> {
  const entries = entriesIn(body, by.cluster, parts.world.directory);
  try {
    await parts.append(entries.map((entry) => ({ ...entry, ...by })));
  } catch {
    throw new StatusFault(serviceUnavailable('the audit log cannot be written; send the lines again'));
  }
  return entries.length;
}

/** Only uses of living keys whose tokens reach the cluster count, so that no endpoint can keep any other key alive. */
async function takeUses({ ledger, world, clock, used }: UploadParts, body: unknown, cluster: string): Promise<number> {
  const nowMs = clock.wallTime().getTime();
  let taken = 0;
  for (const { key, atMs } of usesIn(body)) {
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

async function jsonIn(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(request, maxUploadBytes);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw badRequest('want a body in JSON');
  }
}
