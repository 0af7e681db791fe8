// Revocation as data for the kit: verifiers of direct tokens list and watch these objects, and the ledger alone writes them. Each
// is named by the uid of an access key. Its generation only rises, so a reader that meets an object twice comes to no harm.
import { changedView } from '../../../apiserver/caller/visibility.ts';
import { text } from '../../../apiserver/kinds/fields.ts';
import type { Kind } from '../../../apiserver/kinds/kind.ts';
import { timestamp } from '../../../apiserver/meta/object-meta.ts';
import type { User } from '../../../apiserver/request/identity.ts';
import { storageKey, toStoredText } from '../../../apiserver/wire/stored-text.ts';
import type { Status } from '../../../object/meta/status.ts';
import { managementGroup, revocationResource } from '../../scope/request.ts';
import { entrySpec, type RevocationEntry } from '../claims/revocations.ts';
import { revocationSchemaName } from '../schema/agent-schemas.ts';

/** Far below the thirty seconds after which an endpoint no longer trusts a silent platform. */
export const heartbeatMs = 5_000;

/** `visibleTo` throws while revocations are missing: no answer is better than one that looks complete. */
export function revocationKind(visibleTo: NonNullable<Kind['visibleTo']>): Kind {
  return { ...plainKind, visibleTo };
}

const plainKind: Kind = {
  group: managementGroup,
  version: 'v1',
  kind: 'Revocation',
  plural: revocationResource,
  singular: 'revocation',
  namespaced: false,
  verbs: ['list', 'watch'],
  schema: revocationSchemaName,
  storage: revocationResource,
  strategy: {},
  bookmarkIntervalMs: heartbeatMs,
  columns: [
    { name: 'Name', type: 'string', format: 'name', priority: 0, cell: (object) => object.metadata.name ?? '' },
    { name: 'Generation', type: 'string', priority: 0, cell: (object) => String(generationIn(object) ?? '') },
    { name: 'Expires', type: 'string', priority: 0, cell: (object) => text(object, 'spec', 'expires') },
  ],
};

function generationIn(object: Record<string, unknown>): unknown {
  return (object['spec'] as { generation?: unknown } | undefined)?.generation;
}

/** For watches that must list again. */
export function endOfRevocations(_user: User, { group, plural }: Kind): Status | undefined {
  return group === managementGroup && plural === revocationResource ? changedView : undefined;
}

export const revocationPrefix = `/registry/${revocationResource}/`;

export function revocationKey(uid: string): string {
  return storageKey(plainKind, '', uid);
}

export function revocationText(entry: RevocationEntry, now: Date): string {
  const metadata = { name: entry.key, uid: entry.key, creationTimestamp: timestamp(now) };
  return toStoredText({ metadata, spec: entrySpec(entry) });
}
