// The entries of the audit log: the user, the request and its answer, and the begin and end of streams. An entry holds only names
// and numbers, never a body, a header or a secret.
import { createHash } from 'node:crypto';
import type { WrittenText } from '../../apiserver/kinds/kind.ts';
import type { AuditedRequest } from '../../apiserver/kinds/kit.ts';
import { inKeyOrder, isRecord } from '../../object/text/json.ts';
import { type AccessRequest, requestText } from '../scope/request.ts';

export interface AuditSubject {
  kind: 'user' | 'team' | 'subject' | 'unknown';
  name: string;
  /** Name of the key object; empty for a request that proved no key. */
  key: string;
  /** The user of this machine behind the socket, who needs no key. */
  osUser?: string;
}

interface Common {
  /** RFC 3339 with milliseconds. */
  time: string;
  /** One for all entries of a request; the Audit-Id of its answer. */
  id: string;
}

export type AuditEntry = Common &
  (
    | {
        stage: 'intent';
        subject: AuditSubject;
        /** The address of the socket, never an address from a header. */
        source: string;
        target: AccessRequest['target'];
        request: string;
        /** Path and query without the values that are not known to be harmless. */
        url: string;
      }
    | {
        stage: 'outcome';
        code: number;
        reason?: string;
        /** What was made, changed or deleted. */
        objects?: readonly WrittenObject[];
        /** How many more than are in `objects`. */
        moreObjects?: number;
      }
    | { stage: 'streamStart' }
    | { stage: 'streamEnd'; bytesIn: number; bytesOut: number; reason: string }
    /** The oldest files are removed on purpose, up to the line with this number and digest. */
    | { stage: 'removed'; through: number; last: string; files: number }
    /** Lines up to `seen` were known outside this machine, and at this start the log ended with line `after`: somebody cut it. */
    | { stage: 'lost'; of: string; after: number; seen: number }
  );

export function intentEntry(
  common: Common,
  of: { subject: AuditSubject; source: string; request: AccessRequest; url: string },
): AuditEntry {
  const { subject, source, request, url } = of;
  const text = withoutSecrets(requestText(request));
  return { ...common, stage: 'intent', subject, source, target: request.target, request: text, url: redactURL(url) };
}

export function outcomeEntry(
  common: Common,
  code: number,
  { note, written }: Pick<AuditedRequest, 'note' | 'written'> = {},
): AuditEntry {
  const said = note === undefined ? {} : { reason: withoutSecrets(note) };
  return { ...common, stage: 'outcome', code, ...said, ...objectsIn(written) };
}

function objectsIn(written: AuditedRequest['written']): object {
  if (written === undefined) return {};
  const objects = written.first.map(writtenObject);
  return { objects, ...(written.count > objects.length && { moreObjects: written.count - objects.length }) };
}

/** Query parameters of the Kubernetes API whose values are no secrets. */
const harmless: ReadonlySet<string> = new Set([
  'allowWatchBookmarks',
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'follow',
  'force',
  'gracePeriodSeconds',
  'limit',
  'orphanDependents',
  'pretty',
  'propagationPolicy',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
]);

/** Numbers, and the values that these parameters can have. Any other value is a mistake and could be a secret. */
const knownValue = /^(?:\d{0,20}|true|false|All|Ignore|Warn|Strict|Background|Foreground|Orphan|Exact|NotOlderThan)$/i;

const longestURL = 2048;

export function redactURL(url: string): string {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? '' : url.slice(mark + 1);
  const kept = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      return harmless.has(name) && (name === 'fieldManager' || knownValue.test(value)) ? pair : `${name}=…`;
    });
  const whole = withoutSecrets(kept.length === 0 ? path : `${path}?${kept.join('&')}`);
  return whole.length > longestURL ? `${whole.slice(0, longestURL)}…` : whole;
}

/** Keys and tokens that a client put into the wrong place, such as a path or a name. Whoever reads the log can undo percent-encoding. */
export function withoutSecrets(text: string): string {
  const plain = text.includes('%') ? withoutEncoding(text) : text;
  if (plain === undefined) return '…';
  const cut = withoutPlainSecrets(plain);
  return cut === plain ? text : cut;
}

/** Encoded more often, a text is no honest one. */
const mostEncodings = 4;

/** Undoes the encoding of letters, digits and the signs that keys and tokens are made of; undefined = it goes on and on. */
function withoutEncoding(text: string): string | undefined {
  let plain = text;
  for (let depth = 0; depth < mostEncodings; depth++) {
    const next = plain.replace(/%(?:25)*([0-9A-Fa-f]{2})/g, (encoded, digits: string) => {
      const sign = String.fromCharCode(Number.parseInt(digits, 16));
      return /[\w.%-]/.test(sign) ? sign : encoded;
    });
    if (next === plain) return plain;
    plain = next;
  }
  return undefined;
}

function withoutPlainSecrets(text: string): string {
  return text
    .replace(/mpk_([0-9A-Za-z]+)_[0-9A-Za-z]+/g, 'mpk_$1_…')
    .replace(/[\w.-]+/g, withoutToken)
    .replace(/(bearer)(\s+|%(?:25)*20)\S+/gi, '$1 …');
}

/** A pattern with the beginning of a token in it would look to the end of the text from each beginning. */
function withoutToken(word: string): string {
  const at = word.indexOf('eyJ');
  return at !== -1 && word.includes('.', at) ? `${word.slice(0, at)}<token>` : word;
}

// Names what a request made, changed or deleted, for the outcome in the audit log: never a value, a label or a text of people. Pure.
interface WrittenObject {
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

function writtenObject({ kind, text }: WrittenText): WrittenObject {
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

function scopeDigest(scope: unknown): string {
  if (scope === undefined || scope === null) return 'none';
  return createHash('sha256')
    .update(JSON.stringify(inKeyOrder(scope)))
    .digest('hex')
    .slice(0, digits);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
