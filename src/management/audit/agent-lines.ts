// Reads what a direct endpoint reports: lines of its audit, and last uses of access keys. In: lists of a parsed report. Out: entries with known
// members of known types, or a refusal that names the member. Pure. Nothing is taken over unread, because the sender is another
// machine: a line cannot name another cluster, and texts that look like secrets are cut out.
import { badRequest, StatusFault } from '../../apiserver/request/status-fault.ts';
import { forbidden } from '../../object/meta/status.ts';
import { isRecord } from '../../object/text/json.ts';
import type { Directory } from '../scope/directory.ts';
import type { AccessRequest } from '../scope/request.ts';
import { type AuditEntry, withoutSecrets } from './entries.ts';

/** More lines of one report would hold up the lines of requests that wait for the same disk. */
export const maxEntries = 500;
/** Keys that were used since the last report. */
export const maxUses = 1_000;
/** A line stays far below this, because a URL is cut at 2 KiB and a request at 1,000 characters. */
const maxEntryLength = 8 * 1024;
const longestText = 2_100;
const longestId = 64;

type AuditedPlace = AccessRequest['target'];

export interface KeyUse {
  /** Uid of the access key. */
  key: string;
  atMs: number;
}

export function entriesIn(list: unknown, cluster: string, directory: Directory): AuditEntry[] {
  return listIn(list, 'spec.entries', maxEntries).map((entry, at) => {
    const path = `spec.entries[${at}]`;
    if (!isRecord(entry)) throw badRequest(`${path}: want an object`);
    if (JSON.stringify(entry).length > maxEntryLength)
      throw badRequest(`${path}: want at most ${maxEntryLength} characters`);
    return entryIn(entry, path, (target) => checkPlace(target, { path, cluster, directory }));
  });
}

export function usesIn(list: unknown): KeyUse[] {
  return listIn(list, 'spec.uses', maxUses).map((use, at) => {
    const path = `spec.uses[${at}]`;
    if (!isRecord(use)) throw badRequest(`${path}: want an object`);
    const key = idIn(use['key'], `${path}.key`);
    return { key, atMs: Date.parse(timeIn(use['time'], `${path}.time`)) };
  });
}

function listIn(list: unknown, path: string, most: number): unknown[] {
  if (!Array.isArray(list)) throw badRequest(`${path}: want a list`);
  if (list.length > most) throw badRequest(`${path}: want at most ${most}, found ${list.length}`);
  return list;
}

function entryIn(entry: Record<string, unknown>, path: string, check: (target: AuditedPlace) => void): AuditEntry {
  const common = { time: timeIn(entry['time'], `${path}.time`), id: idIn(entry['id'], `${path}.id`) };
  const text = (name: string) => textIn(entry[name], `${path}.${name}`);
  const count = (name: string) => countIn(entry[name], `${path}.${name}`);
  switch (entry['stage']) {
    case 'intent': {
      const target = targetIn(entry['target'], `${path}.target`);
      check(target);
      const subject = subjectIn(entry['subject'], `${path}.subject`);
      const [source, request, url] = [text('source'), text('request'), text('url')];
      return { ...common, stage: 'intent', subject, source, target, request, url };
    }
    case 'outcome':
      return { ...common, stage: 'outcome', code: count('code') };
    case 'streamStart':
      return { ...common, stage: 'streamStart' };
    case 'streamEnd': {
      const [bytesIn, bytesOut] = [count('bytesIn'), count('bytesOut')];
      return { ...common, stage: 'streamEnd', bytesIn, bytesOut, reason: text('reason') };
    }
    default:
      throw badRequest(`${path}.stage: want intent, outcome, streamStart or streamEnd`);
  }
}

/** A space that the configuration does not have here may have been removed since; it can be no other cluster's. */
function checkPlace(
  target: AuditedPlace,
  { path, cluster, directory }: { path: string; cluster: string; directory: Directory },
): void {
  if (target.kind === 'Cluster' && target.cluster === cluster) return;
  if (target.kind === 'ProjectSpace') {
    const spaces = directory.projects.get(target.project)?.spaces ?? [];
    const space = spaces.find(({ name }) => name === target.space);
    if (space === undefined || space.cluster === cluster) return;
  }
  const why = `${path}.target is outside of cluster ${cluster}; send lines of that cluster and its spaces only`;
  throw new StatusFault(forbidden({ group: '', resource: '' }, '', why));
}

function targetIn(value: unknown, path: string): AuditedPlace {
  const target = isRecord(value) ? value : {};
  const text = (name: string) => textIn(target[name], `${path}.${name}`);
  switch (target['kind']) {
    case 'Management':
      return { kind: 'Management' };
    case 'Cluster':
      return { kind: 'Cluster', cluster: text('cluster') };
    case 'ProjectSpace':
      return { kind: 'ProjectSpace', project: text('project'), space: text('space') };
    case 'ProjectVirtualCluster':
      return { kind: 'ProjectVirtualCluster', project: text('project'), virtualCluster: text('virtualCluster') };
    default:
      throw badRequest(`${path}.kind: want Management, Cluster, ProjectSpace or ProjectVirtualCluster`);
  }
}

function subjectIn(value: unknown, path: string): Extract<AuditEntry, { stage: 'intent' }>['subject'] {
  const subject = isRecord(value) ? value : {};
  const { kind } = subject;
  if (kind !== 'user' && kind !== 'team' && kind !== 'subject' && kind !== 'unknown')
    throw badRequest(`${path}.kind: want user, team, subject or unknown`);
  return { kind, name: textIn(subject['name'], `${path}.name`), key: textIn(subject['key'], `${path}.key`) };
}

function textIn(value: unknown, path: string): string {
  if (typeof value !== 'string' || value.length > longestText)
    throw badRequest(`${path}: want a text of at most ${longestText} characters`);
  return withoutSecrets(value);
}

function countIn(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw badRequest(`${path}: want a whole number that is not negative`);
  return value;
}

function idIn(value: unknown, path: string): string {
  if (typeof value !== 'string' || value.length > longestId || !/^[\w-]+$/.test(value))
    throw badRequest(`${path}: want at most ${longestId} letters, digits and hyphens`);
  return value;
}

function timeIn(value: unknown, path: string): string {
  if (
    typeof value !== 'string' ||
    !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) ||
    Number.isNaN(Date.parse(value))
  )
    throw badRequest(`${path}: want a time like 2026-11-23T04:00:00.000Z`);
  return value;
}
