// Reads the Impersonate-* headers of a request: which user the sender wants to act as. In: the headers. Out: the wanted user,
// without the groups that the server adds. Whether the sender may do so is decided in impersonation-modes.ts.
import type { IncomingMessage } from 'node:http';
import type { User } from './identity.ts';
import { badRequest } from './status-fault.ts';

/** Every part is the sender's wish; the server has added nothing yet. */
export interface WantedUser extends User {
  uid: string;
  extra: Readonly<Record<string, readonly string[]>>;
}

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';

/** Undefined = the request asks for no other user. */
export function wantedUser(request: IncomingMessage): WantedUser | undefined {
  // Nearly every request is free of these headers, and the plain headers are cheaper to read than the distinct ones.
  if (!Object.keys(request.headers).some((name) => name.startsWith(prefix))) return undefined;
  const headers = request.headersDistinct;
  const name = first(headers['impersonate-user']);
  const uid = first(headers['impersonate-uid']);
  const groups = (headers['impersonate-group'] ?? []).map(utf8);
  const extra: Record<string, string[]> = Object.create(null);
  for (const [header, values = []] of Object.entries(headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = unescaped(header.slice(extraPrefix.length));
    extra[key] = [...(extra[key] ?? []), ...values.map(utf8)];
  }
  const hasMore = uid !== '' || groups.length > 0 || Object.keys(extra).length > 0;
  if (name === '' && hasMore) {
    const asked = `UID:${JSON.stringify(uid)}, Groups:${goList(groups)}, Extra:${goMap(extra)}`;
    throw badRequest(`requested &user.DefaultInfo{Name:"", ${asked}} without impersonating a user name`);
  }
  return name === '' ? undefined : { name, uid, groups, extra };
}

function first(values: readonly string[] | undefined): string {
  return utf8(values?.[0] ?? '');
}

/** Node reads each byte of a header as one character. */
function utf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}

/** Extra keys hold characters that header names must not hold, so clients write them with percent signs. */
function unescaped(key: string): string {
  if (/%(?![0-9a-f]{2})/i.test(key)) return key;
  return utf8(key.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))));
}

/** The real server prints the wish in the notation of Go. */
function goList(values: readonly string[]): string {
  return values.length === 0 ? '[]string(nil)' : `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`;
}

function goMap(extra: Readonly<Record<string, readonly string[]>>): string {
  const entries = Object.entries(extra).map(([key, values]) => `${JSON.stringify(key)}:${goList(values)}`);
  return entries.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries.sort().join(', ')}}`;
}
