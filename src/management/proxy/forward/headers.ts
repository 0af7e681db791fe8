// Selects the headers that pass the proxy. A request loses every header that claims an identity, and the headers of its own
// connection. An answer loses every header that would make the client trust or follow the upstream instead of this server. Pure:
// lines in, lines out, as name, value, name, value, so that repeated lines stay repeated.

/** Names are compared in lower case, with `_` as `-`, because some servers treat both spellings as one header. */
function plainName(name: string): string {
  const known = plainNames.get(name);
  if (known !== undefined) return known;
  const plain = name.toLowerCase().replaceAll('_', '-');
  if (plainNames.size < mostPlainNames && name.length <= longestPlainName) plainNames.set(name, plain);
  return plain;
}

/** Clients choose the names, so only so many short ones are remembered. */
const mostPlainNames = 256;
const longestPlainName = 40;
/** Each name of a request is asked for several times. */
const plainNames = new Map<string, string>();

/** Headers of a single connection; the proxy has a connection of its own on each side. */
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

/** The proxy sets these itself, or they claim an identity or an origin that it has not proved. */
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

/** A client would send a cookie to every cluster behind this address; the other headers lead clients past this server, or change
 * what a browser keeps of it. */
const keptBack: ReadonlySet<string> = new Set([
  'alt-svc',
  'audit-id',
  'clear-site-data',
  'refresh',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'www-authenticate',
]);

/** Behind a body they come too late to be judged, and a reader that merges them into the head would be misled. */
const notBehind: ReadonlySet<string> = new Set([
  'authorization',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'location',
  'trailer',
]);

const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';
const protocolHeader = 'sec-websocket-protocol';

/** The client's lines that an upstream may see. */
export function requestLines(lines: readonly string[]): string[] {
  const named = namedInConnection(lines);
  return filtered(lines, (name, value) => {
    if (hopByHop.has(name) || replaced.has(name) || named.has(name)) return undefined;
    if (replacedPrefixes.some((prefix) => name.startsWith(prefix))) return undefined;
    return name === protocolHeader ? withoutBearer(value) : value;
  });
}

/** The upstream's lines that a client may see. */
export function responseLines(lines: readonly string[]): string[] {
  const named = namedInConnection(lines);
  return filtered(lines, (name, value) =>
    hopByHop.has(name) || keptBack.has(name) || named.has(name) ? undefined : value,
  );
}

/** The upstream's lines behind a body that a client may see. */
export function trailerLines(lines: readonly string[]): string[] {
  return filtered(responseLines(lines), (name, value) => (notBehind.has(name) ? undefined : value));
}

/** `names` in lower case. */
export function withoutLines(lines: readonly string[], names: readonly string[]): string[] {
  return filtered(lines, (name, value) => (names.includes(name) ? undefined : value));
}

/** Node sends an empty body in chunks where nothing is said of one, and its last chunk would be the first bytes of a session. */
export function noBodyLines({
  method,
  rawHeaders,
}: {
  method?: string | undefined;
  rawHeaders: readonly string[];
}): string[] {
  return method === 'GET' || countOf(rawHeaders, 'content-length') > 0 ? [] : ['Content-Length', '0'];
}

/** Counts a header in all its spellings. */
export function countOf(lines: readonly string[], header: string): number {
  return namesOf(lines).filter((name) => plainName(name) === header).length;
}

/** Browsers cannot send Authorization with a WebSocket, so Kubernetes accepts the token in the list of protocols. */
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

/** These lines go before ours are added, so that `Connection: Impersonate-User` cannot remove ours (CVE-2021-31999). */
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
