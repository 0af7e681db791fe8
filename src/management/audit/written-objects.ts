// Names what a request made, changed or deleted, for the outcome in the audit log: never a value, a label or a text of people. Pure.
import { createHash } from 'node:crypto';
import type { WrittenText } from '../../apiserver/kinds/kind.ts';
import { isRecord } from '../../object/text/json.ts';

export interface WrittenObject {
  kind: string;
  /** Empty for a direct token, which has none. */
  name: string;
  namespace?: string;
  uid: string;
  /** `user:alice`; for keys and tokens. */
  owner?: string;
  /** The first 16 digits of the SHA-256 of the scope as `jq -cSj .spec.scope` prints it; `none` without a scope. */
  scope?: string;
}

/** As many as tell two scopes apart. */
const digits = 16;

export function writtenObject({ kind, text }: WrittenText): WrittenObject {
  const object: unknown = JSON.parse(text);
  const { metadata, spec } = isRecord(object) ? object : {};
  const { name, namespace, uid } = isRecord(metadata) ? metadata : {};
  const about = { kind, name: textOf(name), uid: textOf(uid) };
  const place = typeof namespace === 'string' && namespace !== '' ? { namespace } : {};
  if (!isRecord(spec)) return { ...about, ...place };
  const owner = ['user', 'team', 'subject'].find((field) => textOf(spec[field]) !== '');
  if (owner === undefined) return { ...about, ...place };
  return { ...about, ...place, owner: `${owner}:${textOf(spec[owner])}`, scope: scopeDigest(spec['scope']) };
}

export function scopeDigest(scope: unknown): string {
  if (scope === undefined || scope === null) return 'none';
  return createHash('sha256')
    .update(JSON.stringify(sorted(scope)))
    .digest('hex')
    .slice(0, digits);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([field, inner]) => [field, sorted(inner)]));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
