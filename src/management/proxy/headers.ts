// Which headers pass a proxy. On the way in, everything that says who the caller is goes away, and everything about the one
// connection; on the way back, everything that would make a client trust or follow the upstream rather than us. Pure: lines in,
// lines out, as name, value, name, value, so that repeated lines stay repeated.

/** Names are compared in lower case, with `_` as `-`: behind some servers both spell one header. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/** Of one connection only, so that each side of a proxy has its own. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Said by the proxy itself, or used to claim an identity or an origin that we have not proved. */
const replaced: ReadonlySet<string> = new Set([
  'audit-id',
  'authorization',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'trailer',
  'x-real-ip',
]);
const replacedPrefixes: readonly string[] = ['impersonate-', 'x-remote-', 'x-forwarded-'];

/** A cookie would be sent to every other cluster behind this address too, and the others lead clients past us. */
const keptBack: ReadonlySet<string> = new Set([
  'alt-svc',
  'audit-id',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'www-authenticate',
]);

const impersonationPrefix = 'impersonate-';
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';
const protocolHeader = 'sec-websocket-protocol';

/** The name of a header that asks to act for another user; undefined = the request has none. */
export function impersonationIn(lines: readonly string[]): string | undefined {
  return namesOf(lines).find((name) => plainName(name).startsWith(impersonationPrefix));
}

/** What an upstream may see of the client's lines. */
export function requestLines(lines: readonly string[]): string[] {
  const named = namedInConnection(lines);
  return filtered(lines, (name, value) => {
    if (hopByHop.has(name) || replaced.has(name) || named.has(name)) return undefined;
    if (replacedPrefixes.some((prefix) => name.startsWith(prefix))) return undefined;
    return name === protocolHeader ? withoutBearer(value) : value;
  });
}

/** What a client may see of the upstream's lines. */
export function responseLines(lines: readonly string[]): string[] {
  const named = namedInConnection(lines);
  return filtered(lines, (name, value) =>
    hopByHop.has(name) || keptBack.has(name) || named.has(name) ? undefined : value,
  );
}

/** `names` in lower case. */
export function withoutLines(lines: readonly string[], names: readonly string[]): string[] {
  return filtered(lines, (name, value) => (names.includes(name) ? undefined : value));
}

/** How often the header stands there, whatever its spelling. */
export function countOf(lines: readonly string[], header: string): number {
  return namesOf(lines).filter((name) => plainName(name) === header).length;
}

/** Browsers cannot send Authorization with a WebSocket: Kubernetes takes the token from the list of protocols instead. */
export function bearersInProtocols(protocols: string | undefined): { tokens: string[]; others: string[] } {
  const all = (protocols ?? '').split(',').map((protocol) => protocol.trim());
  const tokens = all.filter((protocol) => protocol.startsWith(bearerProtocol));
  return {
    tokens: tokens.map((protocol) => Buffer.from(protocol.slice(bearerProtocol.length), 'base64url').toString('utf8')),
    others: all.filter((protocol) => protocol !== '' && !protocol.startsWith(bearerProtocol)),
  };
}

function withoutBearer(value: string): string | undefined {
  const { tokens, others } = bearersInProtocols(value);
  if (tokens.length === 0) return value;
  return others.length === 0 ? undefined : others.join(', ');
}

/** Taken out before ours are added, so that `Connection: Impersonate-User` cannot take ours away (CVE-2021-31999). */
function namedInConnection(lines: readonly string[]): ReadonlySet<string> {
  const named = new Set<string>();
  for (let at = 0; at < lines.length; at += 2)
    if (plainName(lines[at] as string) === 'connection')
      for (const name of (lines[at + 1] as string).split(',')) named.add(plainName(name.trim()));
  return named;
}

function filtered(lines: readonly string[], valueFor: (name: string, value: string) => string | undefined): string[] {
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] as string;
    const value = valueFor(plainName(name), lines[at + 1] as string);
    if (value !== undefined) kept.push(name, value);
  }
  return kept;
}

function namesOf(lines: readonly string[]): string[] {
  return lines.filter((_, at) => at % 2 === 0);
}
